import { editDistance } from '../json/nearest-name.ts';
import type { ToolSpec } from './spec.ts';

/** The tool that a name written by a model refers to. */
type Lookup =
  /** `repaired`: the name was misspelt, and only one tool can be meant. */
  | { readonly ok: true; readonly spec: ToolSpec; readonly repaired: boolean }
  | { readonly ok: false; readonly suggestions: readonly string[] };

const TAKEN_AS_IT_IS = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The name under which a tool is sent to a server: OpenAI's and others take letters, digits, `_` and `-` of ASCII alone.
 * Accents are left out, other letters are written by their numbers (`u5929`), and whatever else is a `_`.
 */
export function sentName(name: string): string {
  if (TAKEN_AS_IT_IS.test(name)) return name;
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '');
  const spelt = plain.replace(/[^A-Za-z0-9_-]/gu, (sign) =>
    /[\p{L}\p{N}]/u.test(sign) ? `u${(sign.codePointAt(0) ?? 0).toString(16)}` : '_',
  );
  return spelt.slice(0, 64);
}

/** A tool's description as it is sent: Bedrock's servers refuse an empty one, which tools of MCP servers often have. */
export function sentDescription({ name, description }: Pick<ToolSpec, 'name' | 'description'>): string {
  return (description.trim() === '' ? name : description).toWellFormed();
}

const MAX_SUGGESTIONS = 3;
const FARTHEST = 3;

/**
 * Finds the tool that a name means: the exact one, else the one that is sent under it, else the only one that equals it ignoring case, else the only one that
 * ends in `_` and the name (MCP tools are registered as `server_tool`), else the only one of which it is a misspelling, if
 * that may run unasked. Two candidates are none.
 */
export function lookUp(tools: readonly ToolSpec[], wanted: string): Lookup {
  const exact = tools.find((tool) => tool.name === wanted);
  if (exact !== undefined) return { ok: true, spec: exact, repaired: false };
  const sent = tools.find((tool) => sentName(tool.name) === wanted);
  if (sent !== undefined) return { ok: true, spec: sent, repaired: false };
  const lower = wanted.trim().toLowerCase();
  const isSame = (name: string): boolean => name === lower;
  const isEnding = (name: string): boolean => lower !== '' && name.endsWith(`_${lower}`);
  for (const fits of [isSame, isEnding]) {
    const candidates = tools.filter(({ name }) => fits(name.toLowerCase()));
    const [only] = candidates;
    if (only !== undefined && candidates.length === 1) return { ok: true, spec: only, repaired: false };
    if (candidates.length > 1)
      return { ok: false, suggestions: candidates.map((tool) => tool.name).slice(0, MAX_SUGGESTIONS) };
  }
  const slip = misspelt(tools, wanted.trim());
  if (slip !== undefined) return { ok: true, spec: slip, repaired: true };
  return { ok: false, suggestions: nearest(tools, lower) };
}

/** A tool that is denied, switched off or to be confirmed counts as a candidate and is never chosen: that guess is not made. */
function misspelt(tools: readonly ToolSpec[], wanted: string): ToolSpec | undefined {
  const candidates = tools.filter((tool) => isMisspelt(tool.name, wanted));
  const [only] = candidates;
  return candidates.length === 1 && only?.enabled === true && only.policy === 'allow' ? only : undefined;
}

function nearest(tools: readonly ToolSpec[], lower: string): readonly string[] {
  return tools
    .filter((tool) => tool.enabled && tool.policy !== 'deny')
    .map((tool) => ({ tool, far: distanceTo(tool.name.toLowerCase(), lower) }))
    .filter(({ far }) => far <= FARTHEST)
    .sort((a, b) => a.far - b.far)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ tool }) => tool.name);
}

/** Parts that contain each other count as close; otherwise the number of edits. */
function distanceTo(known: string, wanted: string): number {
  if (wanted.length > 3 && (known.includes(wanted) || wanted.includes(known))) return 1;
  return editDistance(known.slice(0, 64), wanted.slice(0, 64));
}

const MOST_EDITS = 2;
const LONGEST = 64;
/** Of two words of three letters it is not clear whether one is meant for the other. */
const SHORTEST = 4;

/**
 * True when `wanted` is `known` with a slip of the pen: at most two letters wrong, words that begin with the same letter
 * and hold the same digits, and no word with more than one letter in three wrong. So `get_wether` is a slip of
 * `get_weather`, while `set_user` is not one of `get_user`, `unlock` not one of `lock`, `v2` not one of `v1`.
 */
export function isMisspelt(known: string, wanted: string): boolean {
  if (wanted.length > LONGEST) return false;
  const [right, written] = [wordsOf(known), wordsOf(wanted)];
  if (right.length === 0) return false;
  if (right.join('') === written.join('')) return true;
  if (right.length !== written.length) return false;
  const far = right.map((word, index) => slipOf(word, written[index] ?? ''));
  return far.reduce((sum, edits) => sum + edits, 0) <= MOST_EDITS;
}

/** The number of wrong letters; Infinity where it is another word. */
function slipOf(known: string, wanted: string): number {
  if (known === wanted) return 0;
  const [shorter = 0, longer = 0] = [known.length, wanted.length].toSorted((a, b) => a - b);
  const alike = known[0] === wanted[0] && digitsOf(known) === digitsOf(wanted) && longer >= SHORTEST;
  const edits = alike ? editDistance(known, wanted) : Infinity;
  return edits * 3 <= shorter ? edits : Infinity;
}

function wordsOf(name: string): readonly string[] {
  const apart = name.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1_$2').toLowerCase();
  return apart.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
}

function digitsOf(word: string): string {
  return word.replaceAll(/\P{N}/gu, '');
}

/** A title as a part of a tool's name: letters and digits of ASCII, in lower case, with `_` between words. */
export function toolSlug(title: string): string {
  return sentName(title.trim())
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
}

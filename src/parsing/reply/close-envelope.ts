import type { Candidate } from '../repair/values-in-text.ts';
import { readEnvelope } from './envelope.ts';
import type { Repair } from '../repair/repairs.ts';
import { parseStrict } from '../../json/depth.ts';
import type { Acting } from './choose-pieces.ts';
import type { ReplySource } from './reply-source.ts';

const CLOSERS = new Map([
  ['{', '}'],
  ['[', ']'],
]);

/**
 * A cut envelope at the very end of a message that its model had finished: it lacks nothing but closers, which are added.
 * Anything else stays as it is.
 */
export function withClosers({ source, tools }: ReplySource, one: Acting): Acting {
  const { found, from, fence } = one.piece;
  if (found.kind !== 'value' || found.candidate.complete || one.form !== 'envelope') return one;
  const rest = source.text.slice(from, source.end);
  const candidate = closedEnvelope(rest, { at: from, fenced: fence > 0, maxDepth: source.maxDepth });
  const envelope =
    candidate === undefined ? undefined : readEnvelope(candidate.value, tools, { complete: true, repaired: false });
  if (candidate === undefined || envelope === undefined) return one;
  const piece = { ...one.piece, to: candidate.to, found: { ...found, candidate } };
  return { ...one, piece, calls: envelope.calls, envelope };
}

/**
 * JSON that lacks nothing but closers at its very end, closed. The last value before them must be whole: a closed
 * string, `true`, `false`, `null`, a closed list or object; never a number, which may have lost digits.
 */
function closedEnvelope(
  rest: string,
  how: { readonly at: number; readonly fenced: boolean; readonly maxDepth: number },
): Candidate | undefined {
  const text = (how.fenced ? rest.replace(/\s*`{3,}\s*$/, '') : rest).trimEnd();
  if (!/(?:["}\]]|true|false|null)$/.test(text)) return undefined;
  const closers = missingClosers(text);
  const strict = closers === undefined ? undefined : parseStrict(text + closers, how.maxDepth);
  if (strict === undefined || closers === undefined) return undefined;
  const to = how.at + text.length;
  const repair: Repair = {
    kind: 'missing-closer',
    message: `the missing ${closers} at the end was added, because the model had finished`,
    at: to,
    cost: 1,
  };
  return {
    value: strict.value,
    from: how.at,
    to,
    fenced: how.fenced,
    strict: false,
    complete: true,
    repairs: [repair],
    cost: 1,
  };
}

/** The brackets that are open at the end; undefined inside a string, and where none is. */
function missingClosers(text: string): string | undefined {
  const open: string[] = [];
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text.charAt(i);
    if (inString) {
      if (char === '\\') i += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (CLOSERS.has(char)) open.push(CLOSERS.get(char) ?? '');
    else if (char === '}' || char === ']') open.pop();
  }
  return inString || open.length === 0 ? undefined : open.toReversed().join('');
}

import { editDistance } from '../json/edit-distance.ts';

const MOST_EDITS = 2;
const LONGEST = 64;
/** Of two words of three letters nobody can tell whether one is meant for the other. */
const SHORTEST = 4;

/**
 * True when `wanted` is `known` with a slip of the pen: at most two letters wrong, words that begin with the same letter
 * and hold the same digits, and no word with more than one letter in three wrong. So `get_wether` is a slip of
 * `get_weather`, while `set_user` is none of `get_user`, `unlock` none of `lock`, `v2` none of `v1`.
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

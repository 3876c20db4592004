import { type Candidate, findCandidates } from './candidates.ts';
import { hoistName } from './hoist-name.ts';
import type { Limits } from './limits.ts';
import { type Masked, maskReply } from '../reply/masks.ts';
import { parsePrefix } from './prefix.ts';

/** Every value that a text holds, and the text as the readings saw it. */
export interface Values {
  readonly candidates: readonly Candidate[];
  /** The single value that the whole message is, valid or cut off; its candidate stands alone. */
  readonly whole: boolean;
  readonly masked: Masked;
}

/** Reads the values of a text: the whole as JSON or as its beginning, else every object and list in it. */
export function readValues(text: string, limits: Limits, how: { readonly trimsLayout: boolean }): Values {
  const masked = maskReply(text);
  const found = valuesIn(masked, limits, how);
  if (masked.repairs.length === 0) return { ...found, masked };
  const candidates = found.candidates.map((candidate) => ({
    ...candidate,
    repairs: [...masked.repairs, ...candidate.repairs],
  }));
  return { ...found, candidates, masked };
}

function valuesIn(
  masked: Masked,
  { maxDepth }: Limits,
  how: { readonly trimsLayout: boolean },
): Omit<Values, 'masked'> {
  const from = firstVisible(masked.text);
  const prefix = parsePrefix(masked.text, from, { to: masked.end, maxDepth });
  const isObject = prefix.kind !== 'invalid' && typeof prefix.value === 'object' && prefix.value !== null;
  if (prefix.kind === 'cut' && isObject) {
    return { candidates: [mended(plainCandidate(prefix, from, false))], whole: true };
  }
  const whole = prefix.kind === 'whole' && masked.text.slice(prefix.end, masked.end).trim() === '';
  if (prefix.kind === 'whole' && whole) {
    if (isObject) return { candidates: [plainCandidate(prefix, from, true)], whole: true };
  }
  const { candidates } = findCandidates(masked.text, { from: 0, to: masked.end, maxDepth, ...how });
  return { candidates: candidates.map(mended), whole: false };
}

/** The first character that is neither white space nor an invisible mark. */
export function firstVisible(text: string): number {
  const found = text.search(/[^\s\u200b\u2060\ufeff]/);
  return found < 0 ? text.length : found;
}

function plainCandidate(
  read: { readonly value: Candidate['value']; readonly end: number },
  from: number,
  complete: boolean,
): Candidate {
  return { value: read.value, from, to: read.end, fenced: false, strict: true, complete, repairs: [], cost: 0 };
}

/** A value that was not closed may have lost the brace before its name. */
function mended(candidate: Candidate): Candidate {
  if (candidate.complete) return candidate;
  const hoisted = hoistName(candidate.value);
  if (hoisted === undefined) return candidate;
  const { value, repair } = hoisted;
  return {
    ...candidate,
    value,
    strict: false,
    repairs: [...candidate.repairs, repair],
    cost: candidate.cost + repair.cost,
  };
}

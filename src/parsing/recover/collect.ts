import type { Candidate } from './candidates.ts';
import type { Ranked } from './rank.ts';
import type { Repair } from '../reply.ts';

const BETWEEN = /^(?:[\s,;]|<[^<>]{1,40}>|\/\*[^*]{0,80}\*\/)*$/;
const FARTHEST = 200;

/** True when values stand one after the other outside fences, with nothing between them but separators and tags. */
export function areAdjacent(text: string, candidates: readonly Candidate[]): boolean {
  return candidates.every((candidate, i) => {
    if (candidate.fenced) return false;
    const next = candidates[i + 1];
    return (
      next === undefined || (next.from - candidate.to <= FARTHEST && BETWEEN.test(text.slice(candidate.to, next.from)))
    );
  });
}

/** Lines of JSON: objects that are no replies, one after the other, are the items of a list. */
export function collectLines(text: string, tied: readonly Ranked[]): Candidate | undefined {
  const candidates = tied.map(({ candidate }) => candidate);
  const [first] = candidates;
  if (first === undefined || tied.some(({ envelope }) => envelope !== undefined)) return undefined;
  if (!areAdjacent(text, candidates)) return undefined;
  const repair: Repair = {
    kind: 'collected',
    message: `${candidates.length} values one after the other were read as a list`,
    at: first.from,
    cost: 1,
  };
  return {
    ...first,
    value: candidates.map(({ value }) => value),
    to: candidates.at(-1)?.to ?? first.to,
    strict: false,
    complete: candidates.every(({ complete }) => complete),
    repairs: [...candidates.flatMap(({ repairs }) => repairs), repair],
    cost: candidates.reduce((sum, { cost }) => sum + cost, repair.cost),
  };
}

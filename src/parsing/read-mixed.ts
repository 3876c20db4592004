import { type Candidate, findCandidates } from './candidates.ts';
import { areAdjacent } from './collect.ts';
import type { Envelope } from './envelope.ts';
import { chooseCandidate, type Ranked } from './rank.ts';
import { replyOf } from './reply-of.ts';
import type { ReplySource } from './reply-source.ts';
import type { Reply, Strategy } from './reply.ts';
import { secondOpinion } from './second-opinion.ts';

/** Reads the envelope that stands somewhere in the message, mended where it is broken. */
export function readMixed(source: ReplySource): Reply | undefined {
  const { text, end, maxDepth, tools, meter } = source;
  const { candidates, steps } = findCandidates(text, { from: 0, to: end, maxDepth });
  meter.steps += steps;
  const choice = chooseCandidate(candidates, tools);
  if (choice.kind === 'none') return undefined;
  if (choice.kind === 'several') return readSeveral(source, choice.tied);
  const { candidate, envelope } = choice.chosen;
  return envelope === undefined ? undefined : fromCandidate(source, candidate, envelope);
}

function fromCandidate(source: ReplySource, candidate: Candidate, envelope: Envelope): Reply {
  const opinion = secondOpinion(source.text, candidate);
  return replyOf(envelope, {
    strategy: strategyOf(candidate),
    complete: candidate.complete && source.complete,
    repairs: [...source.repairs, ...candidate.repairs],
    thinking: source.thinking,
    ...(opinion === undefined ? {} : { secondOpinion: opinion }),
  });
}

function strategyOf(candidate: Candidate): Strategy {
  if (!candidate.strict) return 'repaired';
  return candidate.fenced ? 'code-block' : 'balanced';
}

/** Calls one after the other are one message; anything else of equal rank that differs is ambiguous, and none is run. */
function readSeveral(source: ReplySource, tied: readonly Ranked[]): Reply | undefined {
  const [first] = tied;
  if (first?.envelope === undefined) return undefined;
  if (
    tied.every(({ envelope }) => envelope?.form === 'calls') &&
    areAdjacent(
      source.text,
      tied.map(({ candidate }) => candidate),
    )
  ) {
    const calls = tied.flatMap(({ envelope }) => envelope?.calls ?? []);
    const complete = tied.every(({ candidate }) => candidate.complete);
    const repairs = tied.flatMap(({ candidate }) => candidate.repairs);
    return fromCandidate(source, { ...first.candidate, complete, repairs }, { ...first.envelope, calls });
  }
  return {
    thought: source.thinking,
    goal: '',
    calls: [],
    strategy: strategyOf(first.candidate),
    complete: source.complete,
    confidence: 'low',
    ambiguous: tied.map(({ candidate }) => candidate.value),
    repairs: source.repairs,
  };
}

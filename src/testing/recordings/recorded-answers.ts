import type { Effect, Outcome } from '../../actors/journal.ts';
import { digest } from '../../json/digest.ts';
import { outcomesOf } from '../../journal/format/cut-recording.ts';
import { deltaReader } from '../../journal/format/deltas.ts';
import {
  type Divergence,
  type ReplayDivergenceError,
  firstDifference,
  readableDiff,
  causeOfDifference,
} from '../../journal/replay/divergence.ts';
import { type Recording, lineNumber } from '../../journal/format/recording.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { memoryJournal } from '../../journal/stores/memory.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';

/** How a request finds its recorded answer: by being the same, or by its turn. */
export type Matching = 'request' | 'order';

/** One request of a recording with what came of it. */
interface Answer {
  readonly entry: number;
  readonly name: string;
  readonly id: string;
  /** The request without the call's own id, which says only how many calls came before. */
  readonly digest: string;
  readonly request: Json;
  /** Undefined: something else came of it, such as the answer of a person to the run. */
  readonly out: Outcome | undefined;
}

/** The answer for an effect; a {@link Divergence} without a state when it is not recorded. */
type TakeAnswer = (effect: Effect) => Pick<Answer, 'out'> | { readonly missing: Omit<Divergence, 'state'> };

/** Reads the answers of a recording, each of which is given once. */
function recordedAnswers(recording: Recording, matching: Matching): TakeAnswer {
  const answers = answersOf(recording);
  const given = new Set<Answer>();

  const left = (name: string): readonly Answer[] => answers.filter((one) => one.name === name && !given.has(one));
  const find = (effect: Effect): Answer | undefined => {
    const candidates = left(effect.name);
    const asked = digest(anonymous(effect.request));
    const same = candidates.find((one) => one.digest === asked);
    return matching === 'request' ? same : (candidates.find(({ id }) => id === effect.id) ?? candidates[0]);
  };

  return (effect) => {
    const answer = find(effect);
    if (answer === undefined) return { missing: missingAnswer(effect, left(effect.name), answers) };
    given.add(answer);
    return { out: answer.out };
  };
}

function missingAnswer(
  { id, name, request }: Effect,
  left: readonly Answer[],
  all: readonly Answer[],
): Omit<Divergence, 'state'> {
  const asked = anonymous(request);
  const same = all.filter((one) => one.name === name);
  const [nearest, used] = [nearestOf(asked, left), nearestOf(asked, same)];
  const found = nearest ?? used;
  if (found === undefined) {
    const nothing = { difference: '', diff: '', cause: 'unknown' } as const;
    return { entry: 1, expected: `no ${name} at all`, actual: `${id} is started`, ...nothing };
  }
  const difference = firstDifference(found.request, asked);
  const isFree = nearest !== undefined;
  return {
    entry: found.entry,
    expected: `${found.id}, the nearest request${isFree ? '' : ', whose answer was given already'}`,
    actual: `${id} asks ${isFree ? 'for what is not recorded' : 'again'}`,
    difference,
    diff: readableDiff(found.request, asked),
    cause: causeOfDifference(difference),
  };
}

function anonymous(request: Json): Json {
  if (!isJsonObject(request)) return request;
  const { callId: _callId, ...rest } = request;
  return rest;
}

function answersOf(recording: Recording): readonly Answer[] {
  const { head, lines } = recording;
  const restore = deltaReader(head);
  const known = outcomesOf(lines);
  return lines.flatMap((line, index) => {
    if (line.t !== 'start') return [];
    const request = anonymous(line.request === undefined ? null : restore(line.id, line.request));
    const { id, name } = line;
    return [{ entry: lineNumber(recording, index), name, id, digest: digest(request), request, out: known(line)?.out }];
  });
}

/** Which leaves are answered from a recording, and how a request finds its answer. */
interface MixedJournalOptions {
  readonly recording: Recording;
  readonly isReplayed: (leaf: string) => boolean;
  readonly matching: Matching;
  /** Makes the error that the run's loop gets. */
  readonly miss: (divergence: Omit<Divergence, 'state'>) => ReplayDivergenceError;
}

/**
 * A journal of a run that happens now, in which some leaves are not performed but answered from a recording. What is not
 * recorded is thrown by `next`, never into the machine.
 */
export function mixedJournal({ recording, isReplayed, matching, miss }: MixedJournalOptions): JournalStore {
  return {
    open: (run) => {
      const live = memoryJournal().open(run);
      const take = recordedAnswers(recording, matching);
      let missed: ReplayDivergenceError | null = null;
      return {
        ...live,
        open: (effect, perform) => {
          if (!isReplayed(effect.name)) return live.open(effect, perform);
          live.open(effect, async () => {
            const answer = take(effect);
            if ('out' in answer) return answer.out ?? new Promise<never>(() => undefined);
            missed ??= miss(answer.missing);
            return { ok: false, error: { code: missed.code, message: missed.message } };
          });
        },
        next: async () => {
          const entry = await live.next();
          if (missed !== null) throw missed;
          return entry;
        },
      };
    },
  };
}

/** The candidate whose request has most in common with this one; the first of equals. */
function nearestOf<T extends { readonly request: Json }>(request: Json, candidates: readonly T[]): T | undefined {
  const wanted = new Set(pieces(request));
  let nearest: T | undefined;
  let most = -1;
  for (const candidate of candidates) {
    const own = new Set(pieces(candidate.request));
    const shared = [...own].filter((piece) => wanted.has(piece)).length;
    const score = shared / Math.max(1, wanted.size + own.size - shared);
    if (score > most) [nearest, most] = [candidate, score];
  }
  return nearest;
}

/** Every scalar with its place; of a text its first and last words too, so that an edited prompt still looks alike. */
function pieces(value: Json, path = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: Json, index) => pieces(item, `${path}/${index}`));
  if (isJsonObject(value)) return Object.entries(value).flatMap(([key, item]) => pieces(item, `${path}/${key}`));
  if (typeof value !== 'string') return [`${path}=${JSON.stringify(value)}`];
  return [`${path}=${value}`, `${path}^${value.slice(0, 24)}`, `${path}$${value.slice(-24)}`];
}

import { isDeepStrictEqual } from 'node:util';
import type { Message } from '../../actors/model.ts';
import type { Agent } from '../../agent/agent-types.ts';
import { typedOutput } from '../../agent/options/output-options.ts';
import { type RunInput, readInput } from '../../agent/options/input-parts.ts';
import type { RunOptions } from '../../agent/options/run-options.ts';
import { type AnyRun, type SomeRun, runHandle } from '../../agent/run/run.ts';
import {
  firstDifference,
  fitsMarks,
  readableDiff,
  type Divergence,
  ReplayDivergenceError,
} from '../../journal/replay/divergence.ts';
import { type Recording, readRecording } from '../../journal/format/recording.ts';
import { type Replayable, REPLAY } from '../../journal/replay/replay.ts';
import { permitLiveModels } from '../../models/endpoint/live-guard.ts';
import { isJsonObject, plainJson } from '../../json/json.ts';
import { mixedJournal, type Matching } from './recorded-answers.ts';
import { moveOver } from '../../security/folders.ts';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, basename } from 'node:path';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import { normalizeRecording } from '../../journal/format/normalize.ts';
import type { RecordLine } from '../../journal/format/record.ts';

/** An agent, as far as its runs are recorded and replayed; of any type of `context`. */
export interface RecordedAgent<TRun extends SomeRun = SomeRun>
  extends Pick<Agent<unknown, SomeRun>, 'history' | 'setHistory' | 'options'>, Replayable<TRun> {
  run(input: RunInput, options?: RunOptions): SomeRun;
}

/** The recording's file, and from where in the test it is used. */
interface Place {
  readonly path: string;
  readonly calledFrom: string;
  /** The run that this one is queued behind. */
  readonly after: PromiseLike<unknown> | null;
}

interface Asked {
  readonly input: RunInput;
  readonly given: RunOptions;
}

/** Runs the agent as it is, and keeps the recording when the run is over. */
export function runAndKeep(path: string, agent: RecordedAgent, { input, given }: Asked): AnyRun {
  const forbidAgain = permitLiveModels();
  try {
    const run = agent.run(input, given);
    const kept = (result: AnyResult): void => {
      forbidAgain();
      keepRecording(path, run.recording(), result);
    };
    return runThen(run, kept, forbidAgain);
  } catch (error) {
    forbidAgain();
    throw error;
  }
}

/** Plays the whole recording back; the agent's history is then what it would be after the run. */
export function runReplayed(
  place: Place,
  agent: RecordedAgent,
  { input, given, recording }: Asked & { readonly recording: Recording },
): AnyRun {
  checkInput(place, recording, input);
  checkGiven(place, recording, given);
  if (place.after === null) checkHistory(place, recording, agent);
  const onDone = async (result: AnyResult): Promise<void> => {
    await place.after?.then(undefined, () => undefined);
    if (place.after !== null) checkHistory(place, recording, agent);
    agent.setHistory([...recording.head.history, ...result.messages]);
  };
  return runThen(agent[REPLAY](recording, {}), onDone, (error) =>
    error instanceof ReplayDivergenceError ? new RecordingMissError(place.path, error, place.calledFrom) : error,
  );
}

interface Partly extends Asked {
  readonly recording: Recording;
  /** The names of the leaves that do their work. */
  readonly live: ReadonlySet<string>;
  readonly matching: Matching;
}

/** Runs the agent with the answers of a recording for all leaves but the live ones. */
export function runPartly(
  place: Place,
  agent: RecordedAgent,
  { input, given, recording, live, matching }: Partly,
): AnyRun {
  checkInput(place, recording, input);
  let missed: RecordingMissError | null = null;
  const journal = mixedJournal({
    recording,
    matching,
    isReplayed: (leaf) => !live.has(leaf),
    miss: (divergence) => {
      missed = new RecordingMissError(place.path, { ...divergence, state: run.state.state }, place.calledFrom);
      return missed;
    },
  });
  const run = agent.run(input, { ...given, journal });
  return runThen(run, () => {
    if (missed !== null) throw missed;
  });
}

function checkInput(place: Place, { head }: Recording, given: RunInput): void {
  const { task, content } = readInput(given, 'useRecording');
  checkSame(place, 'input', { input: head.input, content: head.content ?? null }, { input: task, content });
}

/**
 * A replay reads the answer as it was recorded: by the schema that was the run's own then, or by the agent's. Its limit is
 * the recorded one, and it cancels no run that went on.
 */
function checkGiven(place: Place, { head: { output, options, cancelled } }: Recording, given: RunOptions): void {
  const specs = [output?.ofRun === true ? output : undefined, typedOutput('agent.run', given)?.spec(false)];
  const [before, now] = specs.map((spec) => ({ outputSchema: spec?.schema ?? null }));
  checkSame(place, 'outputSchema', before, now);
  const was = { maxSteps: options.maxSteps, aborted: cancelled !== undefined };
  const is = { maxSteps: given.maxSteps ?? was.maxSteps, aborted: was.aborted || given.signal?.aborted === true };
  checkSame(place, 'input', was, is);
}

/** A replay continues the recorded conversation, which must be the agent's current one. A recording that begins one fits any. */
function checkHistory(place: Place, { head }: Recording, agent: Pick<RecordedAgent, 'history' | 'options'>): void {
  if (head.history.length === 0) return;
  const { maxHistoryMessages: kept } = agent.options;
  const all = agent.history;
  const history = all.length > kept ? endOf(all, head.history) : all;
  checkSame(place, 'conversation', { history: head.history }, { history });
}

/**
 * A run on a recording adds all of its messages; one that is live forgets those beyond the limit when it ends, maybe those
 * behind its question.
 */
function endOf(all: readonly Message[], kept: readonly Message[]): readonly Message[] {
  const end = all.slice(-kept.length);
  const question = all.find((message) => isDeepStrictEqual(message, kept[0]));
  return question === undefined ? end : [question, ...end.slice(1)];
}

function checkSame(
  { path, calledFrom }: Place,
  what: 'input' | 'conversation' | 'outputSchema',
  recorded: object | undefined,
  given: object | undefined,
): void {
  const [before, now] = [plainJson(recorded), plainJson(given)];
  const difference = firstDifference(before, now);
  if (difference === '' || fitsMarks(JSON.stringify(before), JSON.stringify(now))) return;
  const divergence: Divergence = {
    entry: 1,
    state: 'PLANNING',
    expected: `the run of another ${what}`,
    actual: `a run of this ${what}`,
    difference,
    diff: readableDiff(before, now),
    cause: what === 'outputSchema' ? 'output-schema-edited' : `${what}-changed`,
  };
  throw new RecordingMissError(path, divergence, calledFrom);
}

/**
 * Writes a recording that was just made, whole or not at all. One of a run that ended because its model could not be asked
 * is refused: it would be replayed for ever. So is one of a run that has not ended: it could never be replayed.
 */
function keepRecording(path: string, recording: string, result: AnyResult): void {
  const isUnasked = result.reason === 'llm-error' && result.error?.code !== 'unusable-reply';
  const isWhole = recording !== '' && readRecording(recording).lines.at(-1)?.t === 'end';
  const why = isUnasked
    ? `ended as llm-error. ${result.result} (${result.error?.code ?? 'no code'}). Make the model answer, then run the test again.`
    : result.status === 'waiting'
      ? `was ${result.reason}, and a replay needs its end. Answer what it waits for while it runs.`
      : `has no end, because its journal failed. ${result.result}`;
  const message = `${path} was not written: the run that was to be recorded ${why}`;
  if (isUnasked || !isWhole) throw new UseRecordingError('recording-failed', path, message);
  mkdirSync(dirname(path), { recursive: true });
  const half = `${path}.${process.pid}.part`;
  writeFileSync(half, normalizedRecording(recording, path));
  moveOver(half, path);
}

/**
 * The lines of a recording without what differs from one recording of the same run to the next: the run's id becomes the
 * file's name, times become zero, speed figures and remarks go. It replays as before.
 */
export function normalizedRecording(recording: string, path: string): string {
  const { head, lines } = readRecording(recording);
  const runId = basename(path).replace(/\.jsonl$/, '') || 'recording';
  return normalizeRecording([{ ...head, runId }, ...lines.flatMap(stable)]);
}

function stable(line: RecordLine): readonly RecordLine[] {
  if (line.t === 'note') return [];
  if (line.t !== 'outcome' || !line.ok || !isJsonObject(line.value)) return [line];
  const value = Object.fromEntries(Object.entries(line.value).filter(([key]) => key !== 'stats'));
  return [{ ...line, value }];
}

/**
 * The run, settled only after something was done about it; what `onDone` throws is its rejection, `onError` may give another.
 * Its events end when it does.
 */
function runThen(
  run: SomeRun,
  onDone: (result: AnyResult) => void | Promise<void>,
  onError?: (error: unknown) => unknown,
): AnyRun {
  const done = run.then(
    async (result) => {
      await onDone(result);
      return result;
    },
    (error: unknown) => {
      throw onError?.(error) ?? error;
    },
  );
  return runHandle({
    runId: run.runId,
    done: Promise.resolve(done),
    state: () => run.state,
    isTyped: () => readRecording(run.recording()).head.output !== undefined,
    read: () => readThen(run, done),
    cancel: (reason) => run.cancel(reason),
    release: () => run.release(),
    approve: (callId, how) => run.approve(callId, how),
    reject: (callId, reason) => run.reject(callId, reason),
    steer: (text, options) => run.steer(text, options),
    queue: (text, options) => run.queue(text, options),
    pending: () => run.pending,
    recording: () => run.recording(),
    transitions: () => run.transitions(),
  });
}

/** The events of the run; its end, good or bad, is that of `done`. */
async function* readThen(run: SomeRun, done: PromiseLike<AnyResult>) {
  try {
    yield* run;
  } catch {
    // The error of `done` has the same information and more.
  }
  await done;
  return undefined;
}

/**
 * The agent asked for something that the recording of a test does not hold: a prompt, a tool or the code was changed.
 * `entry` is the line of the nearest recorded request, `difference` how the two differ.
 */
export class RecordingMissError extends ReplayDivergenceError {
  /** The recording's file. */
  readonly path: string;

  /** `calledFrom`: the frames of the test's own call, which runners then point at. */
  constructor(path: string, divergence: Divergence, calledFrom: string) {
    super(divergence);
    this.path = path;
    this.message += `\n  recording: ${path}, line ${divergence.entry}\n${ADVICE}`;
    this.stack = `${this.name}: ${this.message}\n${calledFrom}`;
  }
}

const ADVICE =
  'If the change is intended, record again: run this test with SIGNALBOX_RECORD=all, and review the diff of the file.';

/** Codes of {@link UseRecordingError}. */
export type UseRecordingErrorCode = 'recording-missing' | 'recording-failed';

/** There is no recording and none may be made, or the one that was made is not worth keeping. */
export class UseRecordingError extends Error {
  override readonly name = 'UseRecordingError';
  readonly code: UseRecordingErrorCode;
  readonly path: string;

  constructor(code: UseRecordingErrorCode, path: string, message: string) {
    super(message);
    this.code = code;
    this.path = path;
  }
}

/** The frames of a stack from the caller of this function on: runners then point at the test's own line. */
export function framesAbove(callee: (...args: never) => unknown): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, callee);
  return (holder.stack ?? '').split('\n').slice(1).join('\n');
}

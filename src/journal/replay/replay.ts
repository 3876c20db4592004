import type { LeafWork } from '../../actors/leaf.ts';
import type { Message, Model } from '../../actors/model.ts';
import { oneOf, optionsOf, wrongOption } from '../../json/known-options.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { withoutRefused, withoutSuspects } from '../../machines/llm-call/conversation.ts';
import { AGENT_STATES, type AgentOutput, type AgentState } from '../../machines/contract/run-result.ts';
import type { Transition } from '../../machines/events/run-events.ts';
import { type Microstep, microstepReader, stateText } from '../../machines/events/transition-log.ts';
import type { RunRecord } from '../format/record.ts';
import { readRecording, type Recording } from '../format/recording.ts';
import { runnable } from '../format/recorded-tools.ts';
import { inputOf, ROOT_ID } from '../format/run-input.ts';
import { type Drive, drive, recordedOutput } from '../run/drive.ts';
import type { AllowedDifference } from './compare.ts';
import { ReplayDivergenceError } from './divergence.ts';
import { Playback } from './playback.ts';
import { replayJournal } from './replay-journal.ts';

/** A position in a recording during a replay. */
export interface ReplayPoint {
  /** The number of the last replayed record: its line in a file. 1 is the head. */
  readonly entry: number;
  /** The machine's state after it, as a dotted path such as `DIRECT_EXECUTION.RUNNING_CALLS`. */
  readonly state: string;
}

/** How to replay a recording. Without options: strictly, to its end. */
export interface ReplayOptions {
  /** Intended differences. `prompt`: the system prompt. `tools`: a request's tools, and their text in the system prompt. */
  readonly allow?: readonly AllowedDifference[] | undefined;
  /**
   * Where the recorded part ends: after the record with this number, after the first one that leads to this state, or
   * after the first one for which the function returns true. Default: at the last record. Needs `then`.
   */
  readonly until?: number | AgentState | ((point: ReplayPoint) => boolean) | undefined;
  /**
   * Answers from there on, such as a scripted model. Tools then run live, those of MCP servers if `agent.ready()` was
   * awaited: a replay connects nothing. What was in flight keeps its recorded outcome.
   */
  readonly then?: Model | undefined;
  /** What tools get that run live then, as for `agent.run`. */
  readonly context?: unknown;
}

/** What can replay a recording: an agent. */
export interface Replayable<TRun> {
  readonly [REPLAY]: (recording: Recording, options: ReplayOptions) => TRun;
}

/** The key under which an agent can replay recordings. */
export const REPLAY: unique symbol = Symbol.for('signalbox.replay');

const checkOptions = optionsOf<ReplayOptions>('replay', 'docs/recording.md', {
  allow: true,
  until: true,
  // oxlint-disable-next-line unicorn/no-thenable -- it is the name of an option, and this table is awaited by nobody
  then: true,
  context: true,
});

/**
 * Replays a recorded run on an agent, deterministically: nothing is called, nothing is waited for, and the list of
 * transitions is the recorded one. Instructions and local tools are the agent's, MCP tools and all outcomes the
 * recording's. Returns a Run at once; awaiting it rejects with a `ReplayDivergenceError` if the agent would have
 * requested something other than what was recorded. Throws a `RecordingError` for a recording that cannot be read. With
 * `then` the run continues live after the recorded part.
 *
 * @example
 * const result = await replay(await readFile('run.jsonl', 'utf8'), agent);
 * expect(result.reason).toBe('answer');
 */
export function replay<TRun>(
  recording: string | readonly (string | object)[],
  agent: Replayable<TRun>,
  options: ReplayOptions = {},
): TRun {
  checkOptions(options);
  if (options.until !== undefined && options.then === undefined)
    throw wrongOption("replay: option 'until' needs 'then', the model that answers after the recorded part.");
  const { until, allow = [] } = options;
  if (!['undefined', 'number', 'function'].includes(typeof until)) oneOf("replay: option 'until'", until, AGENT_STATES);
  for (const allowed of [allow].flat()) oneOf("replay: option 'allow'", allowed, ['prompt', 'tools']);
  checkAgent('replay', agent, REPLAY);
  return agent[REPLAY](readRecording(recording), options);
}

/** Refuses what is not an agent, such as a function or a promise that gives one. */
export function checkAgent(what: string, agent: unknown, key: symbol): void {
  if (!(key in Object(agent)))
    throw wrongOption(`${what}: the second argument must be an agent, as createAgent() gives it.`);
}

/** The start of a run. */
export interface ExploredStart {
  /** The first line of its recording, with marks for secrets. */
  readonly head: RunRecord;
  readonly work: LeafWork;
}

/** What can be explored as configured: an agent. */
export interface Explorable {
  /** Returns how a run of this task would begin. Connects the servers; begins nothing. */
  readonly [EXPLORE]: (task: string) => Promise<ExploredStart>;
}

/** The key under which an agent exposes how its runs begin. */
export const EXPLORE: unique symbol = Symbol.for('signalbox.explore');

/**
 * Every transition that the machines of a recorded run took, in order, found by replaying the recording without the agent's
 * code. Throws a `ReplayDivergenceError` if this version of Signalbox would have behaved differently.
 *
 * @example transitions(readFileSync('run.jsonl', 'utf8')).map(({ from, to }) => `${from} → ${to}`);
 */
export function transitions(recording: string | readonly (string | object)[]): readonly Transition[] {
  const list: Transition[] = [];
  const { driven, past } = playRecording(readRecording(recording), ({ transition }) => {
    if (transition !== null) list.push(transition);
  });
  if (driven.isActive()) throw past.cutShort();
  return list;
}

/** The messages of a recorded run and those before it. `isWhole` is false if only those before are known. */
export interface KnownMessages {
  readonly messages: readonly Message[];
  readonly isWhole: boolean;
}

/** The conversation after a recorded run; for a run that these machines cannot replay, the messages before it. */
export function saidIn(recording: Recording): KnownMessages {
  const { history } = recording.head;
  try {
    const { output } = playRecording(recording).driven.actor.getSnapshot();
    return { messages: output === undefined ? history : conversationAfter(history, output), isWhole: true };
  } catch (error) {
    if (!(error instanceof ReplayDivergenceError)) throw error;
    return { messages: history, isWhole: false };
  }
}

/** The conversation after a run. What its server has refused may also be messages before it that have had no reply. */
export function conversationAfter(
  before: readonly Message[],
  { messages, error }: Pick<AgentOutput, 'messages' | 'error'>,
): readonly Message[] {
  const all = [...before, ...messages];
  const code = error?.code ?? '';
  const left = withoutRefused(all, code);
  // A code may also be that of a reply or a tool: then the run has left nothing out of its own messages.
  if (messages.some((message, index) => left[before.length + index] !== message)) return all;
  return left.some((message, index) => message !== all[index]) ? left : withoutSuspects(all, before.length, code);
}

/** A recording that was replayed to where it stops. */
export interface PlayedRecording {
  /** Still active when the recording stops before its run did. */
  readonly driven: Drive;
  readonly past: Playback;
}

/**
 * Replays a recording on the bare machines, without an agent's code, to its end or to where it stops. Throws a
 * `ReplayDivergenceError` if these machines would have behaved differently.
 */
export function playRecording(recording: Recording, onMicrostep?: (microstep: Microstep) => void): PlayedRecording {
  const state = (): string => (driven === null ? 'PLANNING' : stateText(driven.actor.getSnapshot().value));
  const past = new Playback(recording, state);
  const driven: Drive | null = drive({
    logic: agentMachine,
    id: ROOT_ID,
    input: inputOf(runnable(recording).head),
    journal: replayJournal(past),
    recorder: null,
    context: undefined,
    ...(onMicrostep === undefined ? {} : { inspect: microstepReader(() => true, onMicrostep) }),
  });
  driven.start();
  while (driven.isActive()) {
    const entry = past.next();
    if (entry === null) break;
    driven.deliver(entry);
  }
  if (!driven.isActive()) past.end(recordedOutput(driven.actor.getSnapshot().output));
  return { driven, past };
}

import { NO_WORK } from '../../actors/leaf.ts';
import { isSameJson } from '../../agent/past/live-runs.ts';
import type { SomeRun } from '../../agent/run/run.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import type { Outcome } from '../../actors/journal.ts';
import { type RecordLine, recordedEntry } from '../../journal/format/record.ts';
import { type Recording, recordingLines } from '../../journal/format/recording.ts';
import { inputOf, ROOT_ID } from '../../journal/format/run-input.ts';
import { REPLAY } from '../../journal/replay/replay.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import { digest } from '../../json/digest.ts';
import { lazyMembers } from '../../json/json.ts';
import { describeThrown, toJson } from '../../json/to-json.ts';
import type { Edge } from '../coverage/edges.ts';
import { DEFAULT_LAWS } from '../explore/laws/default-laws.ts';
import { situationOf } from '../explore/laws/law.ts';
import type { View } from '../explore/walk/exploration.ts';
import { textAt } from '../explore/walk/story.ts';
import { exploredRun } from '../explore/walk/explored-run.ts';
import { type Problem, recordsWrong, saysWrong, waitsWrong } from './journal-laws.ts';
import type { SimulatedOutcome } from './simulation.ts';
import { settled } from './virtual-time.ts';

/** What a check of your own is shown of a run that has ended. */
export interface CheckedRun {
  readonly seed: number;
  readonly result: AnyResult;
  /** The faults and choices that were drawn, in words. */
  readonly drawn: readonly string[];
  /** The tools that ran, oldest first. */
  readonly ran: View['ran'];
  /** How often the process ended and the run was resumed. */
  readonly restarts: number;
  /** The recording, as JSON lines. */
  recording(): string;
}

/** Checks of your own. They fail by throwing, or by giving `false` or a text that says what is wrong. */
export interface OwnChecks {
  readonly check?: ((run: CheckedRun) => unknown) | undefined;
  readonly always?: ((state: View) => unknown) | undefined;
}

/** What the machines have done in a run. */
export interface Taken {
  readonly edges: Set<string>;
  readonly states: Set<string>;
}

/**
 * Judges a run: the first thing that is wrong with it, or null. Without `taken` it is not played again: only what costs
 * little is looked at. With it everything is, and what the machines have done is noted there.
 */
export async function judgedRun(
  outcome: SimulatedOutcome,
  own: OwnChecks,
  taken: Taken | null,
): Promise<Problem | null> {
  if (outcome.problem !== null) return outcome.problem;
  const { recording, result, seed } = outcome;
  if (result === null) return { check: 'every run ends', message: 'there is no result' };
  // A run that was cancelled before anything of it was written has nothing to be judged by.
  if (recording === null) return null;
  if (taken !== null || own.always !== undefined) {
    const played = playedThrough(recording, own, taken ?? NOWHERE);
    if (played.problem !== null) return played.problem;
    const ended = replayWrong(played.run.view().output, result);
    if (ended !== null) return ended;
  }
  const wrong =
    recordsWrong(recording, outcome.draws.drawn, outcome.store.restarts) ??
    ranTwice(outcome) ??
    carriedOutTwice(outcome, recording) ??
    lostInVain(outcome, recording) ??
    (await secretIn(outcome));
  if (wrong !== null) return wrong;
  const diverged = taken === null ? null : await replayed(outcome, recording, result);
  if (diverged !== null) return diverged;
  const { check } = own;
  if (check === undefined) return null;
  const drawn = outcome.draws.drawn.map(({ says }) => says);
  const restarts = recording.lines.filter(({ t }) => t === 'restart').length;
  const run = { seed, result, drawn, restarts, recording: () => recordingLines(recording) };
  return waitsWrong('check', () => check(withRan(run, recording)));
}

const withRan = lazyMembers<Recording, Pick<CheckedRun, 'ran'>>({
  ran: (recording) => playedThrough(recording, {}, NOWHERE).run.view().ran,
});

/** For what is played again without being noted. */
const NOWHERE: Taken = { edges: new Set(), states: new Set() };

/** Plays a recording on the bare machines, and asks the laws at every state. */
function playedThrough({ head, lines }: Recording, { always }: OwnChecks, taken: Taken) {
  const run = exploredRun({ machine: agentMachine, id: ROOT_ID, input: inputOf(head), head, work: NO_WORK });
  let judgedSoFar = 0;
  const atState = (): Problem | null => {
    const situation = situationOf(run, judgedSoFar);
    for (const { name, check } of DEFAULT_LAWS) {
      const message = check(situation);
      if (message !== null) return { check: `law ${name}`, message };
    }
    for (const { snapshot, state } of situation.actors) taken.states.add(`${snapshot.machine.id}: ${state}`);
    for (const one of situation.fresh) if (one.kind === 'moved') taken.states.add(`${one.machine}: ${one.to}`);
    judgedSoFar = run.story.length;
    return always === undefined ? null : saysWrong('always', () => always(run.view()));
  };
  let problem = atState();
  for (const line of lines) {
    if (problem !== null || run.isOver()) break;
    const entry = recordedEntry(line);
    if (entry === null) continue;
    run.tell({ label: entry.t === 'event' ? entry.event.type : entry.id, entry });
    problem = atState();
  }
  for (const edge of run.edges satisfies ReadonlySet<Edge>) taken.edges.add(edge.key);
  return { run, problem };
}

/** The bare machines must end as the run did. */
function replayWrong(output: unknown, result: AnyResult): Problem | null {
  const ended = isOutput(output) ? output : null;
  if (ended === null) return { check: 'replay', message: 'the recording stops before its run has ended' };
  return sameEnding(ended, result)
    ? null
    : { check: 'replay', message: `the run ended as ${result.reason}, its recording as ${ended.reason}` };
}

function isOutput(output: unknown): output is AnyResult {
  return typeof output === 'object' && output !== null && 'reason' in output && 'messages' in output;
}

/** Whether two runs ended alike, in all that does not depend on the clock or on secrets. */
export function sameEnding(one: Ending, other: Ending): boolean {
  return one.status === other.status && one.reason === other.reason && one.stepsTaken === other.stepsTaken;
}

type Ending = Pick<AnyResult, 'status' | 'reason' | 'stepsTaken'>;

/** The agent itself must go the recorded way, and come to the same answer. */
async function replayed(outcome: SimulatedOutcome, recording: Recording, result: AnyResult): Promise<Problem | null> {
  const run = outcome.agent[REPLAY](recording, { allow: ['prompt', 'tools'] });
  const ended: { result?: AnyResult; failed?: string } = {};
  run.then(
    (again) => {
      ended.result = again;
    },
    (error: unknown) => {
      ended.failed = describeThrown(error).message;
    },
  );
  for (let turn = 0; turn < 20 && Object.keys(ended).length === 0; turn++) await settled();
  if (ended.failed !== undefined) return { check: 'replay', message: ended.failed };
  const again = ended.result;
  if (again === undefined) return { check: 'replay', message: 'the replay does not end' };
  return sameEnding(again, result) && isSameJson(texts(again), texts(result))
    ? null
    : { check: 'replay', message: 'the replay gives another result' };
}

/** Without secrets: a replay has marks in their place. */
function texts({ messages }: AnyResult): unknown {
  return messages.map(({ role, toolCallId }) => [role, toolCallId ?? '']);
}

/** A tool whose effects are `once` must not be performed again while nobody knows what came of it. */
function ranTwice({ store }: SimulatedOutcome): Problem | null {
  for (const { effect, count, outcomes } of store.performances.values()) {
    const unknown = outcomes.filter(isUnknown).length;
    if (effect.effects === 'once' && effect.name === 'callTool' && count - unknown > 1)
      return {
        check: 'once',
        message: `'${textAt(effect.request, 'tool')}' may run once, and was run ${count - unknown} times`,
      };
  }
  return null;
}

/** A server must not carry out more calls of a tool that may not be repeated than were written as started, over all crashes. */
function carriedOutTwice({ carriedOut }: SimulatedOutcome, { head, lines }: Recording): Problem | null {
  if (carriedOut.size === 0) return null;
  for (const { name, origin, effects } of head.toolset.tools) {
    // Others are sent again where nobody knows whether they arrived.
    const hints = origin.kind === 'mcp' ? origin.identity?.annotations : undefined;
    if (origin.kind !== 'mcp' || effects !== 'once' || hints?.['destructiveHint'] !== true) continue;
    const carried = carriedOut.get(`${origin.server} ${origin.tool}`) ?? 0;
    const calls = lines.filter((line) => line.t === 'start' && line.name === 'callTool');
    const own = calls.filter((line) => line.t === 'start' && textAt(line.request, 'tool') === name).length;
    if (carried > own)
      return { check: 'once', message: `'${name}' was called ${own} times, and carried out ${carried} times` };
  }
  return null;
}

/** A call of a server fails only for what went wrong there, and what did not reach it is sent again. */
function lostInVain({ carriedOut, draws }: SimulatedOutcome, { lines }: Recording): Problem | null {
  const [first, ...others] = draws.drawn.filter(({ kind }) => /^mcp\.(?!list|duplicate)/.test(kind));
  const isSentAgain = first?.kind === 'mcp.before' || first?.kind === 'mcp.session';
  if (carriedOut.size === 0 || others.length > 0 || (first !== undefined && !isSentAgain)) return null;
  for (const line of lines) {
    const code = line.t !== 'outcome' ? '' : line.ok ? textAt(line.value, 'code') : line.error.code;
    if (/^(?:not-connected|lost-before-send|protocol-error)$/.test(code))
      return {
        check: 'servers',
        message: `a call of a server failed with ${code}, and nothing had gone wrong for good`,
      };
  }
  return null;
}

function isUnknown(out: Outcome): boolean {
  return !out.ok && out.error.code === 'unknown-outcome';
}

/** What the options say is secret must stand nowhere but in what the agent's own code is given. */
async function secretIn({ agent, recording, run, printed }: SimulatedOutcome): Promise<Problem | null> {
  const secrets = agent.options.secrets ?? [];
  if (secrets.length === 0 || recording === null) return null;
  const outputs: readonly (readonly [string, string])[] = [
    ['the recording', recordingLines(recording)],
    ["the run's own recording", run?.recording() ?? ''],
    ['the events', await eventsOf(run)],
    ['what was printed', printed],
  ];
  for (const [where, text] of outputs) {
    const index = secrets.findIndex(
      (secret) => text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1)),
    );
    if (index !== -1) return { check: 'secrets', message: `secret number ${index + 1} stands in ${where}` };
  }
  return null;
}

/** All events of a run that is over, as JSON. */
async function eventsOf(run: SomeRun | null): Promise<string> {
  const events: RunEvent[] = [];
  if (run !== null) for await (const event of run) events.push(event);
  return JSON.stringify(events);
}

/**
 * A run that was interrupted must end as one that was not, where nothing else was drawn and the user's code answers the same.
 * Null also where that cannot be said.
 */
export function resumeWrong(interrupted: SimulatedOutcome, whole: SimulatedOutcome): Problem | null {
  if (whole.result === null || interrupted.result === null) return null;
  // An outage takes time, and a limit of the run, or of a question to a person, may be over before it.
  if (whole.result.reason === 'timeout' || interrupted.result.reason === 'timeout') return null;
  const { lines } = interrupted.recording ?? { lines: [] };
  if (lines.some((line, at) => isOutlasted(line, lines.slice(0, at), whole))) return null;
  // A model that invents its replies is at another of them when it was asked again.
  if (interrupted.draws.drawn.some(({ kind }) => kind === 'reply') && turnsOf(whole) !== turnsOf(interrupted))
    return null;
  // What the journal itself says of a call that must not be repeated is performed by nobody.
  if (lines.some((line) => line.t === 'outcome' && !line.ok && line.error.code === 'unknown-outcome')) return null;
  const [first, second] = [answersIn(whole), answersIn(interrupted)];
  if (first === null || second === null) return null;
  for (const [key, out] of second) if (first.has(key) && first.get(key) !== out) return null;
  if (sameEnding(whole.result, interrupted.result) && whole.result.result === interrupted.result.result) return null;
  const { reason, result } = interrupted.result;
  return {
    check: 'resume',
    message: `interrupted it ended as ${reason} (${result}), else as ${whole.result.reason} (${whole.result.result})`,
  };
}

/** True where a time was over while no process had the run, and was not where one had it throughout. */
function isOutlasted(line: RecordLine, before: readonly RecordLine[], { recording }: SimulatedOutcome): boolean {
  if (line.t !== 'timer' || recording?.lines.some((other) => other.t === 'timer' && other.id === line.id)) return false;
  const begun = before.findIndex((other) => other.t === 'start' && other.id === line.id);
  return before.slice(begun).some(({ t }) => t === 'restart');
}

function turnsOf({ store }: SimulatedOutcome): number {
  const turns = [...store.performances.values()].filter(({ effect }) => effect.name === 'callLlm');
  return turns.reduce((sum, { count }) => sum + count, 0);
}

/** Code of the user's, which may remember what it was asked before. */
const OF_USERS: ReadonlySet<string> = new Set(['callTool', 'askEscalation', 'runFixer', 'checkArgs', 'checkOutput']);

/** What each call of the user's code gave; null where it answered twice in different ways, or nobody knows what it did. */
function answersIn({ store }: SimulatedOutcome): ReadonlyMap<string, string> | null {
  const answers = new Map<string, string>();
  for (const { effect, outcomes } of store.performances.values()) {
    if (!OF_USERS.has(effect.name)) continue;
    for (const out of outcomes) {
      const json = toJson(out);
      const text = json.ok ? digest(json.value) : '';
      if (isUnknown(out) || (answers.has(effect.key) && answers.get(effect.key) !== text)) return null;
      answers.set(effect.key, text);
    }
  }
  return answers;
}

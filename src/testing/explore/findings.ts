import type { AnyStateMachine } from 'xstate';
import { edgeText, machineCoverage, type Edge } from '../coverage/edges.ts';
import { ALIVE, DEFAULT_LAWS } from './laws/default-laws.ts';
import { type Exploration, type ExploredPath, type Violation, endlessGuard } from './walk/exploration.ts';
import type { PathChoice, ExploredRun } from './walk/explored-run.ts';
import { type Law, situationOf } from './laws/law.ts';
import { stepBudget } from './laws/whole-run.ts';
import { type ExploredMachine, IDLE_JOURNAL, isStatechart, jsonInput } from './walk/explored-machine.ts';
import { textAt } from './walk/story.ts';
import type { OutsideEvent } from '../../actors/journal.ts';
import { drive, recordedOutput } from '../../journal/run/drive.ts';
import { readRecording } from '../../journal/format/recording.ts';
import { runnable } from '../../journal/format/recorded-tools.ts';
import { recorder } from '../../journal/format/recorder.ts';
import { ROOT_ID, inputOf } from '../../journal/format/run-input.ts';
import { isJsonObject, memberOf } from '../../json/json.ts';
import { recordedEntry } from '../../journal/format/record.ts';
import { Playback } from '../../journal/replay/playback.ts';
import { replayJournal } from '../../journal/replay/replay-journal.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import type { Transition } from '../../machines/events/run-events.ts';
import { microstepReader, stateText } from '../../machines/events/transition-log.ts';

/** What is found while it is explored. */
export type Findings = ReturnType<typeof findings>;

/** Keeps what an exploration finds, each broken law once, by the shortest path to it. */
export function findings(explored: ExploredMachine, own: readonly Law[]) {
  const laws = [...DEFAULT_LAWS, ...own];
  const violations: Violation[] = [];
  const paths: ExploredPath[] = [];
  const gaps = new Set<string>();
  const edges = new Map<string, Edge>();
  const states = new Set<string>();
  const ran = new Set<string>();
  let events = 0;
  let totals = { configurations: 0, depth: 0 };

  const broken = (law: string, message: string, run: ExploredRun): void => {
    if (violations.some((one) => one.law === law)) return;
    const { state, path: words } = run.view();
    const counterexample = pathRecording(explored, run.told, { law, message });
    violations.push({ law, message, state, path: words, counterexample });
  };

  const note = (run: ExploredRun): void => {
    events++;
    for (const edge of run.edges) edges.set(edge.key, edge);
    for (const { snapshot, state } of run.actors()) states.add(`${snapshot.machine.id}: ${state}`);
    for (const one of run.story) {
      if (one.kind === 'moved') states.add(`${one.machine}: ${one.to}`);
      if (one.kind === 'started' && one.effect.name === 'callTool') ran.add(textAt(one.effect.request, 'tool'));
    }
  };

  /** All laws are asked: one that is broken must not hide another. */
  const judged = (run: ExploredRun, since: number, choices: readonly PathChoice[]): boolean => {
    const situation = situationOf(run, since);
    const isDead = !run.isOver() && run.open.size === 0 && choices.every(({ entry }) => isCancel(entry));
    const dead = isDead ? `nothing is open in ${run.view().state}, and nothing can happen` : null;
    let isSound = true;
    for (const { name, check } of [...laws, { ...ALIVE, check: () => dead }]) {
      const message = check(situation);
      if (message !== null) broken(name, message, run);
      isSound &&= message === null;
    }
    return isSound;
  };

  return {
    violations,
    /** Judges where a walk has come to; false when a law is broken there. */
    judge: (run: ExploredRun, since: number, choices: readonly PathChoice[]): boolean => {
      note(run);
      const isSound = judged(run, since, choices);
      if (isSound && run.isOver()) paths.push(pathOf(run));
      if (!isSound && !run.isOver()) gaps.add('what follows a broken law was not explored');
      return isSound;
    },
    gap: (what: string): void => void gaps.add(what),
    cycle: (run: ExploredRun): void =>
      broken(stepBudget.name, 'the same state comes again and again, and no step is counted', run),
    close: (configurations: number, depth: number): void => {
      totals = { configurations, depth };
    },
    exploration: (): Exploration => ({
      ok: violations.length === 0,
      exhaustive: gaps.size === 0,
      bounds: [...gaps],
      violations,
      paths,
      ...totals,
      events,
      ran: [...ran].sort(),
      states: [...states].sort(),
      transitions: [...edges.values()].map((edge) => `${edge.machine}: ${edgeText(edge)}`).sort(),
      coverage: machinesOf(explored.machine).map((machine) =>
        machineCoverage(machine, { edges: new Set(edges.keys()), states }),
      ),
      laws: [...laws, ALIVE].map(({ name, says }) => ({
        name,
        says,
        held: violations.every(({ law }) => law !== name),
      })),
    }),
  };
}

function isCancel(entry: PathChoice['entry']): boolean {
  return entry.t === 'event' && entry.event.type === 'run.cancelled';
}

function pathOf(run: ExploredRun): ExploredPath {
  const { state, path, output } = run.view();
  const reason = memberOf(output, 'reason');
  return { path, state, reason: typeof reason === 'string' ? reason : null };
}

/** A machine and those that it invokes or spawns. */
function machinesOf(machine: AnyStateMachine): readonly AnyStateMachine[] {
  const children = Object.values<unknown>(machine.implementations.actors).filter(isStatechart);
  return [machine, ...children.flatMap(machinesOf)];
}

/**
 * A path as a recording: the same lines as of a run that happened. A path that stops on the way is ended by a cancel that
 * names the reason, so that it is the recording of a whole run and every tool takes it.
 */
function pathRecording(
  explored: ExploredMachine,
  path: readonly PathChoice[],
  why: { readonly law: string; readonly message: string },
): string {
  const recording = recorder({
    ...explored.head,
    runId: `explored-${why.law}`,
    metadata: { exploration: why, input: explored.id === ROOT_ID ? null : jsonInput(explored.input) },
  });
  const guard = endlessGuard();
  const driven = drive({
    logic: explored.machine,
    id: explored.id,
    input: explored.input,
    work: explored.work,
    recorder: recording,
    context: undefined,
    inspect: guard.inspect,
    journal: IDLE_JOURNAL,
  });
  driven.start();
  for (const { entry } of path) {
    guard.reset();
    driven.deliver(entry);
  }
  const before = linesOf(recording.text()).length;
  const cancel: OutsideEvent = { type: 'run.cancelled', reason: `${why.law}: ${why.message}` };
  if (driven.isActive() && driven.accepts(cancel, undefined)) driven.deliver({ t: 'event', event: cancel });
  if (!driven.isActive()) recording.end(recordedOutput(driven.actor.getSnapshot().output));
  const lines = linesOf(recording.text()).map(untimed);
  const note = JSON.stringify({ t: 'note', at: 0, note: { ...why } });
  return `${lines.toSpliced(before, 0, note).join('\n')}\n`;
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** No time passes in an exploration, and the same one gives the same lines. */
function untimed(line: string, index: number): string {
  const record: unknown = JSON.parse(line);
  return index > 0 && isJsonObject(record) && typeof record.at === 'number'
    ? JSON.stringify({ ...record, at: 0 })
    : line;
}

/** What a machine did when a recording was played back on it. */
export interface PlayedBack {
  readonly transitions: readonly Transition[];
  /** The root machine's last state. */
  readonly state: string;
  readonly output: unknown;
}

/**
 * Plays a counterexample back on the machine that it was found on, which need not be one of ours, or one that ends. Throws
 * a `ReplayDivergenceError` if the machine behaves differently, as it does once it was fixed. For an agent use `replay`.
 *
 * @example
 * const [violation] = (await explorePaths(machine)).violations;
 * if (violation !== undefined) console.log(playBack(violation.counterexample, machine).state);
 */
export function playBack(recording: string, machine: AnyStateMachine): PlayedBack {
  const read = readRecording(recording);
  const isAgent = machine.config === agentMachine.config;
  const list: Transition[] = [];
  const guard = endlessGuard();
  const readMicrostep = microstepReader(
    () => true,
    ({ transition }) => {
      if (transition !== null) list.push(transition);
    },
  );
  const state = (): string => stateText(driven.actor.getSnapshot().value);
  const past = new Playback(read, state);
  const driven = drive({
    logic: machine,
    id: isAgent ? ROOT_ID : machine.id,
    input: isAgent ? inputOf(runnable(read).head) : read.head.metadata['input'],
    journal: replayJournal(past),
    recorder: null,
    context: undefined,
    inspect: (inspected) => {
      guard.inspect(inspected);
      readMicrostep(inspected);
    },
  });
  driven.start();
  for (const line of read.lines) {
    if (recordedEntry(line) === null) continue;
    const entry = past.next();
    guard.reset();
    if (entry !== null) driven.deliver(entry);
  }
  const { output } = driven.actor.getSnapshot();
  if (driven.isActive()) driven.actor.stop();
  else past.end(recordedOutput(output));
  return { transitions: list, state: state(), output };
}

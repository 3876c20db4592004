/**
 * Owns: one walk through a machine: the real machine on a journal that launches nothing, given one chosen entry at a
 * time. Does not own: which path to take (explore-paths), what is right (the laws).
 */
import type { AnyActor, AnyStateMachine, AnyStateNode, StateValue, SnapshotFrom } from 'xstate';
import type { Effect, Entry, OutsideEvent } from '../../../actors/journal.ts';
import type { Json } from '../../../json/json.ts';
import { drive } from '../../../journal/run/drive.ts';
import { microstepReader, isMachineSnapshot, stateText } from '../../../machines/events/transition-log.ts';
import { type Edge, edgeOf } from '../../coverage/edges.ts';
import { endlessGuard, type View } from './exploration.ts';
import type { ToolCallContext } from '../../../machines/tool-call/tool-call-context.ts';
import { type Happening, toolRun } from './story.ts';
import { type ExploredMachine, IDLE_JOURNAL } from './explored-machine.ts';
import { agentMachine } from '../../../machines/agent/agent.ts';
import { llmCallMachine } from '../../../machines/llm-call/llm-call.ts';
import { loopDetectionMachine } from '../../../machines/tool-call/loop-detection.ts';
import { mcpConnectionMachine } from '../../../machines/mcp/mcp-connection.ts';
import { toolCallMachine } from '../../../machines/tool-call/tool-call.ts';

/** An entry that a machine can receive at some point, with a readable name. */
export interface PathChoice {
  readonly label: string;
  readonly entry: Entry;
}

/** A walk: where it stands, and the next step of it. */
export type ExploredRun = ReturnType<typeof exploredRun>;

/** Starts a walk; the machine has taken its first transitions when this returns. */
export function exploredRun(explored: ExploredMachine) {
  const open = new Map<string, Effect>();
  const story: Happening[] = [];
  const edges = new Set<Edge>();
  const told: PathChoice[] = [];
  const guard = endlessGuard();
  const readMicrostep = microstepReader(
    () => true,
    ({ machine, transition, snapshot }) => {
      const ended = snapshot.status === 'done' ? { output: snapshot.output } : {};
      const begun = transition?.event === 'started' && isToolCall(snapshot) ? { asked: askedIn(snapshot.context) } : {};
      if (transition !== null) story.push({ kind: 'moved', machine, ...transition, ...ended, ...begun });
    },
  );
  const driven = drive({
    logic: explored.machine,
    id: explored.id,
    input: explored.input,
    work: explored.work,
    recorder: null,
    context: undefined,
    observer: { onStart: (effect) => void story.push({ kind: 'started', effect }), onNote: () => undefined },
    inspect: (inspected) => {
      guard.inspect(inspected);
      if (inspected.type === '@xstate.microstep') for (const taken of inspected._transitions) edges.add(edgeOf(taken));
      readMicrostep(inspected);
    },
    journal: {
      ...IDLE_JOURNAL,
      open: (effect) => void open.set(effect.id, effect),
      close: (id) => void open.delete(id),
    },
  });
  driven.start();

  const tell = (choice: PathChoice): void => {
    const { entry } = choice;
    if (entry.t === 'note') return;
    guard.reset();
    told.push(choice);
    if (entry.t === 'event') story.push({ kind: 'told', event: entry.event, to: entry.to ?? null });
    else {
      const effect = open.get(entry.id);
      open.delete(entry.id);
      if (effect !== undefined)
        story.push(entry.t === 'timer' ? { kind: 'fired', effect } : { kind: 'settled', effect, out: entry.out });
    }
    driven.deliver(entry);
  };

  return {
    actor: driven.actor,
    /** What is open, in the order in which it was opened. */
    open,
    story,
    edges,
    /** The entries so far. */
    told,
    /** The machine made transitions without end, waiting for nothing, and was stopped. */
    isEndless: (): boolean => guard.tripped,
    accepts: (event: OutsideEvent): boolean => driven.accepts(event, undefined),
    isOver: (): boolean => !driven.isActive(),
    actors: (): readonly LiveActor[] => liveActors(driven.actor),
    tell,
    view: (): View => viewOf(driven.actor, { open, story, told }),
  };
}

function viewOf(root: AnyActor, { open, story, told }: Pick<ExploredRun, 'open' | 'story' | 'told'>): View {
  const actors = liveActors(root);
  const snapshot = root.getSnapshot();
  const visited = story.flatMap((one) => (one.kind === 'moved' && one.actor === root.id ? [one.to] : []));
  return {
    state: actors[0]?.state ?? '',
    states: Object.fromEntries(actors.map((one) => [one.path, one.state])),
    context: snapshot.context,
    output: snapshot.output,
    over: snapshot.status !== 'active',
    open: [...open.values()].map(({ id, name, request }) => ({ id, name, request })),
    ran: story.flatMap((one) => (one.kind === 'started' ? (toolRun(one.effect) ?? []) : [])),
    visited,
    path: told.map(({ label }) => label),
  };
}

function askedIn({ request, spec }: ToolCallContext): { readonly args: Json; readonly polling: boolean } {
  return { args: request.args, polling: spec?.polling === true };
}

/** Any machine's snapshot, with an unknown context. */
export interface MachineState {
  readonly machine: AnyStateMachine;
  readonly value: StateValue;
  readonly status: string;
  readonly context: unknown;
  /** What history states remember, by their parents' ids. */
  readonly historyValue: { readonly [id: string]: readonly AnyStateNode[] };
  readonly children: { readonly [id: string]: unknown };
  readonly output?: unknown;
  readonly error?: unknown;
}

/** A machine's actor that is there now. */
export interface LiveActor {
  /** The ids from the root down to it, joined with `/`. */
  readonly path: string;
  /** Its state as one dotted path. */
  readonly state: string;
  readonly snapshot: MachineState;
}

/** The machines' actors below a root, itself first. Leaves are not machines. */
function liveActors(root: AnyActor): readonly LiveActor[] {
  const list: LiveActor[] = [];
  collect(root.id, root.getSnapshot(), list);
  return list;
}

function collect(path: string, snapshot: unknown, list: LiveActor[]): void {
  if (!isMachineSnapshot(snapshot)) return;
  list.push({ path, state: stateText(snapshot.value), snapshot });
  for (const [id, child] of Object.entries(snapshot.children)) {
    if (typeof child === 'object' && child !== null && 'getSnapshot' in child)
      collect(`${path}/${id}`, Reflect.apply(Object(child.getSnapshot), child, []), list);
  }
}

/** Tells the snapshots of a machine, also if its guards, actions or actors were provided again. */
const isOf =
  <M extends AnyStateMachine>(machine: M) =>
  (snapshot: MachineState): snapshot is MachineState & SnapshotFrom<M> =>
    snapshot.machine.config === machine.config;

export const isAgent = isOf(agentMachine);
export const isLlmCall = isOf(llmCallMachine);
export const isToolCall = isOf(toolCallMachine);
export const isLoopDetection = isOf(loopDetectionMachine);
export const isMcpConnection = isOf(mcpConnectionMachine);

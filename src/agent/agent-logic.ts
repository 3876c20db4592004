/**
 * Owns: the actor around a run: what its snapshot shows, which events it receives, and what being stopped, persisted
 * and restarted means. Does not own: the run.
 *
 * I1 A run is begun once. Starting it again with its id resumes it, or fails; it is begun only if a journal that could
 *    resume it has no record of it.
 * I2 An actor that is stopped and started again in one go, as React's strict mode does, keeps its run.
 */
import { wrongOption } from '../json/known-options.ts';
import type { Snapshot } from 'xstate';
import type { RunResult } from '../machines/contract/run-result.ts';
import type { AgentLogic, AgentLogicEvent, AgentLogicSnapshot } from './agent-types.ts';
import { checkOptions } from './options/agent-options.ts';
import { readInput } from './options/input-parts.ts';
import { type AgentLogicInput, newRunId } from './options/run-options.ts';
import { checkLogicInput } from './options/check-options.ts';
import { ResumeError } from './options/agent-errors.ts';
import type { AnyRun, Run } from './run/run.ts';

/** How a run of `agent.logic` is started. Both throw when the agent is closed. */
export interface LogicPort {
  readonly begin: (input: AgentLogicInput, runId: string, how: Listening) => AnyRun;
  readonly resume: (
    input: AgentLogicInput,
    runId: string,
    how: Listening & { readonly after: Promise<unknown> | undefined },
  ) => AnyRun;
}

interface Listening {
  /** Called whenever the run's machine has come to rest. */
  readonly onStable: () => void;
}

/** The snapshot of a run whose answer type is unknown. */
type AnySnapshot = AgentLogicSnapshot<never>;

type View = Pick<AnySnapshot, 'value' | 'step' | 'pending' | 'run' | 'begun'>;

type OwnEvent =
  | { readonly type: 'run.settled'; readonly result: RunResult<never> }
  | { readonly type: 'run.failed'; readonly error: unknown }
  | { readonly type: 'run.moved'; readonly view: View };

/** The run behind one actor. */
interface Going {
  run: AnyRun | null;
  stopped: boolean;
}

type Scope = Parameters<NonNullable<AgentLogic['start']>>[1];

/** Runs of this process that are being released. Resuming one, by any agent, waits until its lock is free. */
const leaving = new Map<string, Promise<unknown>>();

/**
 * Makes an actor logic from a function that starts a run: its output is the RunResult, it emits the RunEvents, and its
 * snapshot shows where the run is.
 */
export function agentLogic(port: LogicPort): AgentLogic<never> {
  const actors = new WeakMap<object, Going>();
  return {
    config: { agent: true },
    getInitialSnapshot: (_scope, input) => {
      checkLogicInput(input);
      readInput(Reflect.get(Object(input), 'task'), 'agent.logic takes the input { task }');
      if (input.history !== undefined) checkOptions({ history: input.history }, 'agent.logic: input');
      return {
        status: 'active',
        output: undefined,
        error: undefined,
        input,
        runId: newRunId(),
        value: 'PLANNING',
        step: 0,
        pending: [],
        run: null,
        begun: 'no',
      };
    },
    getPersistedSnapshot: ({ run: _run, ...kept }) => kept,
    restoreSnapshot: (snapshot) => {
      if (!isPersisted(snapshot)) throw wrongOption('This is not a snapshot of agent.logic: it has no run id.');
      // One that was stopped before it was persisted continues, as one that was persisted before it was stopped.
      return snapshot.status === 'stopped' ? { ...snapshot, run: null, status: 'active' } : { ...snapshot, run: null };
    },
    start: (snapshot, scope) => {
      const before = actors.get(scope.self);
      if (before !== undefined) {
        before.stopped = false;
        return;
      }
      const going: Going = { run: null, stopped: false };
      actors.set(scope.self, going);
      goOn(port, snapshot, { ...scope, going });
    },
    transition: (snapshot, event: AgentLogicEvent | OwnEvent | { readonly type: 'xstate.stop' }, { self }) => {
      const going = actors.get(self);
      switch (event.type) {
        case 'run.settled':
          return { ...snapshot, status: 'done', output: event.result, error: undefined };
        case 'run.failed':
          return { ...snapshot, run: null, status: 'error', output: undefined, error: event.error };
        case 'run.moved':
          return changed(snapshot, event.view);
        case 'xstate.stop':
          if (going !== undefined) stop(going, snapshot, () => actors.delete(self));
          return { ...snapshot, status: 'stopped', output: undefined, error: undefined };
        case 'run.cancelled':
        case 'approval.given':
        case 'approval.refused':
          if (going?.run != null) void answer(going.run, snapshot, event).catch(() => undefined);
          return snapshot;
        default:
          return snapshot;
      }
    },
  };
}

/** Begins the run of an actor, or takes it up, and follows it to its end. */
function goOn(port: LogicPort, snapshot: AnySnapshot, at: Scope & { readonly going: Going }): void {
  const { input, runId, begun } = snapshot;
  const { going, self, emit } = at;
  const tell = (event: OwnEvent): void => {
    if (!going.stopped && self.getSnapshot().status === 'active') Reflect.apply(self.send, self, [event]);
  };
  let rests = 0;
  const show = (how: View['begun'], from?: View): void => {
    const { run } = going;
    if (run === null) return;
    const { value, step, pending } = from ?? viewOf(run);
    tell({ type: 'run.moved', view: { value, step, pending, run, begun: how } });
  };
  const begin = (): AnyRun => {
    rests = 0;
    // When it first settles nothing is written yet; the next time, the event is.
    return port.begin(input, runId, { onStable: () => show(++rests > 1 ? 'recorded' : 'perhaps') });
  };
  const follow = async (run: AnyRun, from?: View): Promise<void> => {
    going.run = run;
    show(begun === 'no' ? 'perhaps' : begun, from);
    for await (const event of run) emit(event);
    const result = await run;
    // A run that was released has not ended, and neither has its actor: persisted and restored, it continues.
    if (result.status !== 'waiting') tell({ type: 'run.settled', result });
  };
  const resume = (): AnyRun =>
    port.resume(input, runId, { onStable: () => show('recorded'), after: leaving.get(runId) });
  // A resumed run is shown as it was persisted until its past has been replayed.
  (begun === 'no' ? follow(begin()) : follow(resume(), snapshot))
    .catch((error: unknown) => {
      const isNew = begun === 'perhaps' && error instanceof ResumeError && error.code === 'run-unknown';
      if (!isNew || going.stopped) throw error;
      return follow(begin());
    })
    .catch((error: unknown) => tell({ type: 'run.failed', error }));
}

function viewOf({ state, pending }: Run): Pick<View, 'value' | 'step' | 'pending'> {
  return { value: state.path, step: state.stepsTaken, pending };
}

/** The same snapshot object if nothing changed, so that a renderer need not render again. */
function changed(snapshot: AnySnapshot, view: View): AnySnapshot {
  const before = snapshot.pending.map(({ callId }) => callId).join(' ');
  const pending = view.pending.map(({ callId }) => callId).join(' ') === before ? snapshot.pending : view.pending;
  const { value, step, run, begun } = snapshot;
  const isSame = pending === snapshot.pending && value === view.value && step === view.step && run === view.run;
  return isSame && begun === view.begun ? snapshot : { ...snapshot, ...view, pending };
}

async function answer(run: Run, { pending }: AnySnapshot, event: AgentLogicEvent): Promise<void> {
  if (event.type === 'run.cancelled') return void (await run.cancel(event.reason));
  const [only, another] = pending.filter(({ login }) => login === undefined);
  const callId = event.callId ?? (another === undefined ? only?.callId : undefined);
  if (callId === undefined) return;
  if (event.type === 'approval.refused') return void (await run.reject(callId, event.reason));
  const { always = false, args, reason } = event;
  const said = reason === undefined ? {} : { reason };
  await run.approve(callId, { always, ...(args == null ? {} : { args }), ...said });
}

/** Releases the run of a stopped actor, unless the actor is started again at once. */
function stop(going: Going, { input, runId }: AnySnapshot, forget: () => void): void {
  going.stopped = true;
  const left = Promise.resolve().then(async () => {
    const { run } = going;
    if (!going.stopped) return;
    forget();
    if (run === null) return;
    if (input.onStop === 'cancel' || !(await run.release())) await run.cancel('its actor was stopped');
    await run.catch(() => undefined);
  });
  leaving.set(runId, left);
  void left.catch(() => undefined).then(() => leaving.get(runId) === left && leaving.delete(runId));
}

function isPersisted(snapshot: Snapshot<unknown>): snapshot is AnySnapshot {
  return typeof Reflect.get(snapshot, 'runId') === 'string' && Reflect.get(snapshot, 'input') != null;
}

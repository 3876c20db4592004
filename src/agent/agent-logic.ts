import type { RunResult } from '../machines/run-result.ts';
import type { AgentLogic, AgentLogicInput, AgentLogicSnapshot } from './agent-types.ts';
import type { Run } from './run.ts';

type OwnEvent = { readonly type: 'run.settled'; readonly result: RunResult };

/** Makes an actor logic of what starts a run: it is done with the RunResult, emits the RunEvents, and stopping it cancels. */
export function agentLogic(start: (input: AgentLogicInput) => Run): AgentLogic {
  const runs = new WeakMap<object, Run>();
  return {
    config: { agent: true },
    getInitialSnapshot: (_scope, input) => ({ status: 'active', output: undefined, error: undefined, input }),
    getPersistedSnapshot: (snapshot) => snapshot,
    start: (snapshot, { self, emit }) => {
      const run = start(snapshot.input);
      runs.set(self, run);
      void follow(run, emit).then((result) => {
        const settled: OwnEvent = { type: 'run.settled', result };
        if (self.getSnapshot().status === 'active') Reflect.apply(self.send, self, [settled]);
      });
    },
    transition: (snapshot, event: { readonly type: string }, { self }): AgentLogicSnapshot => {
      if (isSettled(event)) return { ...snapshot, status: 'done', output: event.result, error: undefined };
      if (event.type === 'run.cancelled') void runs.get(self)?.cancel(reasonOf(event));
      if (event.type !== 'xstate.stop') return snapshot;
      void runs.get(self)?.cancel('its parent was stopped');
      return { ...snapshot, status: 'stopped', output: undefined, error: undefined };
    },
  };
}

async function follow(
  run: Run,
  emit: (event: Parameters<Parameters<NonNullable<AgentLogic['start']>>[1]['emit']>[0]) => void,
): Promise<RunResult> {
  for await (const event of run) emit(event);
  return run;
}

function isSettled(event: { readonly type: string }): event is OwnEvent {
  return event.type === 'run.settled';
}

function reasonOf(event: object): string {
  const reason: unknown = Reflect.get(event, 'reason');
  return typeof reason === 'string' ? reason : '';
}

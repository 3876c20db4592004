import type { ActorLogic, AnyActorRef, EventObject, Snapshot } from 'xstate';
import type { AgentInput } from './agent-setup.ts';
import type { AgentOutput } from './run-result.ts';

/** The logic of an agent inside of another: input in, output out, all of its machine visible below the caller. */
export type ChildAgentLogic = ActorLogic<Snapshot<AgentOutput>, EventObject, AgentInput>;

/**
 * A child agent runs the very machine that its parent runs: the agent's, with whatever was provided to it. So the drawing
 * of a tool call can name it without importing the drawing that it is a part of.
 */
export const childAgent: ChildAgentLogic = {
  config: { nests: 'agent' },
  transition: (snapshot, event, scope) => machineAbove(scope.self).transition(snapshot, event, scope),
  getInitialSnapshot: (scope, input) => machineAbove(scope.self).getInitialSnapshot(scope, input),
  start: (snapshot, scope) => machineAbove(scope.self).start?.(snapshot, scope),
  getPersistedSnapshot: (snapshot) => snapshot,
};

function machineAbove(self: AnyActorRef): ChildAgentLogic {
  for (let actor: unknown = self; typeof actor === 'object' && actor !== null; actor = Reflect.get(actor, '_parent')) {
    const logic: unknown = Reflect.get(actor, 'logic');
    if (isAgentMachine(logic)) return logic;
  }
  throw new Error('A child agent was started without an agent above it.');
}

function isAgentMachine(logic: unknown): logic is ChildAgentLogic {
  return typeof logic === 'object' && logic !== null && 'transition' in logic && Reflect.get(logic, 'id') === 'agent';
}

import { createAgent } from '../../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import { agentMachine } from '../../../src/machines/agent/agent.ts';
import { toolCallMachine } from '../../../src/machines/tool-call/tool-call.ts';
import { recover } from '../../../src/recovery/recover.ts';
import type { OnError } from '../../../src/recovery/steps.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import type { Policy } from '../../../src/tools/spec.ts';
import { tool } from '../../../src/tools/tool.ts';
import type { Mutant } from './mutant.ts';

type CallGuards = NonNullable<Parameters<typeof toolCallMachine.provide>[0]['guards']>;
type CallActions = NonNullable<Parameters<typeof toolCallMachine.provide>[0]['actions']>;
type AgentActions = NonNullable<Parameters<typeof agentMachine.provide>[0]['actions']>;

export const guard = (guards: CallGuards) =>
  agentMachine.provide({ actors: { toolCall: toolCallMachine.provide({ guards }) } });
export const action = (actions: CallActions) =>
  agentMachine.provide({ actors: { toolCall: toolCallMachine.provide({ actions }) } });
export const agentAction = (actions: AgentActions) => agentMachine.provide({ actions });

export const retry = recover.retry({ maxAttempts: 2 });
const schema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };
export const failing = { executionError: retry };

/** A tool whose arguments are checked by code, in an agent of its own. */
export const checked = (policy: Policy, onError: OnError = failing): AgentOptions => ({
  tools: [
    tool({
      name: 'checked',
      description: 'Checks.',
      policy,
      inputSchema: schema,
      validateArgs: (args) => args,
      execute: () => null,
      onError,
    }),
  ],
  maxSteps: 1,
});
export const plain = (policy: Policy, onError: OnError = {}, more: AgentOptions = {}): AgentOptions => ({
  tools: [fakeTool('plain', [1], { policy, onError, effects: 'none' })],
  maxSteps: 1,
  ...more,
});
export const asked = plain('confirm');
export const free = plain('allow');
export const always = { isAlwaysAllowed: () => true, add: () => undefined };
const worker = createAgent({
  name: 'worker',
  model: scriptedModel([]),
  tools: [fakeTool('dig', [1], { effects: 'none' })],
  silent: true,
  maxSteps: 1,
});
export const team = (defaultPolicy: Policy): AgentOptions => ({ children: [worker], defaultPolicy, maxSteps: 1 });
export const waiting = plain('confirm', {}, { timeouts: { approvalMs: 100 } });
export const questioned: AgentOptions = {
  tools: [fakeTool('hard', [1], { onError: { executionError: recover.escalate('too hard') } })],
  onEscalation: () => null,
  timeouts: { approvalMs: 100 },
  maxSteps: 2,
};
export const fixed = (step: 'fix' | 'sanitize'): OnError => ({ executionError: [recover[step](() => null), retry] });
export const repairedBy = createAgent({ name: 'mender', implementedBy: () => null });

export const RUNNING = '#toolCall.RUNNING';
export const APPROVED = '#toolCall.AWAITING_APPROVAL.APPROVED';
export const ASKING = 'states.AWAITING_APPROVAL.states.ASKING';
export const RECOVERING = 'states.RECOVERING.states';

export const mutant = (wrong: string, machine: Mutant['machine'], agent: AgentOptions, law: string): Mutant => ({
  wrong,
  machine,
  agent,
  law,
});
export const told = (given: Mutant, events: NonNullable<Mutant['events']>): Mutant => ({ ...given, events });

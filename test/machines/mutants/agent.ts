import { assign } from 'xstate';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { agentMachine } from '../../../src/machines/agent/agent.ts';
import { openCallsSettled } from '../../../src/machines/agent/endings.ts';
import { type Mutant, no, nothing, yes } from './mutant.ts';
import { look, asking, throwing, escalating } from './tools.ts';

type AgentGuards = Parameters<typeof agentMachine.provide>[0]['guards'];
type AgentActions = Parameters<typeof agentMachine.provide>[0]['actions'];

const agentGuard = (guards: NonNullable<AgentGuards>) => agentMachine.provide({ guards });
const agentAction = (actions: NonNullable<AgentActions>) => agentMachine.provide({ actions });

const child = createAgent({ name: 'child', description: 'Helps.', tools: [look], maxSteps: 2, silent: true });
const below = { children: [child], maxSteps: 2 };

/** What must not happen to the agent itself. */
export const AGENT_MUTANTS: readonly Mutant[] = [
  {
    wrong: 'a step is not counted',
    machine: agentAction({ countStep: nothing }),
    agent: { tools: [look] },
    law: 'budget',
  },
  {
    wrong: 'the step limit is ignored',
    machine: agentGuard({ stepLimitReached: no }),
    agent: { tools: [look] },
    law: 'budget',
  },
  {
    wrong: 'the step limit comes at once',
    machine: agentGuard({ stepLimitReached: yes }),
    agent: { tools: [look] },
    law: 'budget',
  },
  {
    wrong: 'a cancel gives no reason',
    machine: agentAction({ endCancelled: nothing }),
    agent: {},
    law: 'ends',
  },
  { wrong: 'an answer is whatever comes', machine: agentGuard({ answered: yes }), agent: {}, law: 'honesty' },
  { wrong: 'a refusal counts as an answer', machine: agentGuard({ modelRefused: no }), agent: {}, law: 'turns' },
  { wrong: 'every reply counts as a refusal', machine: agentGuard({ modelRefused: yes }), agent: {}, law: 'turns' },
  {
    wrong: 'the calls of a filtered reply run',
    machine: agentGuard({ filtered: no }),
    agent: { tools: [look] },
    law: 'turns',
  },
  { wrong: 'every reply counts as filtered', machine: agentGuard({ filtered: yes }), agent: {}, law: 'turns' },
  {
    wrong: 'an answer that was cut off is corrected',
    machine: agentGuard({ answerTruncated: no }),
    agent: {},
    law: 'turns',
  },
  { wrong: 'every answer counts as cut off', machine: agentGuard({ answerTruncated: yes }), agent: {}, law: 'turns' },
  {
    wrong: 'the plan limit is ignored',
    machine: agentGuard({ plansLeft: yes }),
    agent: { tools: [look], maxSteps: 6, maxPlanIterations: 1 },
    law: 'plans',
  },
  {
    wrong: 'no plan is ever carried out',
    machine: agentGuard({ plansLeft: no }),
    agent: { tools: [look] },
    law: 'plans',
  },
  {
    wrong: 'a refused plan ends the run at once',
    machine: agentGuard({ answerWasDemanded: yes, plansLeft: no }),
    agent: { tools: [look] },
    law: 'plans',
  },
  {
    wrong: 'a loop in a plan is ignored',
    machine: agentGuard({ refusedAsLoop: no }),
    agent: { tools: [look], maxConsecutiveRepeats: 2, maxSteps: 3 },
    law: 'routes',
  },
  {
    wrong: 'a loop in a batch is ignored',
    machine: agentGuard({ batchRepeatsTooOften: no }),
    agent: { tools: [look], maxConsecutiveRepeats: 2 },
    law: 'routes',
  },
  {
    wrong: 'a denied step does not end its plan',
    machine: agentGuard({ denied: no }),
    agent: { tools: [asking], maxSteps: 3 },
    law: 'routes',
  },
  {
    wrong: 'a failed step does not end its plan',
    machine: agentGuard({ callFailed: no }),
    agent: { tools: [look], maxSteps: 3 },
    law: 'routes',
  },
  {
    wrong: 'a failed batch passes as a good one',
    machine: agentGuard({ aCallFailed: no }),
    agent: { tools: [look] },
    law: 'routes',
  },
  {
    wrong: 'a good batch passes as a failed one',
    machine: agentGuard({ aCallFailed: yes }),
    agent: { tools: [look] },
    law: 'routes',
  },
  { wrong: 'a hard stop is ignored', machine: agentGuard({ thrown: no }), agent: { tools: [throwing] }, law: 'routes' },
  {
    wrong: 'a batch goes on before all have settled',
    machine: agentGuard({ allCallsSettled: ({ context }) => Object.keys(context.batch?.outcomes ?? {}).length > 0 }),
    agent: { tools: [look] },
    law: 'routes',
  },
  {
    wrong: 'results are not told',
    machine: agentAction({ closeBatch: assign({ batch: null }) }),
    agent: { tools: [look] },
    law: 'results',
  },
  {
    wrong: 'the call budget is ignored in plans',
    machine: agentGuard({ callBudgetSpent: no }),
    agent: { tools: [look], maxSteps: 4, budget: { maxToolCalls: 1 } },
    law: 'spending',
  },
  {
    wrong: 'a budget is kept that nobody set',
    machine: agentGuard({ callBudgetSpent: yes }),
    agent: { tools: [look] },
    law: 'spending',
  },
  {
    wrong: 'the token budget is ignored',
    machine: agentGuard({ tokenBudgetSpent: no }),
    agent: { tools: [look], maxSteps: 5, budget: { maxTokens: 9 } },
    law: 'spending',
  },
  {
    wrong: 'what a stopped child has used does not count',
    machine: agentAction({
      settleOpenCalls: assign(({ context }) => openCallsSettled(context, { getSnapshot: () => undefined })),
    }),
    agent: { ...below, budget: { maxTokens: 9 } },
    law: 'spending',
  },
  { wrong: 'a failed turn counts as a reply', machine: agentGuard({ modelFailed: no }), agent: {}, law: 'honesty' },
  { wrong: 'calls are not made', machine: agentGuard({ calledTools: no }), agent: { tools: [look] }, law: 'honesty' },
  {
    wrong: 'unusable replies are never enough',
    machine: agentGuard({ tooManyUnusableReplies: no }),
    agent: { maxSteps: 4 },
    law: 'turns',
  },
  {
    wrong: 'the first unusable reply is the last',
    machine: agentGuard({ tooManyUnusableReplies: yes }),
    agent: {},
    law: 'turns',
  },
  {
    wrong: 'a critical escalation is ignored',
    machine: agentGuard({ escalationIsCritical: no }),
    agent: { tools: [escalating] },
    law: 'routes',
  },
  {
    wrong: 'every failure is critical',
    machine: agentGuard({ escalationIsCritical: yes }),
    agent: { tools: [look] },
    law: 'ends',
  },
];

import { assign } from 'xstate';
import { leafErrorOf } from '../../../src/actors/leaf.ts';
import type { JsonObject } from '../../../src/json/json.ts';
import { agentMachine } from '../../../src/machines/agent/agent.ts';
import { delivered } from '../../../src/machines/agent/delivering.ts';
import { endingFor } from '../../../src/machines/agent/endings.ts';
import { batchClosed } from '../../../src/machines/agent/execution.ts';
import { llmCallMachine } from '../../../src/machines/llm-call/llm-call.ts';
import { mayTryAgain } from '../../../src/machines/llm-call/model-list.ts';
import { checked, guard } from './gate-agents.ts';
import { type Mutant, callEdge, no, nothing, redrawn, yes } from './mutant.ts';
import { escalating, look, pausing, search, switchedOff, throwing } from './tools.ts';
import { LIST } from './turn.ts';

type AgentGuards = NonNullable<Parameters<typeof agentMachine.provide>[0]['guards']>;
type AgentActions = NonNullable<Parameters<typeof agentMachine.provide>[0]['actions']>;
type TurnGuards = NonNullable<Parameters<typeof llmCallMachine.provide>[0]['guards']>;
type TurnActions = NonNullable<Parameters<typeof llmCallMachine.provide>[0]['actions']>;

const agentGuard = (guards: AgentGuards) => agentMachine.provide({ guards });
const agentAction = (actions: AgentActions) => agentMachine.provide({ actions });
const turn = (guards: TurnGuards, actions: TurnActions = {}) =>
  agentMachine.provide({ actors: { llmCall: llmCallMachine.provide({ guards, actions }) } });

const outputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const typed = { tools: [look], outputSchema } satisfies Mutant['agent'];
const unknown = { toolUnknown: no, toolDisabled: no, policyDenies: no, argumentsInvalid: no };
const attemptsForgotten = turn({
  attemptsLeft: ({ context, event }) => mayTryAgain({ ...context, attempts: 0 }, leafErrorOf(event)),
});
const repeated = redrawn(llmCallMachine, 'states.ATTEMPTING.invoke.onDone', { target: 'BACKING_OFF' }, () =>
  agentMachine.provide({ actors: { llmCall: llmCallMachine.provide({}) } }),
);

/** What the model says, and nothing else. */
const saying = (mutant: Mutant, reply: JsonObject): Mutant => ({
  ...mutant,
  outcomes: { callLlm: () => [{ label: 'says it', value: reply }] },
});

const row = (wrong: string, machine: Mutant['machine'], agent: Mutant['agent'], law: string, says: RegExp): Mutant => ({
  wrong,
  machine,
  agent,
  law,
  says,
});

/** Each breaks a law in a way of which only one part of it can tell. */
export const CLAIM_MUTANTS: readonly Mutant[] = [
  // A run as a whole.
  row('no state is noted', agentAction({ enter: nothing }), {}, 'ends', /^the run was over in COMPLETION$/),
  row(
    'a cancel is noted, and nothing else',
    redrawn(agentMachine, 'on.run·cancelled', { actions: 'endCancelled' }),
    { tools: [look] },
    'nothing-left',
    /^the run was cancelled and went on$/,
  ),
  saying(
    row(
      'an answer that was cut off counts as one',
      agentGuard({ answerTruncated: no, answered: yes }),
      {},
      'honesty',
      /^an answer that was cut off counted as an answer$/,
    ),
    { content: 'The answer is qui', finishReason: 'length' },
  ),
  row(
    'results are told in another order',
    agentAction({
      closeBatch: assign(({ context }) => {
        const { messages = [], ...closed } = batchClosed(context);
        return { ...closed, messages: [...context.messages, ...messages.slice(context.messages.length).toReversed()] };
      }),
    }),
    { tools: [look] },
    'results',
    /^a result of call_2 came where call_1 was due$/,
  ),
  row(
    'calls begin anew while the answer is checked',
    redrawn(agentMachine, 'states.PLANNING.states.DELIVERING.states.CHECKING', {
      ...agentMachine.config.states?.PLANNING?.states?.['DELIVERING']?.states?.['CHECKING'],
      entry: ['prepareBatch', 'startCalls'],
    }),
    { ...typed, checkOutput: nothing },
    'output',
    /^a tool ran after the answer was given$/,
  ),
  row(
    'an answer is delivered by a run that has failed',
    agentAction({
      deliverOutput: assign(({ context }) => {
        const { ending } = delivered(context, context.reply?.output?.value ?? null);
        return { ending: { ...endingFor(context, 'refused'), output: ending?.output ?? null } };
      }),
    }),
    typed,
    'output',
    /^an answer stands beside the status failed$/,
  ),
  row(
    'code is asked about an answer that does not fit, and there is none',
    agentGuard({ outputFits: yes, outputCheckedByCode: yes }),
    typed,
    'delivery',
    /^code is asked about an answer, and there is none$/,
  ),

  // Turns of the model.
  row(
    'a failed turn is corrected',
    agentGuard({ modelFailed: no, answered: no }),
    {},
    'turns',
    /^a model turn failed, and the run went on$/,
  ),
  row('no plan has a step', agentGuard({ stepsLeftInPlan: no }), { tools: [look] }, 'turns', /^a plan was over before/),
  ...[{}, { model: LIST }].map((agent, at) =>
    saying(
      row(
        `a model that has replied is asked again, ${['alone', 'of several'][at]}`,
        repeated,
        agent,
        'retries',
        /^the model was asked again after it had replied$/,
      ),
      { content: 'Done.' },
    ),
  ),
  row('attempts are not counted', attemptsForgotten, {}, 'retries', /^the model was asked again after 2 failed atte/),
  row(
    'attempts of several models are not counted',
    attemptsForgotten,
    { model: LIST },
    'retries',
    /^a model was asked after 3 failed attempts over all models$/,
  ),
  row(
    'a server that refuses tools gets them again',
    turn({
      toolsRefused: no,
      attemptsLeft: ({ context, event }) => mayTryAgain(context, leafErrorOf(event)),
    }),
    { tools: [look] },
    'retries',
    /^a server that refuses tools was asked with tools again$/,
  ),
  row(
    'a conversation that is too long goes to whichever model is next',
    turn(
      {},
      {
        takeError: assign(({ context: { list }, event }) => {
          const at = list === null ? 0 : (list.at + 1) % list.models.length;
          const { toolCalling = 'native' } = list?.models[at] ?? {};
          return { error: leafErrorOf(event), list: list === null ? null : { ...list, at }, toolCalling };
        }),
      },
    ),
    { model: LIST },
    'retries',
    /^a conversation that was too long was sent to 'b', which is not known to take more$/,
  ),
  ...['auth', 'content-filter'].map((code) =>
    row(
      `the model is asked again after ${code}`,
      turn({
        attemptsLeft: ({ context, event }) =>
          leafErrorOf(event).code === code || mayTryAgain(context, leafErrorOf(event)),
      }),
      {},
      'retries',
      new RegExp(`^the model was asked again after ${code}, which another try cannot cure$`),
    ),
  ),
  row(
    'the last model that has nothing left to spend is asked again',
    turn({
      attemptsLeft: ({ context, event }) =>
        leafErrorOf(event).code === 'quota-exhausted' || mayTryAgain(context, leafErrorOf(event)),
    }),
    { model: LIST, retry: { maxAttempts: 9 } },
    'retries',
    /^'c' was asked again after quota-exhausted, which another try cannot cure$/,
  ),

  // Calls and plans.
  row(
    'an unknown tool runs',
    guard(unknown),
    { tools: [look] },
    'permission',
    /^'' ran, and no such tool is registere/,
  ),
  row(
    'a tool that is switched off runs',
    guard({ toolDisabled: no, policyDenies: no }),
    { tools: [switchedOff] },
    'permission',
    /^'off' ran, and it is switched off$/,
  ),
  row(
    'a person is asked about arguments that do not fit',
    guard({ argumentsInvalid: no }),
    { tools: [search], defaultPolicy: 'confirm' },
    'asking',
    /^a person was asked about arguments that 'search' does not take$/,
  ),
  row(
    'a person is asked about arguments that nobody has checked',
    guard({ checkedByCode: no }),
    checked('confirm'),
    'asking',
    /^a person was asked about arguments that the check of 'checked' has not seen$/,
  ),
  row(
    'a pause leads on at once',
    callEdge('states.RECOVERING.states.BACKING_OFF', { always: 'RETRYING' }),
    { tools: [pausing] },
    'recovery',
    /^'slow' was repeated without its pause$/,
  ),
  ...([escalating, throwing] as const).map((tool, at) =>
    row(
      `what is to ${['escalate', 'throw'][at]} is told to the model`,
      guard({ stepIs: no }),
      { tools: [tool] },
      'recovery',
      /^'(?:hard' was to escalate|fatal' was to throw), and its error was fed back$/,
    ),
  ),
  row(
    'a step that has succeeded ends its plan as a failure',
    agentGuard({ callFailed: yes }),
    { tools: [look] },
    'routes',
    /^a step of a plan succeeded, and the agent went to ERROR_RECOVERY/,
  ),
  row(
    'the first call is a loop',
    agentGuard({ batchRepeatsTooOften: yes }),
    { tools: [look], maxConsecutiveRepeats: 3 },
    'loops',
    /^the run ended as a loop after 1 calls$/,
  ),
];

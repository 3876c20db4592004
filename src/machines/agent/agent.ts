/**
 * The agent: five states, and everything that can happen between them.
 *
 * I1 A step is one model turn or one step of a plan; no step beyond `maxSteps` begins.
 * I2 Every call of a reply gets exactly one result, in call order, before the model is asked again.
 * I3 It never ends in an error: COMPLETION is reached from everywhere, and its output holds the reason.
 * I4 No plan beyond `maxPlanIterations` is carried out, and no call that the loop detection refuses.
 */
import { withOutput } from '../contract/assign.ts';
import { and, not } from 'xstate';
import { initialContext } from './agent-context.ts';
import { messagesAsked, modelsAsked } from './escalating.ts';
import { promptInput } from './planning.ts';
import { agentParts } from './agent-parts.ts';
import { outputOf } from './endings.ts';
import { offeredTools, outputToCheck, responseSchema } from './delivering.ts';
import { errorRecovery } from './error-recovery.ts';
import { stepInput } from './execution.ts';
import { MOST_MICROSTEPS } from '../contract/agent-setup.ts';
import { shortLived } from '../contract/short-lived.ts';

/**
 * The part of the agent machine that judges an answer that has a schema: one that fits, and that the author's own code
 * accepts, ends the run; for any other the model is told what is wrong, twice at most.
 */
const delivering = agentParts.createStateConfig({
  initial: 'FITTING',
  states: {
    FITTING: {
      always: [
        { guard: 'steeredOn', target: '#agent.PLANNING.CHECKING_BUDGET', actions: 'setOutputAside' },
        { guard: and(['outputFits', 'outputCheckedByCode']), target: 'CHECKING' },
        { guard: 'outputFits', target: '#agent.COMPLETION', actions: 'deliverOutput' },
        { target: 'CORRECTING' },
      ],
    },
    CHECKING: {
      invoke: {
        id: 'checkOutput',
        src: 'checkOutput',
        input: ({ context }) => outputToCheck(context),
        onDone: [
          { guard: 'steeredOn', target: '#agent.PLANNING.CHECKING_BUDGET', actions: 'setOutputAside' },
          { guard: withOutput('outputAccepted'), target: '#agent.COMPLETION', actions: withOutput('deliverChecked') },
          { target: 'CORRECTING', actions: withOutput('takeOutputProblems') },
        ],
        onError: { target: '#agent.COMPLETION', actions: 'endOutputUnchecked' },
      },
    },
    CORRECTING: {
      always: [
        { guard: 'isLastTurn', target: '#agent.COMPLETION', actions: 'endAtLimit' },
        { guard: 'correctionsLeft', target: '#agent.PLANNING.CHECKING_BUDGET', actions: 'correctOutput' },
        { target: '#agent.COMPLETION', actions: 'endOutputInvalid' },
      ],
    },
  },
});

const machine = agentParts.createMachine({
  id: 'agent',
  options: { maxIterations: MOST_MICROSTEPS },
  version: '2',
  context: ({ input }) => initialContext(input),
  initial: 'PLANNING',
  entry: 'startTotalTime',
  on: {
    'run.cancelled': { target: '.COMPLETION', actions: 'endCancelled' },
    'run.abandoned': { target: '.COMPLETION', actions: 'endAbandoned' },
    'run.expired': { target: '.COMPLETION', actions: { type: 'endAs', params: 'timeout' } },
    'tools.changed': { actions: 'takeTools' },
    'message.steered': { guard: 'takesSteer', actions: 'takeSteer' },
    'message.queued': { guard: 'takesQueued', actions: 'takeQueued' },
    'message.withdrawn': { guard: 'holdsQueued', actions: 'withdrawMessage' },
  },
  states: {
    PLANNING: {
      entry: { type: 'enter', params: 'PLANNING' },
      initial: 'CHECKING_BUDGET',
      states: {
        CHECKING_BUDGET: {
          always: [
            { guard: 'endedBeforeStart', target: '#agent.COMPLETION' },
            { guard: 'needsSetup', target: 'PREPARING' },
            { guard: 'outputHeld', target: 'DELIVERING' },
            { guard: 'stepLimitReached', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'max-steps' } },
            { guard: 'lastTurnDue', actions: 'keepLastTurn' },
            { guard: 'tokenBudgetSpent', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'budget' } },
            { guard: 'promptIsDynamic', target: 'COMPOSING' },
            { target: 'ASKING' },
          ],
        },
        PREPARING: {
          invoke: {
            id: 'describeAgent',
            src: 'describeAgent',
            input: null,
            onDone: { target: 'CHECKING_BUDGET', actions: [withOutput('takeSetup'), 'startTotalTime'] },
            onError: { target: '#agent.COMPLETION', actions: 'endWithFailure' },
          },
        },
        COMPOSING: {
          invoke: {
            id: 'composePrompt',
            src: 'composePrompt',
            input: ({ context }) => promptInput(context),
            onDone: { target: 'ASKING', actions: withOutput('takePrompts') },
            onError: { target: '#agent.COMPLETION', actions: 'endWithFailure' },
          },
        },
        ASKING: {
          entry: ['countStep', 'deliverSteers'],
          on: {
            'run.cancelled': { target: '#agent.COMPLETION', actions: ['endCancelled', 'keepPartialAnswer'] },
            'message.steered': [
              { guard: and(['takesSteer', 'interrupts']), target: 'CHECKING_BUDGET', actions: 'takeSteer' },
              { guard: 'takesSteer', actions: 'takeSteer' },
            ],
          },
          invoke: {
            id: 'llmCall',
            src: 'llmCall',
            input: ({ context }) => ({
              system: context.shown.prompts,
              messages: messagesAsked(context),
              earlier: context.stats.history.length - context.stats.history.leftOut,
              tools: offeredTools(context),
              responseSchema: responseSchema(context),
              toolCalling: context.toolCalling,
              settings: context.settings,
              seed: (context.runInfo?.seed ?? 0) + context.stepsTaken,
              model: context.override.model,
              agent: context.place.agent,
              list: modelsAsked(context),
            }),
            onDone: [
              { guard: withOutput('modelFailed'), target: '#agent.COMPLETION', actions: withOutput('endWithLlmError') },
              { target: 'DECIDING', actions: withOutput('takeReply') },
            ],
            onError: { target: '#agent.COMPLETION', actions: 'endWithFailure' },
          },
        },
        DECIDING: {
          always: [
            { guard: 'modelRefused', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'refused' } },
            { guard: 'filtered', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'content-filter' } },
            { guard: 'gaveOutput', target: 'DELIVERING' },
            { guard: 'isLastTurn', target: '#agent.COMPLETION', actions: 'endAtLimit' },
            { guard: and(['proposedPlan', 'plansLeft']), target: '#agent.EXECUTING_PLAN', actions: 'takePlan' },
            {
              guard: and(['proposedPlan', 'answerWasDemanded']),
              target: '#agent.COMPLETION',
              actions: { type: 'endAs', params: 'plan-limit' },
            },
            { guard: 'proposedPlan', target: 'CHECKING_BUDGET', actions: 'refusePlan' },
            { guard: 'calledTools', target: '#agent.DIRECT_EXECUTION', actions: 'prepareBatch' },
            { guard: 'answerTruncated', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'length' } },
            { guard: 'endsWithWrittenCall', target: 'CHECKING_BUDGET', actions: 'questionCall' },
            { guard: and(['answered', 'steeredOn']), target: 'CHECKING_BUDGET' },
            { guard: 'answered', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'answer' } },
            { guard: 'tooManyUnusableReplies', target: '#agent.COMPLETION', actions: 'endUnusable' },
            { target: 'CHECKING_BUDGET', actions: 'correct' },
          ],
        },
        DELIVERING: delivering,
      },
    },
    EXECUTING_PLAN: {
      entry: { type: 'enter', params: 'EXECUTING_PLAN' },
      initial: 'NEXT_STEP',
      states: {
        NEXT_STEP: {
          always: [
            { guard: not('stepsLeftInPlan'), target: '#agent.PLANNING', actions: 'closePlan' },
            { guard: 'lastTurnDue', target: '#agent.PLANNING', actions: 'closePlan' },
            { guard: 'stepLimitReached', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'max-steps' } },
            {
              guard: and(['callBudgetSpent', 'lastTurnLeft']),
              target: '#agent.PLANNING',
              actions: ['closePlan', 'keepLastTurn'],
            },
            { guard: 'callBudgetSpent', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'budget' } },
            { target: 'RUNNING_STEP', actions: 'prepareStep' },
          ],
        },
        RUNNING_STEP: {
          on: { 'tools.changed': { actions: ['takeTools', 'forwardToStep'] } },
          invoke: {
            id: 'step',
            src: 'toolCall',
            input: ({ context }) => stepInput(context),
            onDone: [
              {
                guard: withOutput('refusedAsLoop'),
                target: '#agent.COMPLETION',
                actions: [withOutput('takeStep'), { type: 'endAs', params: 'loop' }],
              },
              {
                guard: withOutput('thrown'),
                target: '#agent.COMPLETION',
                actions: [withOutput('takeStep'), withOutput('endThrown')],
              },
              {
                guard: withOutput('callFailed'),
                target: '#agent.ERROR_RECOVERY',
                actions: [withOutput('takeStep'), 'dropPlan'],
              },
              {
                guard: withOutput('denied'),
                target: '#agent.PLANNING',
                actions: [withOutput('takeStep'), 'closePlan'],
              },
              { target: 'NEXT_STEP', actions: withOutput('takeStep') },
            ],
            onError: { target: '#agent.COMPLETION', actions: 'endWithFailure' },
          },
        },
      },
    },
    DIRECT_EXECUTION: {
      entry: { type: 'enter', params: 'DIRECT_EXECUTION' },
      exit: 'stopCalls',
      initial: 'RUNNING_CALLS',
      states: {
        RUNNING_CALLS: {
          entry: 'startCalls',
          on: {
            'tools.changed': { actions: ['takeTools', 'forwardToCalls'] },
            'xstate.done.actor.*': [
              {
                guard: withOutput('thrown'),
                target: '#agent.COMPLETION',
                actions: [withOutput('takeOutcome'), withOutput('endThrown')],
              },
              {
                actions: [
                  { type: 'stopCall', params: ({ event }) => event.actorId },
                  withOutput('takeOutcome'),
                  'startCalls',
                ],
              },
            ],
            'xstate.error.actor.*': { target: '#agent.COMPLETION', actions: 'endWithFailure' },
          },
          always: [
            {
              guard: and(['allCallsSettled', 'batchRepeatsTooOften']),
              target: '#agent.COMPLETION',
              actions: ['closeBatch', { type: 'endAs', params: 'loop' }],
            },
            {
              guard: and(['allCallsSettled', 'batchExceedsBudget', 'lastTurnLeft', 'aCallFailed']),
              target: '#agent.ERROR_RECOVERY',
              actions: ['closeBatch', 'keepLastTurn'],
            },
            {
              guard: and(['allCallsSettled', 'batchExceedsBudget', 'lastTurnLeft']),
              target: '#agent.PLANNING',
              actions: ['closeBatch', 'keepLastTurn'],
            },
            {
              guard: and(['allCallsSettled', 'batchExceedsBudget']),
              target: '#agent.COMPLETION',
              actions: ['closeBatch', { type: 'endAs', params: 'budget' }],
            },
            { guard: and(['allCallsSettled', 'aCallFailed']), target: '#agent.ERROR_RECOVERY', actions: 'closeBatch' },
            { guard: 'allCallsSettled', target: '#agent.PLANNING', actions: 'closeBatch' },
          ],
        },
      },
    },
    ERROR_RECOVERY: errorRecovery,
    COMPLETION: {
      type: 'final',
      entry: [{ type: 'enter', params: 'COMPLETION' }, 'settleOpenCalls'],
    },
  },
  output: ({ context }) => outputOf(context),
});

/** The bare machine. Provide `agent.actors`, or use `agent.logic`, which also records. */
export const agentMachine = shortLived(machine);

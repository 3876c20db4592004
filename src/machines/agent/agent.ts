/**
 * The agent: five states, and everything that can happen between them.
 *
 * I1 A step is one model turn or one step of a plan; no step beyond `maxSteps` begins.
 * I2 Every call of a reply gets exactly one result, in call order, before the model is asked again.
 * I3 It never ends in an error: COMPLETION is reached from everywhere and its output says why.
 * I4 No plan beyond `maxPlanIterations` is carried out, and no call that the loop detection refuses.
 */
import { and, not } from 'xstate';
import { initialContext } from './agent-context.ts';
import { promptInput } from './planning.ts';
import { agentParts } from './agent-parts.ts';
import { outputOf } from './endings.ts';
import { escalationInput, handOverInput, questionInput } from './escalating.ts';
import { stepInput } from './execution.ts';
import { MOST_MICROSTEPS } from '../contract/agent-setup.ts';

/** The bare machine. Provide `agent.actors`, or use `agent.logic`, which also records. */
export const agentMachine = agentParts.createMachine({
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
            { guard: 'stepLimitReached', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'max-steps' } },
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
            onDone: {
              target: 'CHECKING_BUDGET',
              actions: [{ type: 'takeSetup', params: ({ event }) => event.output }, 'startTotalTime'],
            },
            onError: { target: '#agent.COMPLETION', actions: 'endWithFailure' },
          },
        },
        COMPOSING: {
          invoke: {
            id: 'composePrompt',
            src: 'composePrompt',
            input: ({ context }) => promptInput(context),
            onDone: { target: 'ASKING', actions: { type: 'takePrompts', params: ({ event }) => event.output } },
            onError: { target: '#agent.COMPLETION', actions: 'endWithFailure' },
          },
        },
        ASKING: {
          entry: 'countStep',
          invoke: {
            id: 'llmCall',
            src: 'llmCall',
            input: ({ context }) => ({
              system: context.shown.prompts,
              messages: context.messages,
              tools: context.shown.modelTools,
              toolCalling: context.toolCalling,
              settings: context.settings,
              seed: (context.briefing?.seed ?? 0) + context.stepsTaken,
              model: context.detour.model,
              agent: context.place.agent,
            }),
            onDone: [
              {
                guard: { type: 'modelFailed', params: ({ event }) => event.output },
                target: '#agent.COMPLETION',
                actions: { type: 'endWithLlmError', params: ({ event }) => event.output },
              },
              { target: 'DECIDING', actions: { type: 'takeReply', params: ({ event }) => event.output } },
            ],
            onError: { target: '#agent.COMPLETION', actions: 'endWithFailure' },
          },
        },
        DECIDING: {
          always: [
            { guard: 'modelRefused', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'refused' } },
            { guard: 'filtered', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'content-filter' } },
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
            { guard: 'answered', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'answer' } },
            { guard: 'tooManyUnusableReplies', target: '#agent.COMPLETION', actions: 'endUnusable' },
            { target: 'CHECKING_BUDGET', actions: 'correct' },
          ],
        },
      },
    },
    EXECUTING_PLAN: {
      entry: { type: 'enter', params: 'EXECUTING_PLAN' },
      initial: 'NEXT_STEP',
      states: {
        NEXT_STEP: {
          always: [
            { guard: not('stepsLeftInPlan'), target: '#agent.PLANNING', actions: 'closePlan' },
            { guard: 'stepLimitReached', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'max-steps' } },
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
                guard: { type: 'refusedAsLoop', params: ({ event }) => event.output },
                target: '#agent.COMPLETION',
                actions: [
                  { type: 'takeStep', params: ({ event }) => event.output },
                  { type: 'endAs', params: 'loop' },
                ],
              },
              {
                guard: { type: 'thrown', params: ({ event }) => event.output },
                target: '#agent.COMPLETION',
                actions: [
                  { type: 'takeStep', params: ({ event }) => event.output },
                  { type: 'endThrown', params: ({ event }) => event.output },
                ],
              },
              {
                guard: { type: 'callFailed', params: ({ event }) => event.output },
                target: '#agent.ERROR_RECOVERY',
                actions: [{ type: 'takeStep', params: ({ event }) => event.output }, 'dropPlan'],
              },
              {
                guard: { type: 'denied', params: ({ event }) => event.output },
                target: '#agent.PLANNING',
                actions: [{ type: 'takeStep', params: ({ event }) => event.output }, 'closePlan'],
              },
              { target: 'NEXT_STEP', actions: { type: 'takeStep', params: ({ event }) => event.output } },
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
                guard: { type: 'thrown', params: ({ event }) => event.output },
                target: '#agent.COMPLETION',
                actions: [
                  { type: 'takeOutcome', params: ({ event }) => event.output },
                  { type: 'endThrown', params: ({ event }) => event.output },
                ],
              },
              {
                actions: [
                  { type: 'stopCall', params: ({ event }) => event.actorId },
                  { type: 'takeOutcome', params: ({ event }) => event.output },
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
    ERROR_RECOVERY: {
      entry: { type: 'enter', params: 'ERROR_RECOVERY' },
      initial: 'ASSESSING',
      states: {
        ASSESSING: {
          always: [
            { guard: 'escalationPending', target: 'ESCALATING' },
            { guard: 'escalatesToParent', target: '#agent.COMPLETION', actions: 'endEscalated' },
            { guard: 'escalationIsCritical', target: '#agent.COMPLETION', actions: 'endEscalated' },
            { target: '#agent.PLANNING', actions: 'reportFailure' },
          ],
        },
        ESCALATING: {
          invoke: {
            id: 'askEscalation',
            src: 'askEscalation',
            input: ({ context }) => escalationInput(context),
            onDone: { target: 'JUDGED', actions: { type: 'takeVerdict', params: ({ event }) => event.output } },
            onError: { target: 'JUDGED', actions: 'takeNoVerdict' },
          },
        },
        JUDGED: {
          always: [
            { guard: 'verdictIsRetry', target: '#agent.PLANNING', actions: 'switchModelOnce' },
            { guard: 'verdictIsRerouteToAgent', target: 'HANDING_OVER' },
            { guard: 'verdictIsRerouteToSkill', target: '#agent.PLANNING', actions: 'limitToSkill' },
            { guard: 'verdictIsAskHuman', target: 'ASKING_HUMAN' },
            { guard: 'verdictIsPartialResult', target: '#agent.COMPLETION', actions: 'endPartially' },
            { guard: 'verdictIsThrow', target: '#agent.COMPLETION', actions: 'endByVerdict' },
            { target: 'ASSESSING' },
          ],
        },
        HANDING_OVER: {
          on: { 'tools.changed': { actions: ['takeTools', 'forwardToChild'] } },
          invoke: {
            id: 'childAgent',
            src: 'childAgent',
            input: ({ context }) => handOverInput(context),
            onDone: [
              {
                guard: { type: 'childFailed', params: ({ event }) => event.output },
                target: 'ASSESSING',
                actions: { type: 'takeFailedHandOver', params: ({ event }) => event.output },
              },
              {
                target: '#agent.COMPLETION',
                actions: { type: 'takeHandOver', params: ({ event }) => event.output },
              },
            ],
            onError: { target: 'ASSESSING', actions: 'takeNoVerdict' },
          },
        },
        ASKING_HUMAN: {
          entry: 'startDeadline',
          exit: 'stopDeadline',
          on: {
            'approval.given': { target: '#agent.PLANNING', actions: 'addAnswer' },
            'approval.refused': { target: '#agent.PLANNING', actions: 'addAnswer' },
            'approval.expired': { target: 'ASSESSING', actions: 'takeNoVerdict' },
          },
          invoke: {
            id: 'askApproval',
            src: 'askApproval',
            input: ({ context }) => questionInput(context),
            onDone: [
              {
                guard: { type: 'nobodyToAsk', params: ({ event }) => event.output },
                target: 'ASSESSING',
                actions: 'takeNoVerdict',
              },
              {
                target: '#agent.PLANNING',
                actions: { type: 'addDecision', params: ({ event }) => event.output },
              },
            ],
            onError: { target: 'ASSESSING', actions: 'takeNoVerdict' },
          },
        },
      },
    },
    COMPLETION: {
      type: 'final',
      entry: [{ type: 'enter', params: 'COMPLETION' }, 'closeBooks'],
    },
  },
  output: ({ context }) => outputOf(context),
});

/**
 * The agent: five states, and everything that can happen between them.
 *
 * I1 A step is one model turn or one step of a plan; no step beyond `maxSteps` begins.
 * I2 Every call of a reply gets exactly one result, in call order, before the model is asked again.
 * I3 It never ends in an error: COMPLETION is reached from everywhere and its output says why.
 * I4 No plan beyond `maxPlanIterations` is carried out, and no call that the loop detection refuses.
 */
import { type DoneActorEvent, type ErrorActorEvent, and, assign, enqueueActions, not, setup } from 'xstate';
import { type PromptTexts, composePrompt } from '../actors/compose-prompt.ts';
import { describeAgent } from '../actors/describe-agent.ts';
import { leafErrorOf } from '../actors/leaf.ts';
import { type AgentContext, cancelledEnding, fromSetup, fromToolset, initialContext } from './agent-context.ts';
import type { AgentInput, AgentSetup, Toolset } from './agent-setup.ts';
import type { CallOutcome } from './call-request.ts';
import { conversationClosed, endingFor, outputOf } from './endings.ts';
import { batchClosed, isSettled, outcomeTaken, planClosed, planDropped, stepInput, stepPrepared, stepTaken, troubleTold } from './execution.ts';
import { type LlmCallOutput, llmCallMachine } from './llm-call.ts';
import { areCallsSpent, areTokensSpent, batchPrepared, corrected, isThirdUnusable, llmErrorEnding, planRefused, planTaken, takenReply } from './planning.ts';
import type { AgentOutput, AgentState } from './run-result.ts';
import { promptsOf } from './system-prompt.ts';
import { type ToolCallInput, toolCallMachine } from './tool-call.ts';

/** What the agent is told from outside. */
export type AgentEvent =
  | { readonly type: 'run.cancelled'; readonly reason: string }
  | { readonly type: 'run.expired' }
  | { readonly type: 'tools.changed'; readonly toolset: Toolset };

const NOT_PROVIDED = 'The agent machine was started bare. Use agentMachine.provide({ actors: agent.actors }).';

const agentSetup = setup({
  types: {
    context: {} as AgentContext,
    input: {} as AgentInput,
    output: {} as AgentOutput,
    events: {} as AgentEvent | DoneActorEvent<CallOutcome, string> | ErrorActorEvent<unknown, string>,
  },
  actors: {
    llmCall: llmCallMachine,
    toolCall: toolCallMachine,
    describeAgent: describeAgent<AgentSetup>({ setup: () => Promise.reject(new Error(NOT_PROVIDED)) }),
    composePrompt: composePrompt<Toolset>({ compose: () => Promise.reject(new Error(NOT_PROVIDED)) }),
  },
  guards: {
    endedBeforeStart: ({ context }) => context.ending !== null,
    needsSetup: ({ context }) => !context.ready,
    promptByCode: ({ context }) => context.promptByCode,
    stepLimitReached: ({ context }) => context.stepsTaken >= context.settings.maxSteps,
    tokensSpent: ({ context }) => areTokensSpent(context),
    callsSpent: ({ context }) => areCallsSpent(context),
    modelFailed: (_, output: LlmCallOutput) => output.kind === 'model.failed',
    planned: ({ context }) => context.reply?.plan != null,
    plansLeft: ({ context }) => context.settings.maxPlanIterations === 0 || context.planIterations < context.settings.maxPlanIterations,
    toldToAnswer: ({ context }) => context.plansRefused > 0,
    calledTools: ({ context }) => (context.reply?.calls.length ?? 0) > 0,
    answered: ({ context }) => context.unusableInARow === 0,
    thirdUnusable: ({ context }) => isThirdUnusable(context),
    stepsLeftInPlan: ({ context }) => context.plan !== null && context.plan.index < context.plan.steps.length,
    refusedAsLoop: (_, outcome: CallOutcome) => outcome.kind === 'tool.denied' && outcome.denial.kind === 'loop',
    denied: (_, outcome: CallOutcome) => outcome.kind === 'tool.denied',
    unmended: (_, outcome: CallOutcome) => 'error' in outcome,
    settled: ({ context }) => isSettled(context.batch),
    batchEndsInLoop: ({ context }) => context.batch?.endsRun === 'loop',
    batchEndsBudget: ({ context }) => context.batch?.endsRun === 'budget',
    batchFailed: ({ context }) => Object.values(context.batch?.outcomes ?? {}).some((outcome) => 'error' in outcome),
  },
  actions: {
    enter: assign({ states: ({ context }, state: AgentState) => [...context.states, state] }),
    startTotalTime: enqueueActions(({ context, enqueue }) => {
      const { totalMs } = context.settings;
      if (context.ready && totalMs !== null) enqueue.raise({ type: 'run.expired' }, { id: 'totalTime', delay: totalMs });
    }),
    takeSetup: assign((_, agentSetup: AgentSetup) => fromSetup(agentSetup)),
    takePrompts: assign({ prompts: (_, texts: PromptTexts) => promptsOf(texts) }),
    takeTools: assign(({ context, event }) =>
      event.type === 'tools.changed' ? { toolset: event.toolset, ...fromToolset(context.instructions, event.toolset) } : {},
    ),
    countStep: assign({ stepsTaken: ({ context }) => context.stepsTaken + 1 }),
    takeReply: assign(({ context }, output: LlmCallOutput) => takenReply(context, output)),
    correct: assign(({ context }) => corrected(context)),
    refusePlan: assign(({ context }) => planRefused(context)),
    takePlan: assign(({ context }) => planTaken(context)),
    prepareStep: assign(({ context }) => stepPrepared(context)),
    takeStep: assign(({ context }, outcome: CallOutcome) => stepTaken(context, outcome)),
    closePlan: assign(({ context }) => planClosed(context)),
    dropPlan: assign(({ context }) => planDropped(context)),
    prepareBatch: assign(({ context }) => batchPrepared(context)),
    takeOutcome: assign(({ context }, outcome: CallOutcome) => outcomeTaken(context, outcome)),
    closeBatch: assign(({ context }) => batchClosed(context)),
    startCalls: enqueueActions(({ context, enqueue }) => {
      const { batch } = context;
      if (batch === null) return;
      const running = batch.started - Object.keys(batch.outcomes).length;
      const upTo = context.settings.parallelToolCalls ? batch.runnable : Math.min(batch.runnable, batch.started + 1 - running);
      for (const { request, verdict } of batch.calls.slice(batch.started, upTo)) {
        const input: ToolCallInput = { request, verdict, tools: context.toolset.tools, settings: context.settings };
        enqueue.spawnChild('toolCall', { id: request.callId, input });
      }
      enqueue.assign({ batch: { ...batch, started: Math.max(batch.started, upTo) } });
    }),
    stopCalls: enqueueActions(({ context, enqueue }) => {
      for (const { request } of context.batch?.calls ?? []) enqueue.stopChild(request.callId);
    }),
    stopCall: enqueueActions(({ enqueue }, callId: string) => enqueue.stopChild(callId)),
    tellTrouble: assign(({ context }) => troubleTold(context)),
    endAs: assign({
      ending: ({ context }, reason: 'answer' | 'max-steps' | 'loop' | 'plan-limit' | 'timeout' | 'budget') => endingFor(context, reason),
    }),
    endWithLlmError: assign({
      ending: ({ context }, output: LlmCallOutput) =>
        output.kind === 'model.failed' ? llmErrorEnding(context, output.error) : context.ending,
    }),
    endWithFailure: assign({ ending: ({ context, event }) => llmErrorEnding(context, leafErrorOf(event)) }),
    endUnusable: assign({
      ending: ({ context }) => llmErrorEnding(context, { code: 'unusable-reply', message: 'no usable reply' }),
    }),
    endCancelled: assign({
      ending: ({ context, event }) => cancelledEnding(event.type === 'run.cancelled' ? event.reason : '', context.stepsTaken),
    }),
    closeConversation: assign(({ context }) => conversationClosed(context)),
  },
});

/** The bare machine. Provide `agent.actors`, or use `agent.logic`, which also records. */
export const agentMachine = agentSetup.createMachine({
  id: 'agent',
  version: '1',
  context: ({ input }) => initialContext(input),
  initial: 'PLANNING',
  entry: 'startTotalTime',
  on: {
    'run.cancelled': { target: '.COMPLETION', actions: 'endCancelled' },
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
            { guard: 'tokensSpent', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'budget' } },
            { guard: 'promptByCode', target: 'COMPOSING' },
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
            input: ({ context }) => ({ task: context.task, step: context.stepsTaken + 1, toolset: context.toolset }),
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
              system: context.prompts,
              messages: context.messages,
              tools: context.modelTools,
              toolCalling: context.toolCalling,
              settings: context.settings,
              seed: context.seed + context.stepsTaken,
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
            { guard: and(['planned', 'plansLeft']), target: '#agent.EXECUTING_PLAN', actions: 'takePlan' },
            {
              guard: and(['planned', 'toldToAnswer']),
              target: '#agent.COMPLETION',
              actions: { type: 'endAs', params: 'plan-limit' },
            },
            { guard: 'planned', target: 'CHECKING_BUDGET', actions: 'refusePlan' },
            { guard: 'calledTools', target: '#agent.DIRECT_EXECUTION', actions: 'prepareBatch' },
            { guard: 'answered', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'answer' } },
            { guard: 'thirdUnusable', target: '#agent.COMPLETION', actions: 'endUnusable' },
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
            { guard: 'callsSpent', target: '#agent.COMPLETION', actions: { type: 'endAs', params: 'budget' } },
            { target: 'RUNNING_STEP', actions: 'prepareStep' },
          ],
        },
        RUNNING_STEP: {
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
                guard: { type: 'unmended', params: ({ event }) => event.output },
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
            'xstate.done.actor.*': {
              actions: [
                { type: 'stopCall', params: ({ event }) => event.actorId },
                { type: 'takeOutcome', params: ({ event }) => event.output },
                'startCalls',
              ],
            },
            'xstate.error.actor.*': { target: '#agent.COMPLETION', actions: 'endWithFailure' },
          },
          always: [
            { guard: and(['settled', 'batchEndsInLoop']), target: '#agent.COMPLETION', actions: ['closeBatch', { type: 'endAs', params: 'loop' }] },
            { guard: and(['settled', 'batchEndsBudget']), target: '#agent.COMPLETION', actions: ['closeBatch', { type: 'endAs', params: 'budget' }] },
            { guard: and(['settled', 'batchFailed']), target: '#agent.ERROR_RECOVERY', actions: 'closeBatch' },
            { guard: 'settled', target: '#agent.PLANNING', actions: 'closeBatch' },
          ],
        },
      },
    },
    ERROR_RECOVERY: {
      entry: { type: 'enter', params: 'ERROR_RECOVERY' },
      initial: 'ASSESSING',
      states: {
        ASSESSING: { always: { target: '#agent.PLANNING', actions: 'tellTrouble' } },
      },
    },
    COMPLETION: {
      type: 'final',
      entry: [{ type: 'enter', params: 'COMPLETION' }, 'closeConversation'],
    },
  },
  output: ({ context }) => outputOf(context),
});

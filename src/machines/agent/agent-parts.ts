import { type DoneActorEvent, type ErrorActorEvent, cancel, setup, stopChild } from 'xstate';
import { assign } from '../contract/assign.ts';
import { enqueueActions } from '../contract/short-lived.ts';
import {
  type AskEscalationOutput,
  askEscalation,
  type ApprovalAnswer,
  askApproval,
} from '../../actors/ask-approval.ts';
import { type CheckOutputResult, checkOutput } from '../../actors/check-output.ts';
import { describeAgent, type PromptTexts, composePrompt } from '../../actors/compose-prompt.ts';
import { memberOf } from '../../json/json.ts';
import { MAX_UNUSABLE } from './agent-texts.ts';
import { type AgentContext, cancelledEnding, partialAnswerKept, setupTaken } from './agent-context.ts';
import type { AgentInput, AgentSetup, OutputSpec, ToolsChanged, Toolset } from '../contract/agent-setup.ts';
import type { CallOutcome } from '../tool-call/call-request.ts';
import { type AgentOutput, type AgentState, childAgent } from '../contract/run-result.ts';
import { changeBelow } from '../tool-call/delegation.ts';
import {
  type PlainReason,
  abandonedEnding,
  endingFor,
  failureEnding,
  openCallsSettled,
  thrownEnding,
} from './endings.ts';
import {
  MAX_CORRECTIONS,
  delivered,
  handOverAnswered,
  isLastTurnDue,
  isLastTurnLeft,
  lastTurnKept,
  outputChecked,
  outputCorrected,
  outputInvalidEnding,
  outputSetAside,
  outputUncheckedEnding,
} from './delivering.ts';
import {
  answerOf,
  answerTold,
  askedOfAnotherModel,
  escalatedEnding,
  handOverFailed,
  handedOver,
  limitedToSkill,
  partialEnding,
  stoppedByVerdict,
  stoppedCounted,
  toolsTaken,
  verdictMissed,
  verdictOf,
  verdictTaken,
} from './escalating.ts';
import {
  batchClosed,
  outcomeTaken,
  planClosed,
  planDropped,
  stepPrepared,
  stepTaken,
  failureTold,
} from './execution.ts';
import { type LlmCallOutput, llmCallMachine } from '../llm-call/llm-call.ts';
import {
  callerOf,
  isTokenBudgetSpent,
  batchPrepared,
  callQuestioned,
  corrected,
  endsWithWrittenCall,
  turnFailed,
  isAnswerCut,
  llmErrorEnding,
  planRefused,
  planTaken,
  takenReply,
} from './planning.ts';
import { promptsOf } from './system-prompt.ts';
import type { SteeringEvent } from '../contract/mail.ts';
import {
  isSteeredOn,
  messageWithdrawn,
  queuedTaken,
  steerTaken,
  steersDelivered,
  takesQueued,
  takesSteer,
} from './steering.ts';
import { toolCallMachine } from '../tool-call/tool-call.ts';
import type { ApprovalEvent, ToolCallInput } from '../tool-call/tool-call-context.ts';

/** The events that the agent receives from outside. */
export type AgentEvent =
  | { readonly type: 'run.cancelled'; readonly reason?: string; readonly partialAnswer?: string }
  | { readonly type: 'run.abandoned'; readonly code: string; readonly message: string }
  | { readonly type: 'run.expired' }
  | SteeringEvent
  | ToolsChanged;

const NOT_PROVIDED = 'The agent machine was started bare. Use agentMachine.provide({ actors: agent.actors }).';

/** The guards, actions and actors of the agent machine; the drawing is in agent.ts. */
export const agentParts = setup({
  types: {
    context: {} as AgentContext,
    input: {} as AgentInput,
    output: {} as AgentOutput,
    events: {} as AgentEvent | ApprovalEvent | DoneActorEvent<CallOutcome> | ErrorActorEvent,
  },
  actors: {
    llmCall: llmCallMachine,
    toolCall: toolCallMachine,
    checkOutput: checkOutput({ check: () => null }),
    describeAgent: describeAgent<AgentSetup>({ setup: () => Promise.reject(new Error(NOT_PROVIDED)) }),
    askEscalation: askEscalation({ decide: () => null }),
    askApproval: askApproval({ confirm: () => undefined }),
    childAgent,
    composePrompt: composePrompt<Toolset, OutputSpec>({
      compose: () => Promise.reject(new Error(NOT_PROVIDED)),
      timeoutMs: () => 1,
    }),
  },
  guards: {
    endedBeforeStart: ({ context }) => context.ending !== null,
    needsSetup: ({ context }) => context.runInfo === null,
    promptIsDynamic: ({ context }) => context.runInfo?.promptByCode === true,
    stepLimitReached: ({ context }) => context.stepsTaken >= context.settings.maxSteps,
    tokenBudgetSpent: ({ context }) => context.stats.lastTurn === null && isTokenBudgetSpent(context),
    takesSteer: ({ context, event }) => event.type === 'message.steered' && takesSteer(context, event),
    takesQueued: ({ context, event }) => event.type === 'message.queued' && takesQueued(context, event),
    interrupts: ({ context, event }) =>
      event.type === 'message.steered' && event.interrupt === true && context.stepsTaken < context.settings.maxSteps,
    steeredOn: ({ context }) => isSteeredOn(context),
    holdsQueued: ({ context, event }) =>
      event.type === 'message.withdrawn' && context.stats.mail.queued.some(({ id }) => id === event.id),
    outputHeld: ({ context }) => context.reply?.output != null,
    gaveOutput: ({ context: { reply, stats } }) =>
      reply?.output != null && (reply.calls.length === 0 || stats.lastTurn !== null),
    outputFits: ({ context }) => context.reply?.output?.issues.length === 0,
    outputCheckedByCode: ({ context }) => context.shown.output != null && context.shown.output.spec.checkMs !== null,
    outputAccepted: (_, result: CheckOutputResult) => result.ok,
    correctionsLeft: ({ context }) => context.stats.corrections < MAX_CORRECTIONS,
    lastTurnLeft: ({ context }) => isLastTurnLeft(context),
    lastTurnDue: ({ context }) => isLastTurnDue(context),
    isLastTurn: ({ context }) => context.stats.lastTurn !== null,
    handOverToCheck: ({ context, event }) =>
      context.shown.output !== null && 'output' in event && memberOf(event.output, 'status') === 'answered',
    callBudgetSpent: ({ context: { settings, stats } }) =>
      settings.budget.maxToolCalls !== null && stats.toolCallsRun >= settings.budget.maxToolCalls,
    modelFailed: (_, output: LlmCallOutput) => output.kind === 'model.failed',
    modelRefused: ({ context }) => context.reply?.ended === 'refused',
    filtered: ({ context }) => context.reply?.ended === 'content-filter',
    answerTruncated: ({ context }) => isAnswerCut(context),
    proposedPlan: ({ context }) => context.reply?.plan != null,
    plansLeft: ({ context }) =>
      context.settings.maxPlanIterations === 0 || context.stats.planIterations < context.settings.maxPlanIterations,
    answerWasDemanded: ({ context }) => context.stats.plansRefused > 0,
    calledTools: ({ context }) => (context.reply?.calls.length ?? 0) > 0,
    endsWithWrittenCall: ({ context }) => endsWithWrittenCall(context),
    answered: ({ context }) => context.stats.unusableInARow === 0,
    tooManyUnusableReplies: ({ context }) => context.stats.unusableInARow >= MAX_UNUSABLE,
    stepsLeftInPlan: ({ context }) => context.plan !== null && context.plan.index < context.plan.steps.length,
    refusedAsLoop: (_, outcome: CallOutcome) => outcome.kind === 'tool.denied' && outcome.denial.kind === 'loop',
    denied: (_, outcome: CallOutcome) => outcome.kind === 'tool.denied',
    callFailed: (_, outcome: CallOutcome) => 'error' in outcome,
    thrown: (_, outcome: CallOutcome) => outcome.kind === 'tool.thrown',
    escalationPending: ({ context: { failure, runInfo } }) =>
      failure?.escalation != null && failure.verdict === null && runInfo?.escalates === true,
    escalatesToParent: ({ context: { failure, place } }) => failure?.escalation != null && place.agent !== '',
    escalationIsCritical: ({ context }) => context.failure?.escalation?.severity === 'critical',
    verdictIsRetry: ({ context }) => verdictOf(context, 'retryWithModel') !== null,
    verdictIsRerouteToAgent: ({ context }) => verdictOf(context, 'reroute')?.to === 'agent',
    verdictIsRerouteToSkill: ({ context }) => verdictOf(context, 'reroute') !== null,
    verdictIsAskHuman: ({ context }) => verdictOf(context, 'askHuman') !== null,
    verdictIsPartialResult: ({ context }) => verdictOf(context, 'partialResult') !== null,
    verdictIsThrow: ({ context }) => verdictOf(context, 'throwException') !== null,
    childFailed: (_, output: AgentOutput) => output.status === 'failed' && output.reason !== 'thrown',
    nobodyToAsk: (_, answer: ApprovalAnswer) => answer.decision === 'nobody',
    allCallsSettled: ({ context: { batch } }) => batch !== null && Object.keys(batch.outcomes).length >= batch.runnable,
    batchRepeatsTooOften: ({ context }) => context.batch?.endsRun === 'loop',
    batchExceedsBudget: ({ context }) => context.batch?.endsRun === 'budget',
    aCallFailed: ({ context }) => Object.values(context.batch?.outcomes ?? {}).some((outcome) => 'error' in outcome),
  },
  actions: {
    enter: assign({
      stats: ({ context: { stats } }, state: AgentState) => ({ ...stats, states: [...stats.states, state] }),
    }),
    startTotalTime: enqueueActions(({ context, enqueue }) => {
      const { totalMs } = context.settings;
      if (totalMs !== null) enqueue.raise({ type: 'run.expired' }, { id: 'totalTime', delay: totalMs });
    }),
    takeSetup: assign(({ context }, given: AgentSetup) => setupTaken(context, given)),
    takePrompts: assign({
      shown: ({ context }, texts: PromptTexts) => ({ ...context.shown, prompts: promptsOf(texts) }),
    }),
    takeTools: assign(({ context, event }) => (event.type === 'tools.changed' ? toolsTaken(context, event) : {})),
    forwardToCalls: enqueueActions(({ context: { batch }, event, enqueue }) => {
      if (batch === null || event.type !== 'tools.changed') return;
      for (const { request } of batch.calls.slice(0, batch.started))
        if (batch.outcomes[request.callId] === undefined) enqueue.sendTo(request.callId, event);
    }),
    forwardToStep: enqueueActions(({ event, enqueue }) => {
      if (event.type === 'tools.changed') enqueue.sendTo('step', event);
    }),
    forwardToChild: enqueueActions(({ context, event, enqueue }) => {
      const told = event.type === 'tools.changed' ? changeBelow(event, verdictOf(context, 'reroute')?.name) : null;
      if (told !== null) enqueue.sendTo('childAgent', told);
    }),
    countStep: assign({ stepsTaken: ({ context }) => context.stepsTaken + 1 }),
    takeReply: assign(({ context }, output: LlmCallOutput) => takenReply(context, output)),
    takeSteer: assign(({ context, event }) => (event.type === 'message.steered' ? steerTaken(context, event) : {})),
    takeQueued: assign(({ context, event }) => (event.type === 'message.queued' ? queuedTaken(context, event) : {})),
    withdrawMessage: assign(({ context, event }) =>
      event.type === 'message.withdrawn' ? messageWithdrawn(context, event.id) : {},
    ),
    deliverSteers: assign(({ context }) => steersDelivered(context)),
    setOutputAside: assign(({ context }) => outputSetAside(context)),
    deliverOutput: assign(({ context }) => delivered(context, context.reply?.output?.value ?? null)),
    deliverChecked: assign(({ context }, result: CheckOutputResult) =>
      delivered(context, result.ok ? result.value : null),
    ),
    takeOutputProblems: assign(({ context }, result: CheckOutputResult) => outputChecked(context, result)),
    correctOutput: assign(({ context }) => outputCorrected(context)),
    keepLastTurn: assign(({ context }) => lastTurnKept(context)),
    endAtLimit: assign({ ending: ({ context }) => endingFor(context, context.stats.lastTurn ?? 'max-steps') }),
    endOutputInvalid: assign({ ending: ({ context }) => outputInvalidEnding(context) }),
    endOutputUnchecked: assign({ ending: ({ context, event }) => outputUncheckedEnding(context, event) }),
    takeHandOverAnswer: assign(({ context }, output: AgentOutput) => handOverAnswered(context, output)),
    questionCall: assign(({ context }) => callQuestioned(context)),
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
      const { batch, settings, toolset } = context;
      if (batch === null) return;
      // One by one: this is called at the start and after each outcome, so none runs now.
      const upTo = settings.parallelToolCalls ? batch.runnable : Math.min(batch.runnable, batch.started + 1);
      if (upTo <= batch.started) return;
      const caller = callerOf(context);
      for (const { request, verdict } of batch.calls.slice(batch.started, upTo)) {
        const input: ToolCallInput = { request, verdict, tools: toolset.tools, settings, caller };
        enqueue.spawnChild('toolCall', { id: request.callId, input });
      }
      enqueue(assign({ batch: { ...batch, started: upTo } }));
    }),
    stopCalls: enqueueActions(({ context, enqueue }) => {
      // Those that have ended were stopped then.
      for (const { request } of context.batch?.calls ?? [])
        if (context.batch?.outcomes[request.callId] === undefined) enqueue.stopChild(request.callId);
    }),
    stopCall: stopChild((_, callId: string) => callId),
    reportFailure: assign(({ context }) => failureTold(context)),
    endAs: assign({ ending: ({ context }, reason: PlainReason) => endingFor(context, reason) }),
    endWithLlmError: assign(({ context }, output: LlmCallOutput) =>
      output.kind === 'model.failed' ? turnFailed(context, output.error) : {},
    ),
    endWithFailure: assign({ ending: ({ context, event }) => failureEnding(context, event) }),
    endUnusable: assign({
      ending: ({ context }) => llmErrorEnding(context, { code: 'unusable-reply', message: 'no usable reply' }),
    }),
    endCancelled: assign({ ending: ({ context, event }) => cancelledEnding(event, context.stepsTaken) }),
    keepPartialAnswer: assign(({ context, event }) => partialAnswerKept(context, event)),
    endAbandoned: assign({
      ending: ({ context, event }) => (event.type === 'run.abandoned' ? abandonedEnding(context, event) : null),
    }),
    endThrown: assign({ ending: ({ context }, outcome: CallOutcome) => thrownEnding(context, outcome) }),
    endEscalated: assign({ ending: ({ context }) => escalatedEnding(context) }),
    takeVerdict: assign(({ context }, { verdict }: AskEscalationOutput) => verdictTaken(context, verdict)),
    takeNoVerdict: assign(({ context, event }) => verdictMissed(context, event)),
    switchModelOnce: assign(({ context }) => askedOfAnotherModel(context)),
    limitToSkill: assign(({ context }) => limitedToSkill(context)),
    takeHandOver: assign(({ context }, output: AgentOutput) => handedOver(context, output)),
    takeFailedHandOver: assign(({ context }, output: AgentOutput) => handOverFailed(context, output)),
    addAnswer: assign(({ context, event }) => answerTold(context, answerOf(event))),
    addDecision: assign(({ context }, { decision }: ApprovalAnswer) =>
      answerTold(context, decision === 'deny' ? 'no' : 'yes'),
    ),
    startDeadline: enqueueActions(({ context: { settings }, enqueue }) => {
      const { approvalMs } = settings;
      if (approvalMs !== null)
        enqueue.raise({ type: 'approval.expired' }, { id: 'approvalDeadline', delay: approvalMs });
    }),
    stopDeadline: cancel('approvalDeadline'),
    endPartially: assign({ ending: ({ context }) => partialEnding(context) }),
    endByVerdict: assign({ ending: ({ context }) => stoppedByVerdict(context) }),
    settleOpenCalls: assign(({ context, self }) => openCallsSettled(context, self)),
    countStopped: assign(({ context, self }) => stoppedCounted(context, self)),
  },
});

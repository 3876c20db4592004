import { cancel, setup } from 'xstate';
import { assign } from '../contract/assign.ts';
import { enqueueActions } from '../contract/short-lived.ts';
import { callTool } from '../../actors/tool-call/call-tool.ts';
import { type CheckArgsOutput, checkArgs } from '../../actors/tool-call/check-args.ts';
import { leafErrorOf } from '../../actors/leaf.ts';
import { McpError } from '../../actors/mcp/mcp-calls.ts';
import { rememberPermission, type ApprovalAnswer, askApproval } from '../../actors/ask-approval.ts';
import { type RunFixerOutput, runFixer } from '../../actors/tool-call/run-fixer.ts';
import type { StepData } from '../../recovery/plan-data.ts';
import type { Denial } from '../../tools/error-text.ts';
import { type ToolResult, isErrorResult } from '../../tools/result.ts';
import type { AgentSetup, ToolsChanged } from '../contract/agent-setup.ts';
import type { CallOutcome } from './call-request.ts';
import { type AgentOutput, childAgent, spentTogether } from '../contract/run-result.ts';
import {
  areTokensSpent,
  changeBelow,
  childError,
  childResult,
  repairCounted,
  spentBy,
  withSpentByStopped,
} from './delegation.ts';
import { advanced, chosen, isToBeChosen } from './recovery-progress.ts';
import { failureTakenUp, givenUp, givenUpAsTold, givenUpWithChild, pauseOf, repaired } from './tool-recovery.ts';
import { executionError, failedCheck, reportedError, shapeOf, unreadableError } from './tool-outcome.ts';
import {
  type ApprovalEvent,
  type ToolCallContext,
  type ToolCallInput,
  callAfter,
  mustAskAnew,
  mustBeCheckedAgain,
  permitted,
  startForgotten,
} from './tool-call-context.ts';

type FixerOutput = RunFixerOutput<AgentSetup>;

const missing = (): never => {
  throw new Error('No tools were provided. Use agentMachine.provide({ actors: agent.actors }).');
};

/** The guards, actions and actors of the toolCall machine; the drawing is in tool-call.ts. */
export const toolCallParts = setup({
  types: {
    context: {} as ToolCallContext,
    input: {} as ToolCallInput,
    output: {} as CallOutcome,
    events: {} as ApprovalEvent | ToolsChanged,
  },
  actors: {
    callTool: callTool({
      local: missing,
      mcp: () => ({
        callTool: (server) => Promise.reject(new McpError('not-connected', server, 'No MCP was provided.')),
      }),
    }),
    checkArgs: checkArgs({ check: missing }),
    askApproval: askApproval({ confirm: () => undefined }),
    rememberPermission: rememberPermission({ add: () => undefined }),
    runFixer: runFixer<AgentSetup>({ slot: () => undefined }),
    childAgent,
  },
  guards: {
    toolUnknown: ({ context }) => context.spec === null,
    toolDisabled: ({ context }) => context.spec?.enabled !== true,
    loopRefused: ({ context }) => context.verdict === 'refuse',
    policyDenies: ({ context }) => permitted(context) === 'never',
    argumentsUnreadable: ({ context }) => context.request.unreadable !== null,
    argumentsInvalid: ({ context }) => context.check?.ok === false,
    checkedByCode: ({ context }) => context.spec?.checkedByCode === true,
    codeRejects: (_, output: CheckArgsOutput) => !output.ok,
    delegates: ({ context }) => context.spec?.origin.kind === 'agent',
    childThrew: (_, output: AgentOutput) => output.reason === 'thrown',
    childEscalated: (_, output: AgentOutput) => output.nested?.escalation != null,
    childFailed: (_, output: AgentOutput) => output.status === 'failed' || output.status === 'cancelled',
    needsApproval: ({ context }) => permitted(context) === 'ask',
    policyTightened: ({ context, event }) => event.type === 'tools.changed' && mustAskAnew(context, event),
    mustBeCheckedAgain: ({ context, event }) => event.type === 'tools.changed' && mustBeCheckedAgain(context, event),
    nobodyToAsk: (_, answer: ApprovalAnswer) => answer.decision === 'nobody',
    refused: (_, { decision }: ApprovalAnswer) => decision !== 'allow-once' && decision !== 'always-allow',
    alwaysAllowed: (_, answer: ApprovalAnswer) => answer.decision === 'always-allow',
    alwaysApproved: ({ event }) => event.type === 'approval.given' && event.always === true,
    editsNeedChecking: ({ context }) => context.check === null,
    approvedWithEdits: ({ event }) => event.type === 'approval.given' && event.args != null,
    toolReportsError: (_, result: ToolResult) => isErrorResult(result),
    stepsToBeChosen: ({ context }) => isToBeChosen(context.progress),
    stepIs: ({ context }, kind: StepData['kind']) => context.progress.step?.kind === kind,
    retriesWithoutDelay: ({ context }) => context.progress.step?.kind === 'retry' && pauseOf(context) === 0,
    budgetForbidsRepair: ({ context }) => context.progress.step?.kind === 'fix-agent' && areTokensSpent(context),
    mayRunAgain: ({ context }) => context.ran.asItStands && permitted(context) === 'run',
    returnedArguments: (_, output: FixerOutput) => output.kind === 'arguments' && output.value !== null,
    returnedResult: (_, output: FixerOutput) => output.kind === 'result' && output.result !== null,
    escalated: (_, output: FixerOutput) => output.kind === 'escalate',
    runsAsAgent: (_, output: FixerOutput) => output.kind === 'agent',
    repairThrew: (_, output: FixerOutput) => output.kind === 'throw',
  },
  actions: {
    checkShape: assign(({ context }) => shapeOf(context)),
    deny: assign({ denial: (_, denial: Denial) => denial }),
    failAsUnknown: assign({
      error: ({ context }) => ({ kind: 'unknown-tool', name: context.request.tool, suggestions: context.suggestions }),
    }),
    failAsUnreadable: assign({ error: ({ context }) => unreadableError(context) }),
    failByShape: assign({
      error: ({ context: { check, spec } }) =>
        check?.ok === false ? { ...check.error, tool: spec?.name ?? '' } : null,
    }),
    failByCode: assign({ error: ({ context }, output: CheckArgsOutput) => failedCheck(context, output) }),
    failAsExecution: assign({ error: ({ context, event }) => executionError(context, leafErrorOf(event)) }),
    failAsReported: assign({
      error: ({ context }, result: ToolResult) => reportedError(context, result),
      result: (_, result: ToolResult) => result,
    }),
    takeCheckedArgs: assign(({ context: { approved } }, output: CheckArgsOutput) =>
      output.ok ? { args: output.args, approved: approved === true || (output.approved === true && 'by-code') } : {},
    ),
    takeEdits: assign(({ context, event }) =>
      event.type === 'approval.given' && event.args != null
        ? { request: { ...context.request, args: event.args, unreadable: null }, check: null }
        : {},
    ),
    approve: assign(({ event }) => ({
      approved: true,
      ...(event.type === 'approval.given' && event.reason !== undefined ? { approvalReason: event.reason } : {}),
    })),
    startDeadline: enqueueActions(({ context, enqueue }) => {
      const { approvalMs } = context.settings;
      if (approvalMs !== null)
        enqueue.raise({ type: 'approval.expired' }, { id: 'approvalDeadline', delay: approvalMs });
    }),
    stopDeadline: cancel('approvalDeadline'),
    takeResult: assign({ result: (_, result: ToolResult) => result }),
    countRun: assign({ ran: ({ context: { ran } }) => ({ times: ran.times + 1, asItStands: true }) }),
    requireChecks: assign({ ran: ({ context: { ran } }) => ({ ...ran, asItStands: false }) }),
    applyStricterPolicy: assign(({ context, event }) =>
      event.type === 'tools.changed' ? callAfter(context, event) : {},
    ),
    forgetStart: assign(({ context, event }) => (event.type === 'tools.changed' ? startForgotten(context, event) : {})),
    forwardToChild: enqueueActions(({ context, event, enqueue }) => {
      const told = event.type === 'tools.changed' ? changeBelow(event, context.spec?.name) : null;
      if (told !== null) enqueue.sendTo('childAgent', told);
    }),
    startRecovery: assign({ progress: ({ context }) => failureTakenUp(context) }),
    takeSteps: assign({
      progress: ({ context }, output: FixerOutput) =>
        chosen(context.progress, output.kind === 'steps' ? output.steps : null),
    }),
    useNoSteps: assign({ progress: ({ context }) => chosen(context.progress, null) }),
    chooseStep: assign({
      progress: ({ context }) =>
        context.error === null
          ? context.progress
          : advanced(context.progress, {
              error: context.error,
              effects: context.spec?.effects ?? 'once',
              tokensSpent: areTokensSpent(context),
            }),
    }),
    takeRepairer: assign({
      progress: ({ context: { progress } }, output: FixerOutput) =>
        output.kind === 'agent' ? { ...progress, repairer: output.agent } : progress,
    }),
    forwardToRepairer: enqueueActions(({ context, event, enqueue }) => {
      const told = event.type === 'tools.changed' ? changeBelow(event, context.progress.repairer?.tool) : null;
      if (told !== null) enqueue.sendTo('childAgent', told);
    }),
    takeRepair: assign(({ context }, output: FixerOutput) => repaired(context, output)),
    takeSubstitute: assign({
      result: ({ context }, output: FixerOutput) => (output.kind === 'result' ? output.result : context.result),
      error: null,
    }),
    countRepair: assign({ spent: ({ context }, output: FixerOutput) => repairCounted(context, output) }),
    countSpent: assign({
      spent: ({ context }, output: AgentOutput) => spentTogether(context.spent, spentBy(output)),
    }),
    countStopped: assign({
      spent: ({ context: { spent }, self }) => withSpentByStopped(spent, self, ['childAgent']),
    }),
    takeChildResult: assign({ result: (_, output: AgentOutput) => childResult(output) }),
    failWithChild: assign({ error: ({ context }, output: AgentOutput) => childError(context, output) }),
    giveUpWithChild: assign({ gaveUp: (_, output: AgentOutput) => givenUpWithChild(output) }),
    giveUp: assign({ gaveUp: ({ context }) => givenUp(context) }),
    giveUpByFixer: assign({ gaveUp: ({ context }, output: FixerOutput) => givenUpAsTold(context, output) }),
    forgetError: assign({ error: null, result: null }),
  },
  delays: {
    pause: ({ context }) => pauseOf(context),
    repairTime: ({ context }) => context.settings.fixMs,
  },
});

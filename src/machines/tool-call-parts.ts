import { assign, cancel, enqueueActions, setup } from 'xstate';
import { type ApprovalAnswer, askApproval } from '../actors/ask-approval.ts';
import { callTool } from '../actors/call-tool.ts';
import { type CheckArgsOutput, checkArgs } from '../actors/check-args.ts';
import { leafErrorOf } from '../actors/leaf.ts';
import { McpError } from '../actors/mcp-calls.ts';
import { rememberPermission } from '../actors/remember-permission.ts';
import type { Denial } from '../tools/denials.ts';
import { type ToolResult, isErrorResult } from '../tools/result.ts';
import type { CallOutcome } from './call-request.ts';
import { executionError, failedCheck, reportedError, shapeError, shapeOf, unreadableError } from './tool-outcome.ts';
import type { ApprovalEvent, ToolCallContext, ToolCallInput } from './tool-call-context.ts';

const missing = (): never => {
  throw new Error('No tools were provided. Use agentMachine.provide({ actors: agent.actors }).');
};

/** The guards, actions and actors of the toolCall machine; the drawing is in tool-call.ts. */
export const toolCallParts = setup({
  types: {
    context: {} as ToolCallContext,
    input: {} as ToolCallInput,
    output: {} as CallOutcome,
    events: {} as ApprovalEvent,
  },
  actors: {
    callTool: callTool({
      local: missing,
      mcp: { callTool: (server) => Promise.reject(new McpError('not-connected', server, 'No MCP was provided.')) },
    }),
    checkArgs: checkArgs({ check: missing }),
    askApproval: askApproval({ confirm: () => undefined }),
    rememberPermission: rememberPermission({ add: () => undefined }),
  },
  guards: {
    toolUnknown: ({ context }) => context.spec === null,
    toolDisabled: ({ context }) => context.spec?.enabled === false,
    goesInCircles: ({ context }) => context.verdict === 'refuse',
    policyDenies: ({ context }) => context.spec?.policy === 'deny',
    argumentsUnreadable: ({ context }) => context.request.unreadable !== null,
    argumentsWrong: ({ context }) => context.check?.ok === false,
    checkedByCode: ({ context }) => context.spec?.checkedByCode === true,
    codeRejects: (_, output: CheckArgsOutput) => !output.ok,
    needsApproval: ({ context }) =>
      context.spec?.policy === 'confirm' && !context.spec.alwaysAllowed && !context.approved,
    nobodyToAsk: (_, answer: ApprovalAnswer) => answer.decision === 'nobody',
    refused: (_, answer: ApprovalAnswer) => answer.decision === 'deny',
    alwaysAllowed: (_, answer: ApprovalAnswer) => answer.decision === 'always-allow',
    givenForGood: ({ event }) => event.type === 'approval.given' && event.always && event.args === null,
    givenWithEdits: ({ event }) => event.type === 'approval.given' && event.args !== null,
    toolReportsError: (_, result: ToolResult) => isErrorResult(result),
  },
  actions: {
    checkShape: assign(({ context }) => shapeOf(context)),
    deny: assign({ denial: (_, denial: Denial) => denial }),
    failAsUnknown: assign({
      error: ({ context }) => ({ kind: 'unknown-tool', name: context.request.tool, suggestions: context.suggestions }),
    }),
    failAsUnreadable: assign({ error: ({ context }) => unreadableError(context) }),
    failByShape: assign({ error: ({ context }) => shapeError(context) }),
    failByCode: assign({ error: ({ context }, output: CheckArgsOutput) => failedCheck(context, output) }),
    failAsExecution: assign({ error: ({ context, event }) => executionError(context, leafErrorOf(event)) }),
    failAsReported: assign({
      error: ({ context }, result: ToolResult) => reportedError(context, result),
      result: (_, result: ToolResult) => result,
    }),
    takeCheckedArgs: assign({
      args: ({ context }, output: CheckArgsOutput) => (output.ok ? output.args : context.args),
    }),
    takeEdits: assign({
      request: ({ context, event }) =>
        event.type === 'approval.given' && event.args !== null
          ? { ...context.request, args: event.args, unreadable: null }
          : context.request,
      approved: true,
    }),
    approve: assign({ approved: true }),
    startDeadline: enqueueActions(({ context, enqueue }) => {
      const { approvalMs } = context.settings;
      if (approvalMs !== null)
        enqueue.raise({ type: 'approval.expired' }, { id: 'approvalDeadline', delay: approvalMs });
    }),
    stopDeadline: cancel('approvalDeadline'),
    takeResult: assign({ result: (_, result: ToolResult) => result }),
  },
});

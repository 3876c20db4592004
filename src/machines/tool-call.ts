/**
 * One call of one tool, from the name that the model wrote to exactly one outcome.
 *
 * I1 Order: lookup, loop verdict, deny, validate, confirm, run. A person is never asked about invalid arguments.
 * I2 Nothing runs that is not registered, or whose arguments are incomplete.
 * I3 A denial is no error: it ends in DENIED and never passes RECOVERING.
 * I4 It never ends in an error: every end has an output.
 */
import { assign, cancel, enqueueActions, setup } from 'xstate';
import { type ApprovalAnswer, askApproval } from '../actors/ask-approval.ts';
import { callTool } from '../actors/call-tool.ts';
import { type CheckArgsOutput, checkArgs } from '../actors/check-args.ts';
import { leafErrorOf } from '../actors/leaf.ts';
import { McpError } from '../actors/mcp-calls.ts';
import { rememberPermission } from '../actors/remember-permission.ts';
import type { CheckedArguments } from '../parsing/check-arguments.ts';
import type { ToolError } from '../parsing/errors.ts';
import type { JsonObject } from '../parsing/json.ts';
import type { Denial } from '../tools/denials.ts';
import { lookUp } from '../tools/lookup.ts';
import { type ToolResult, isErrorResult } from '../tools/result.ts';
import type { ToolSpec } from '../tools/spec.ts';
import type { AgentSettings } from './agent-setup.ts';
import { type CallOutcome, type CallRequest, asArguments } from './call-request.ts';
import { executionError, failedCheck, outcomeOf, reportedError, shapeError, shapeOf, unreadableError } from './tool-outcome.ts';
import type { LoopVerdict } from './loop-detection.ts';

/** What a call is given. */
export interface ToolCallInput {
  readonly request: CallRequest;
  readonly tools: readonly ToolSpec[];
  readonly verdict: LoopVerdict;
  readonly settings: AgentSettings;
}

/** A person's answer to a call that waits, from outside. */
export type ApprovalEvent =
  | { readonly type: 'approval.given'; readonly always: boolean; readonly args: JsonObject | null }
  | { readonly type: 'approval.refused'; readonly reason: string }
  | { readonly type: 'approval.expired' };

/** The memory of one call. */
export interface ToolCallContext extends ToolCallInput {
  readonly spec: ToolSpec | null;
  readonly suggestions: readonly string[];
  /** The arguments as they stand: what the model wrote, then checked and coerced, then perhaps edited by a person. */
  readonly args: JsonObject;
  readonly check: CheckedArguments | null;
  readonly approved: boolean;
  readonly error: ToolError | null;
  readonly denial: Denial | null;
  readonly result: ToolResult | null;
}

const missing = (): never => {
  throw new Error('No tools were provided. Use agentMachine.provide({ actors: agent.actors }).');
};

export const toolCallMachine = setup({
  types: {
    context: {} as ToolCallContext,
    input: {} as ToolCallInput,
    output: {} as CallOutcome,
    events: {} as ApprovalEvent,
  },
  actors: {
    callTool: callTool({ local: missing, mcp: { callTool: (server) => Promise.reject(new McpError('not-connected', server, 'No MCP was provided.')) } }),
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
    needsApproval: ({ context }) => context.spec?.policy === 'confirm' && !context.spec.alwaysAllowed && !context.approved,
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
    failAsReported: assign({ error: ({ context }, result: ToolResult) => reportedError(context, result), result: (_, result: ToolResult) => result }),
    takeCheckedArgs: assign({ args: ({ context }, output: CheckArgsOutput) => (output.ok ? output.args : context.args) }),
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
      if (approvalMs !== null) enqueue.raise({ type: 'approval.expired' }, { id: 'approvalDeadline', delay: approvalMs });
    }),
    stopDeadline: cancel('approvalDeadline'),
    takeResult: assign({ result: (_, result: ToolResult) => result }),
  },
}).createMachine({
  id: 'toolCall',
  context: ({ input }) => {
    const found = lookUp(input.tools, input.request.tool);
    return {
      ...input,
      spec: found.ok ? found.spec : null,
      suggestions: found.ok ? [] : found.suggestions,
      args: asArguments(input.request.args),
      check: null,
      approved: false,
      error: null,
      denial: null,
      result: null,
    };
  },
  initial: 'RESOLVING',
  states: {
    RESOLVING: {
      always: [
        { guard: 'goesInCircles', target: 'CHECKING_LOOP' },
        { guard: 'toolUnknown', target: 'RECOVERING', actions: 'failAsUnknown' },
        { guard: 'toolDisabled', target: 'DENIED', actions: { type: 'deny', params: { kind: 'disabled' } } },
        { target: 'CHECKING_LOOP' },
      ],
    },
    CHECKING_LOOP: {
      always: [
        { guard: 'goesInCircles', target: 'DENIED', actions: { type: 'deny', params: { kind: 'loop' } } },
        { target: 'AUTHORIZING' },
      ],
    },
    AUTHORIZING: {
      always: [
        { guard: 'policyDenies', target: 'DENIED', actions: { type: 'deny', params: { kind: 'policy' } } },
        { target: 'VALIDATING' },
      ],
    },
    VALIDATING: {
      initial: 'CHECKING_SHAPE',
      states: {
        CHECKING_SHAPE: {
          entry: 'checkShape',
          always: [
            { guard: 'argumentsUnreadable', target: '#toolCall.RECOVERING', actions: 'failAsUnreadable' },
            { guard: 'argumentsWrong', target: '#toolCall.RECOVERING', actions: 'failByShape' },
            { guard: 'checkedByCode', target: 'CHECKING_CODE' },
            { target: 'CHECKED' },
          ],
        },
        CHECKING_CODE: {
          invoke: {
            id: 'checkArgs',
            src: 'checkArgs',
            input: ({ context }) => ({ callId: context.request.callId, tool: context.spec?.name ?? '', args: context.args }),
            onDone: [
              {
                guard: { type: 'codeRejects', params: ({ event }) => event.output },
                target: '#toolCall.RECOVERING',
                actions: { type: 'failByCode', params: ({ event }) => event.output },
              },
              { target: 'CHECKED', actions: { type: 'takeCheckedArgs', params: ({ event }) => event.output } },
            ],
            onError: { target: '#toolCall.RECOVERING', actions: 'failAsExecution' },
          },
        },
        CHECKED: {
          always: [{ guard: 'needsApproval', target: '#toolCall.AWAITING_APPROVAL' }, { target: '#toolCall.RUNNING' }],
        },
      },
    },
    AWAITING_APPROVAL: {
      initial: 'ASKING',
      entry: 'startDeadline',
      exit: 'stopDeadline',
      on: {
        'approval.expired': { target: 'DENIED', actions: { type: 'deny', params: { kind: 'deadline' } } },
        'approval.refused': {
          target: 'DENIED',
          actions: { type: 'deny', params: ({ event }) => ({ kind: 'person', reason: event.reason }) },
        },
      },
      states: {
        ASKING: {
          on: {
            'approval.given': [
              { guard: 'givenWithEdits', target: '#toolCall.VALIDATING', actions: 'takeEdits' },
              { guard: 'givenForGood', target: 'REMEMBERING', actions: 'approve' },
              { target: '#toolCall.RUNNING', actions: 'approve' },
            ],
          },
          invoke: {
            id: 'askApproval',
            src: 'askApproval',
            input: ({ context }) => ({
              callId: context.request.callId,
              tool: context.spec?.name ?? '',
              args: context.args,
              reason: `The policy of '${context.spec?.name ?? ''}' is confirm.`,
            }),
            onDone: [
              {
                guard: { type: 'nobodyToAsk', params: ({ event }) => event.output },
                target: '#toolCall.DENIED',
                actions: { type: 'deny', params: { kind: 'no-callback' } },
              },
              {
                guard: { type: 'refused', params: ({ event }) => event.output },
                target: '#toolCall.DENIED',
                actions: { type: 'deny', params: { kind: 'person', reason: '' } },
              },
              {
                guard: { type: 'alwaysAllowed', params: ({ event }) => event.output },
                target: 'REMEMBERING',
                actions: 'approve',
              },
              { target: '#toolCall.RUNNING', actions: 'approve' },
            ],
            onError: {
              target: '#toolCall.DENIED',
              actions: {
                type: 'deny',
                params: ({ event }) => ({ kind: 'person', reason: `asking failed: ${leafErrorOf(event).message}` }),
              },
            },
          },
        },
        REMEMBERING: {
          invoke: {
            id: 'rememberPermission',
            src: 'rememberPermission',
            input: ({ context }) => ({ tool: context.spec?.name ?? '' }),
            onDone: '#toolCall.RUNNING',
            onError: '#toolCall.RUNNING',
          },
        },
      },
    },
    RUNNING: {
      invoke: {
        id: 'callTool',
        src: 'callTool',
        input: ({ context }) => ({
          callId: context.request.callId,
          tool: context.spec?.name ?? '',
          args: context.args,
          origin: context.spec?.origin ?? { kind: 'local' },
          effects: context.spec?.effects ?? 'once',
          timeoutMs: context.spec?.timeoutMs ?? 1,
          maxResultBytes: context.settings.maxResultBytes,
        }),
        onDone: [
          {
            guard: { type: 'toolReportsError', params: ({ event }) => event.output },
            target: 'RECOVERING',
            actions: { type: 'failAsReported', params: ({ event }) => event.output },
          },
          { target: 'SUCCEEDED', actions: { type: 'takeResult', params: ({ event }) => event.output } },
        ],
        onError: { target: 'RECOVERING', actions: 'failAsExecution' },
      },
    },
    RECOVERING: {
      initial: 'CHOOSING_STEP',
      states: {
        CHOOSING_STEP: { always: '#toolCall.FED_BACK' },
      },
    },
    SUCCEEDED: { type: 'final' },
    DENIED: { type: 'final' },
    FED_BACK: { type: 'final' },
  },
  output: ({ context }) => outcomeOf(context),
});

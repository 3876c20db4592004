/**
 * One call of one tool, from the name that the model wrote to exactly one outcome.
 *
 * I1 Order: lookup, loop verdict, deny, validate, confirm, run. A person is never asked about invalid arguments.
 *    RUNNING and DELEGATING are reached again past this order only by a call that had reached them with the very same
 *    arguments and may still run; whatever else is tried again stands at VALIDATING first.
 * I2 Nothing runs that is not registered, or whose arguments are incomplete.
 * I3 A denial is not an error: it ends in DENIED and never passes RECOVERING.
 * I4 It never ends in an error: every end has an output.
 */
import { withOutput } from '../contract/assign.ts';
import { NOTHING_SPENT } from '../contract/run-result.ts';
import { leafErrorOf } from '../../actors/leaf.ts';
import { asArguments } from './call-request.ts';
import { NO_PROGRESS } from './recovery-progress.ts';
import { toolCallParts } from './tool-call-parts.ts';
import { recovering } from './recovering.ts';
import { sourceOf } from '../../tools/server-tool.ts';
import { NEVER_RAN, askedBecause, toolNamed } from './tool-call-context.ts';
import { outcomeOf, taskForChild } from './tool-outcome.ts';
import { MOST_MICROSTEPS } from '../contract/agent-setup.ts';
import { shortLived } from '../contract/short-lived.ts';

const machine = toolCallParts.createMachine({
  id: 'toolCall',
  options: { maxIterations: MOST_MICROSTEPS },
  context: ({ input }) => ({
    ...input,
    ...toolNamed(input),
    args: asArguments(input.request.args),
    check: null,
    approved: false,
    error: null,
    denial: null,
    result: null,
    ran: NEVER_RAN,
    progress: NO_PROGRESS,
    gaveUp: null,
    spent: NOTHING_SPENT,
  }),
  initial: 'RESOLVING',
  on: { 'tools.changed': { actions: 'applyStricterPolicy' } },
  states: {
    RESOLVING: {
      always: [
        { guard: 'loopRefused', target: 'CHECKING_LOOP' },
        { guard: 'toolUnknown', target: 'RECOVERING', actions: 'failAsUnknown' },
        { guard: 'toolDisabled', target: 'DENIED', actions: { type: 'deny', params: { kind: 'disabled' } } },
        { target: 'CHECKING_LOOP' },
      ],
    },
    CHECKING_LOOP: {
      always: [
        { guard: 'loopRefused', target: 'DENIED', actions: { type: 'deny', params: { kind: 'loop' } } },
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
      entry: 'requireChecks',
      initial: 'CHECKING_SHAPE',
      states: {
        CHECKING_SHAPE: {
          entry: 'checkShape',
          always: [
            { guard: 'argumentsUnreadable', target: '#toolCall.RECOVERING', actions: 'failAsUnreadable' },
            { guard: 'argumentsInvalid', target: '#toolCall.RECOVERING', actions: 'failByShape' },
            { guard: 'checkedByCode', target: 'CHECKING_CODE' },
            { target: 'CHECKED' },
          ],
        },
        CHECKING_CODE: {
          invoke: {
            id: 'checkArgs',
            src: 'checkArgs',
            input: ({ context }) => ({
              callId: context.request.callId,
              tool: context.spec?.name ?? '',
              args: context.args,
              timeoutMs: context.spec?.timeoutMs ?? 1,
              agent: context.caller.agent,
            }),
            onDone: [
              { guard: withOutput('codeRejects'), target: '#toolCall.RECOVERING', actions: withOutput('failByCode') },
              { target: 'CHECKED', actions: withOutput('takeCheckedArgs') },
            ],
            onError: { target: '#toolCall.RECOVERING', actions: 'failAsExecution' },
          },
        },
        CHECKED: {
          always: [
            { guard: 'policyDenies', target: '#toolCall.RESOLVING' },
            { guard: 'needsApproval', target: '#toolCall.AWAITING_APPROVAL' },
            { guard: 'delegates', target: '#toolCall.DELEGATING' },
            { target: '#toolCall.RUNNING' },
          ],
        },
      },
    },
    AWAITING_APPROVAL: {
      initial: 'ASKING',
      entry: 'startDeadline',
      exit: 'stopDeadline',
      on: {
        'tools.changed': [
          { guard: 'policyTightened', target: 'RESOLVING', actions: 'applyStricterPolicy' },
          { actions: 'applyStricterPolicy' },
        ],
        'approval.expired': { target: 'DENIED', actions: { type: 'deny', params: { kind: 'deadline' } } },
        'approval.refused': {
          target: 'DENIED',
          actions: { type: 'deny', params: ({ event }) => ({ kind: 'person', reason: event.reason ?? '' }) },
        },
      },
      states: {
        ASKING: {
          on: {
            'approval.given': [
              { guard: 'alwaysApproved', target: 'REMEMBERING', actions: ['approve', 'takeEdits'] },
              { guard: 'approvedWithEdits', target: '#toolCall.VALIDATING', actions: ['approve', 'takeEdits'] },
              { target: 'APPROVED', actions: 'approve' },
            ],
          },
          invoke: {
            id: 'askApproval',
            src: 'askApproval',
            input: ({ context }) => ({
              callId: context.request.callId,
              tool: context.spec?.name ?? '',
              args: context.args,
              reason: askedBecause(context),
              source: context.spec === null ? {} : sourceOf(context.spec),
              agent: context.caller.agent,
            }),
            onDone: [
              {
                guard: withOutput('nobodyToAsk'),
                target: '#toolCall.DENIED',
                actions: { type: 'deny', params: { kind: 'no-callback' } },
              },
              {
                guard: withOutput('refused'),
                target: '#toolCall.DENIED',
                actions: { type: 'deny', params: { kind: 'person', reason: '' } },
              },
              { guard: withOutput('alwaysAllowed'), target: 'REMEMBERING', actions: 'approve' },
              { target: 'APPROVED', actions: 'approve' },
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
            input: ({ context }) => ({ tool: context.spec, agent: context.caller.agent }),
            onDone: 'APPROVED',
            onError: 'APPROVED',
          },
        },
        APPROVED: {
          always: [
            { guard: 'editsNeedChecking', target: '#toolCall.VALIDATING' },
            { guard: 'delegates', target: '#toolCall.DELEGATING' },
            { target: '#toolCall.RUNNING' },
          ],
        },
      },
    },
    RUNNING: {
      entry: 'countRun',
      on: {
        'tools.changed': [
          { guard: 'mustBeCheckedAgain', target: 'RESOLVING', actions: ['applyStricterPolicy', 'forgetStart'] },
          { actions: 'applyStricterPolicy' },
        ],
      },
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
          agent: context.caller.agent,
          ...(context.approvalReason === undefined ? {} : { approvalReason: context.approvalReason }),
        }),
        onDone: [
          { guard: withOutput('toolReportsError'), target: 'RECOVERING', actions: withOutput('failAsReported') },
          { target: 'SUCCEEDED', actions: withOutput('takeResult') },
        ],
        onError: { target: 'RECOVERING', actions: 'failAsExecution' },
      },
    },
    DELEGATING: {
      entry: 'countRun',
      exit: 'countStopped',
      on: {
        'tools.changed': [
          { guard: 'mustBeCheckedAgain', target: 'RESOLVING', actions: 'applyStricterPolicy' },
          { actions: ['applyStricterPolicy', 'forwardToChild'] },
        ],
      },
      invoke: {
        id: 'childAgent',
        src: 'childAgent',
        input: ({ context }) => taskForChild(context),
        onDone: [
          {
            guard: withOutput('childThrew'),
            target: 'THROWN',
            actions: [withOutput('countSpent'), withOutput('giveUpWithChild')],
          },
          {
            guard: withOutput('childEscalated'),
            target: 'ESCALATED',
            actions: [withOutput('countSpent'), withOutput('giveUpWithChild')],
          },
          {
            guard: withOutput('childFailed'),
            target: 'RECOVERING',
            actions: [withOutput('countSpent'), withOutput('failWithChild')],
          },
          { target: 'SUCCEEDED', actions: [withOutput('countSpent'), withOutput('takeChildResult')] },
        ],
        onError: { target: 'RECOVERING', actions: 'failAsExecution' },
      },
    },
    RECOVERING: recovering,
    SUCCEEDED: { type: 'final' },
    DENIED: { type: 'final' },
    FED_BACK: { type: 'final' },
    ESCALATED: { type: 'final' },
    THROWN: { type: 'final' },
  },
  output: ({ context }) => outcomeOf(context),
});

type Machine = typeof machine;
/** The machine's type by a name, so that the types of what invokes it can be read. */
export interface ToolCallMachine extends Machine {}

/** One call of one tool. It reads its tool out of the toolset that it is given and finds functions only through its leaves. */
export const toolCallMachine: ToolCallMachine = shortLived(machine);

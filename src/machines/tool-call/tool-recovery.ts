import { leafErrorOf } from '../../actors/leaf.ts';
import type { RunFixerInput, RunFixerOutput } from '../../actors/tool-call/run-fixer.ts';
import { isJsonObject } from '../../json/json.ts';
import { asWritten, parseToolCallArguments } from '../../parsing/calls/arguments.ts';
import { backoffMs } from '../../recovery/backoff.ts';
import { describeToolError, issueLines } from '../../tools/error-text.ts';
import type { Repaired, RepairTask } from '../../recovery/steps.ts';
import type { AgentInput } from '../contract/agent-setup.ts';
import { type CallRequest, boundedCall } from './call-request.ts';
import { budgetBelow, childInput } from './delegation.ts';
import { type RecoveryProgress, failed, stepIndex, timesTaken } from './recovery-progress.ts';
import { type AgentOutput, endingInWords } from '../contract/run-result.ts';
import type { ToolCallContext } from './tool-call-context.ts';

const MAX_ATTEMPTS_TOLD = 6;

/** Starts recovery from a call's failure. */
export function failureTakenUp({ progress, error, spec, caller, request }: ToolCallContext): RecoveryProgress {
  if (error === null) return progress;
  return failed(progress, spec?.recovery ?? caller.recovery, error, {
    arguments: rawText(request),
    error: describeToolError(error),
  });
}

/** The question to the code behind the current step; `steps` asks a slot's function what to do at all. */
export function fixerInput(context: ToolCallContext, ask: RunFixerInput['ask']): RunFixerInput {
  const { progress, spec, request, error, settings } = context;
  const known = error ?? { kind: 'unknown-tool', name: request.tool, suggestions: [] };
  return {
    ask,
    tool: spec?.name ?? request.tool,
    slot: progress.slot ?? 'executionError',
    index: stepIndex(progress),
    error: known,
    text: rawText(request),
    value: request.args,
    task: {
      tool: spec?.name ?? request.tool,
      description: spec?.description ?? '',
      schema: spec?.inputSchema ?? true,
      raw: rawText(request),
      issues: issueLines(known),
      attempts: progress.attempts.slice(-MAX_ATTEMPTS_TOLD),
    },
    timeoutMs: settings.fixMs,
    agent: context.caller.agent,
  };
}

const GUIDE =
  'The arguments of a tool call are wrong, and you mend them. Your answer is the corrected arguments as one JSON object and nothing else. Change what is wrong and keep everything else. If it cannot be done, call the tool "escalate"; if going on would do harm, call "throwException".';

/** What a repair agent is asked: the call that failed, and how to say what came of it. */
export function repairRequest(task: RepairTask): string {
  return `${GUIDE}\n\n${JSON.stringify(task, null, 2)}`;
}

/** What the repair agent for this call receives. */
export function inputForRepairer(context: ToolCallContext): AgentInput {
  const { progress, caller, request } = context;
  return childInput({
    setup: progress.repairer,
    task: repairRequest(fixerInput(context, 'fix-agent').task),
    agent: caller.agent,
    // No two repairs of a call may give their own calls the same ids.
    callId: `${request.callId}-r${progress.taken}`,
    budget: budgetBelow(context),
  });
}

/** What a repair agent came to: its answer is the new argument text, unless it handed the matter up or stopped the run. */
export function repairOf({ progress: { step } }: ToolCallContext, output: AgentOutput): RunFixerOutput<never> {
  const by = step?.kind === 'fix-agent' ? step.agent : '';
  return repairedBy(by, output);
}

/** The same for the agent of this name. If it failed, that is an escalation; if it stopped early, nothing is repaired. */
export function repairedBy(by: string, output: Omit<AgentOutput, 'output'>): Repaired & { readonly by?: string } {
  const escalation = output.nested?.escalation ?? null;
  if (output.reason === 'thrown') return { kind: 'throw', reason: output.error?.message ?? output.result };
  if (escalation !== null) return { kind: 'escalate', reason: escalation.reason, severity: escalation.severity, by };
  if (output.status === 'failed' && output.error?.code !== 'unusable-reply') {
    const reason = `the repair agent '${by}' failed: ${endingInWords(output)}`;
    return { kind: 'escalate', reason, severity: 'high', by };
  }
  const text = output.result.trim();
  return { kind: 'arguments', value: output.status === 'answered' && text !== '' ? text : null };
}

/** Replaces the arguments with repaired ones. They are validated again, and are not approved yet. */
export function repaired(context: ToolCallContext, output: RunFixerOutput): Partial<ToolCallContext> {
  if (output.kind !== 'arguments' || output.value === null) return {};
  return {
    request: boundedCall(withArguments(context, output.value), context.settings.maxArgumentBytes),
    approved: false,
    approvalReason: undefined,
    error: null,
    result: null,
  };
}

export function withArguments(of: Pick<ToolCallContext, 'request' | 'spec'>, value: string | object): CallRequest {
  const { request, spec } = of;
  if (typeof value !== 'string') return isJsonObject(value) ? { ...request, args: value, unreadable: null } : request;
  const read = parseToolCallArguments(value);
  if (!read.ok) return { ...request, args: null, unreadable: { raw: value, reason: read.reason, truncated: false } };
  const unreadable = read.complete ? null : { raw: value, reason: 'they were cut off', truncated: true };
  // A fixer that returns null has found nothing; only in a model's own call null means no arguments.
  return {
    ...request,
    args: value.trim() === 'null' ? null : asWritten(read.value, spec?.inputSchema ?? true).value,
    unreadable,
  };
}

/** Stops as the current step says: it escalates, or ends the run. */
export function givenUp({ progress: { step }, error }: ToolCallContext): ToolCallContext['gaveUp'] {
  const text = error === null ? 'the call failed' : describeToolError(error);
  if (step?.kind === 'escalate') return { kind: 'escalated', reason: step.reason ?? text, severity: step.severity };
  return { kind: 'thrown', reason: step?.kind === 'throw' ? (step.reason ?? text) : text, severity: 'critical' };
}

/** Stops as a repair agent said. */
export function givenUpAsTold({ gaveUp }: ToolCallContext, output: RunFixerOutput): ToolCallContext['gaveUp'] {
  if (output.kind === 'escalate') {
    const { reason, severity, by } = output;
    return { kind: 'escalated', reason, severity, ...(by === undefined ? {} : { by }) };
  }
  return output.kind === 'throw' ? { kind: 'thrown', reason: output.reason, severity: 'critical' } : gaveUp;
}

/** Stops as a child did: it ended the whole run, or escalated. */
export function givenUpWithChild(output: AgentOutput): ToolCallContext['gaveUp'] {
  const error = output.nested?.escalation ?? null;
  return error === null
    ? { kind: 'thrown', reason: output.error?.message ?? output.result, severity: 'critical' }
    : { kind: 'escalated', reason: error.reason, severity: error.severity, handedUp: error };
}

/** The wait before the call is repeated: the step's backoff, the same for the same seed, or longer if the error asks for it. */
export function pauseOf({ progress, settings, request, error }: ToolCallContext): number {
  const { step } = progress;
  const asked = error?.kind === 'execution' ? (error.retryAfterMs ?? 0) : 0;
  if (step?.kind !== 'retry' || step.backoff === null) return asked;
  return Math.max(asked, backoffMs(step.backoff, timesTaken(progress), settings.jitterSeed + numberOf(request.callId)));
}

function numberOf(callId: string): number {
  return Number(/\d+$/.exec(callId)?.[0] ?? 0);
}

/** The arguments as text: as the model wrote them where they could not be read. */
function rawText({ unreadable, args }: CallRequest): string {
  return unreadable === null ? JSON.stringify(args) : unreadable.raw;
}

const OF_ON_ERROR: ReadonlySet<string> = new Set(['chooseSteps', 'fix', 'sanitize', 'repairAgent', 'substitute']);

/** What is said of the author's code when it failed beside a call: the call itself continues without it. */
export function troubleOfCode(event: { readonly type: string }, tool: string): string | null {
  const what = event.type.replace('xstate.error.actor.', '');
  if (what === 'rememberPermission')
    return `"Always allow" for '${tool}' could not be stored, so you will be asked again: ${leafErrorOf(event).message}`;
  return OF_ON_ERROR.has(what) ? `onError of '${tool}' failed (${what}): ${leafErrorOf(event).message}` : null;
}

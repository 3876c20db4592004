import { NOTHING_SPENT } from '../contract/run-result.ts';
import type { CheckArgsOutput } from '../../actors/tool-call/check-args.ts';
import type { LeafError } from '../../actors/journal.ts';
import { checkArguments } from '../../parsing/calls/arguments.ts';
import type { ToolError } from '../../json/errors.ts';
import { type JsonObject, type JsonSchema, isJsonObject } from '../../json/json.ts';
import { describeDenial, toErrorResult } from '../../tools/error-text.ts';
import { type ToolResult, isErrorResult } from '../../tools/result.ts';
import { type CallOutcome, asArguments } from './call-request.ts';
import type { LoopVerdict } from './loop-detection.ts';
import type { AgentInput } from '../contract/agent-setup.ts';
import { budgetBelow, childInput } from './delegation.ts';
import type { GaveUp, ToolCallContext } from './tool-call-context.ts';

const NUDGE =
  'You have made this same call several times. Its result will not change: use what you have, try something else, or give your answer.';

/** Failures after which it is unknown whether the call took effect. */
const OUTCOME_UNKNOWN: ReadonlySet<string> = new Set(['timeout', 'unknown-outcome']);

/** Checks the arguments against the tool's JSON Schema and takes over what the check coerced. */
export function shapeOf(context: ToolCallContext): Pick<ToolCallContext, 'check' | 'args'> {
  if (context.spec === null || context.request.unreadable !== null) return { check: null, args: context.args };
  const check = checkArguments(context.request.args, context.spec.inputSchema);
  return { check, args: check.ok ? check.value : asArguments(context.request.args) };
}

/** Arguments that could not be read, or were cut off. */
export function unreadableError({ request, spec }: ToolCallContext): ToolError {
  return {
    kind: 'invalid-args',
    tool: spec?.name ?? request.tool,
    rawArgs: request.unreadable?.raw ?? '',
    parseError: request.unreadable?.reason ?? 'they could not be read',
    truncated: request.unreadable?.truncated ?? false,
    ...schemaOf(spec?.inputSchema),
  };
}

/** The objections of the tool's own check to the arguments. */
export function failedCheck({ args, spec }: ToolCallContext, output: CheckArgsOutput): ToolError | null {
  if (output.ok) return null;
  const tool = spec?.name ?? '';
  return output.own
    ? { kind: 'deserialization', tool, rawValue: args, issues: output.issues, own: true }
    : { kind: 'deserialization', tool, rawValue: args, issues: output.issues, ...schemaOf(spec?.inputSchema) };
}

/** The tool threw, took too long, or returned something that is not JSON. */
export function executionError({ args, spec, request }: ToolCallContext, error: LeafError): ToolError {
  const data = isJsonObject(error.data) ? error.data : {};
  const code = typeof data.causeCode === 'string' ? data.causeCode : error.code;
  const unknown = (OUTCOME_UNKNOWN.has(error.code) || code === 'unknown-outcome') && spec?.effects !== 'none';
  return {
    kind: 'execution',
    tool: spec?.name ?? request.tool,
    args,
    cause: { name: typeof data.name === 'string' ? data.name : 'Error', message: error.message, code },
    timedOut: error.code === 'timeout',
    ...(unknown ? { outcomeUnknown: true } : {}),
    ...waitAskedFor(data),
  };
}

/** The tool ran and reported its own failure. */
export function reportedError({ args, spec, request }: ToolCallContext, result: ToolResult): ToolError {
  const { error: message = 'the tool reported an error without a message' } = result;
  return {
    kind: 'execution',
    tool: spec?.name ?? request.tool,
    args,
    cause: { name: 'ToolResultError', message },
    timedOut: false,
    ...waitAskedFor(result),
  };
}

/** What the agent receives that this call delegates a task to. */
export function taskForChild(context: ToolCallContext): AgentInput {
  const { args, spec, request, caller, ran } = context;
  return childInput({
    setup: caller.children.find(({ tool }) => tool === spec?.name),
    task: typeof args.task === 'string' ? args.task : '',
    agent: caller.agent,
    // A second try must not give its calls the ids of the first.
    callId: ran.times <= 1 ? request.callId : `${request.callId}-${ran.times - 1}`,
    budget: budgetBelow(context),
  });
}

/** The one outcome of a call that has come to its end. A name that was repaired is labelled in its result. */
export function outcomeOf(context: ToolCallContext): CallOutcome {
  const outcome = endOf(context);
  if (!context.renamed) return outcome;
  const repaired = `There is no tool '${context.request.tool}': the name was repaired to '${outcome.tool}'. Use that name.`;
  return { ...outcome, result: { ...outcome.result, repaired } };
}

function endOf(context: ToolCallContext): CallOutcome {
  const tool = context.spec?.name ?? context.request.tool;
  const end = {
    callId: context.request.callId,
    tool,
    args: context.check?.ok === true ? context.args : context.request.args,
    ran: context.ran.times > 0,
    ...(context.spent === NOTHING_SPENT ? {} : { spent: context.spent }),
  };
  if (context.denial !== null) {
    const result: ToolResult = { status: 'error', error: describeDenial(tool, context.denial), denied: true };
    return { ...end, kind: 'tool.denied', denial: context.denial, result };
  }
  if (context.gaveUp !== null) return gaveUpOutcome(context, end, context.gaveUp);
  if (context.error !== null) {
    const own = context.result !== null && isErrorResult(context.result) ? context.result : null;
    return {
      ...end,
      kind: 'tool.failed',
      error: context.error,
      result: nudged(toErrorResult(context.error, own, context.settings.texts), context.verdict),
    };
  }
  return { ...end, kind: 'tool.succeeded', result: nudged(context.result ?? { status: 'success' }, context.verdict) };
}

/** A wait that the error of a tool asks for, as given by our own leaf or the tool's result. */
function waitAskedFor({ retryAfterMs, retryAfter }: JsonObject | ToolResult): { readonly retryAfterMs?: number } {
  if (isWait(retryAfterMs)) return { retryAfterMs };
  return isWait(retryAfter) ? { retryAfterMs: retryAfter * 1000 } : {};
}

function isWait(value: unknown): value is number {
  return typeof value === 'number' && value >= 0;
}

function gaveUpOutcome(
  { error, progress }: ToolCallContext,
  end: Pick<CallOutcome, 'callId' | 'tool' | 'args' | 'ran' | 'spent'>,
  { kind, reason, severity, handedUp, by }: GaveUp,
): CallOutcome {
  const escalation: ToolError = handedUp ?? {
    kind: 'escalation',
    source: by ?? end.tool,
    reason,
    severity,
    ...(error === null ? {} : { originalError: error }),
    attempts: progress.attempts.length,
  };
  const result = toErrorResult(escalation, null);
  return kind === 'escalated'
    ? { ...end, kind: 'tool.escalated', error: escalation, result }
    : { ...end, kind: 'tool.thrown', reason, result };
}

function nudged(result: ToolResult, verdict: LoopVerdict): ToolResult {
  if (verdict !== 'nudge') return result;
  return { ...result, instruction: result.instruction === undefined ? NUDGE : `${result.instruction} ${NUDGE}` };
}

function schemaOf(schema: JsonSchema | undefined): { readonly expectedSchema?: JsonSchema } {
  return schema === undefined ? {} : { expectedSchema: schema };
}

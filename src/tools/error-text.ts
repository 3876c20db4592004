import type { ExecutionError, Issue, ToolError } from '../json/errors.ts';
import type { Json, JsonSchema } from '../json/json.ts';
import type { ToolResult } from './result.ts';

const MAX_ISSUES = 10;
const MAX_SCHEMA_CHARS = 2000;
const MAX_MESSAGE_CHARS = 1000;

/** The one sentence about a tool error that people and models read. Never a stack. */
export function describeToolError(error: ToolError): string {
  switch (error.kind) {
    case 'invalid-args':
      return `Invalid arguments for '${error.tool ?? 'unknown'}': ${error.truncated ? 'they were cut off' : error.parseError}`;
    case 'deserialization':
      return error.own === true
        ? `Argument validation failed: ${issueText(error.issues)}`
        : `Invalid arguments for '${error.tool ?? 'unknown'}': ${issueText(error.issues)}`;
    case 'execution':
      return `Tool execution failed: ${short(error.cause.message)}`;
    case 'unknown-tool':
      return `Tool '${short(error.name)}' not found`;
    case 'escalation':
      return `${error.source} could not go on (${error.severity}): ${short(error.reason)}`;
  }
}

/** The result that the model gets for a call that failed and was not repaired: what is wrong, where, and what fits. */
export function toErrorResult(error: ToolError, own: ToolResult | null, edition?: 2 | 3): ToolResult {
  if (own !== null) return { code: error.kind, ...own };
  const base = { status: 'error' as const, error: describeToolError(error), code: error.kind };
  switch (error.kind) {
    case 'invalid-args':
      return {
        ...base,
        suggestion: error.truncated
          ? 'The call was cut off before it was complete and did not run. Send it again, whole and shorter.'
          : 'Send the arguments again as one JSON object.',
        ...schemaMember(error.expectedSchema),
      };
    case 'deserialization':
      return {
        ...base,
        issues: error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => ({ path, message })),
        suggestion: 'Correct the arguments and call the tool again.',
        ...schemaMember(error.expectedSchema),
      };
    case 'execution':
      return { ...base, suggestion: executionHint(error, edition) };
    case 'unknown-tool':
      return error.suggestions.length === 0
        ? { ...base, suggestion: 'Call one of the tools that you were given, by its exact name.' }
        : { ...base, suggestion: `Did you mean: ${error.suggestions.join(', ')}?` };
    case 'escalation':
      return {
        ...base,
        suggestion: 'Do not make this call again. Go on without it, or say that it could not be done.',
      };
  }
}

/** What a model receives about a call that may or may not have taken effect. */
export function mayHaveHappened(tool: string): string {
  return `Nobody knows whether the call of '${tool}' took effect: it may have. Do not repeat it, and do not do the same in another way or with another tool, before you have looked how things stand.`;
}

function executionHint({ tool, outcomeUnknown, retryAfterMs }: ExecutionError, edition: 2 | 3 | undefined): string {
  if (outcomeUnknown === true && edition !== undefined) return mayHaveHappened(tool ?? 'unknown');
  if (outcomeUnknown === true)
    return 'Nobody knows whether the call took effect: look before you repeat it, and assume neither.';
  if (retryAfterMs !== undefined && retryAfterMs > 0)
    return `It cannot be called again for ${Math.ceil(retryAfterMs / 1000)} s. Go on without it, or say that it could not be done.`;
  return 'Change the arguments, use another tool, or say that it could not be done.';
}

/** One thing that is wrong with a value. */
export function issueLine({ path, message }: Issue): string {
  return path === '' ? message : `${path}: ${message}`;
}

function issueText(issues: readonly Issue[]): string {
  const lines = issues.slice(0, MAX_ISSUES).map(issueLine);
  return short(
    [...lines, ...(issues.length > MAX_ISSUES ? [`and ${issues.length - MAX_ISSUES} more`] : [])].join('; '),
  );
}

/** Everything that is wrong, one line each. */
export function issueLines(error: ToolError): readonly string[] {
  if (error.kind !== 'deserialization') return [describeToolError(error)];
  return error.issues.slice(0, MAX_ISSUES).map(issueLine);
}

function schemaMember(schema: JsonSchema | undefined): { readonly schema?: Json } {
  if (schema === undefined) return {};
  return JSON.stringify(schema).length <= MAX_SCHEMA_CHARS ? { schema } : {};
}

function short(text: string): string {
  return text.length <= MAX_MESSAGE_CHARS ? text : `${text.slice(0, MAX_MESSAGE_CHARS)} …`;
}

/** Why a call was not run although nothing is wrong with it. The model receives it as a denial, never as an error. */
export type Denial =
  | { readonly kind: 'policy' }
  | { readonly kind: 'disabled' }
  | { readonly kind: 'no-callback' }
  | { readonly kind: 'person'; readonly reason: string }
  | { readonly kind: 'deadline' }
  | { readonly kind: 'loop' }
  | { readonly kind: 'budget' };

/** The sentence that the model gets. */
export function describeDenial(tool: string, denial: Denial): string {
  switch (denial.kind) {
    case 'policy':
      return `Tool '${tool}' is denied by policy`;
    case 'disabled':
      return `Tool '${tool}' is disabled`;
    case 'no-callback':
      return `Tool '${tool}' requires confirmation but no callback is set`;
    case 'person':
      return `Tool '${tool}' execution denied by user${denial.reason === '' ? '' : `: ${denial.reason}`}`;
    case 'deadline':
      return `Tool '${tool}' execution denied by user: nobody answered in time`;
    case 'loop':
      return `Tool '${tool}' was not run: this call has been repeated too often`;
    case 'budget':
      return `Tool '${tool}' was not run: the run has used up its tool calls`;
  }
}

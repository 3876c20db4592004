import type { Issue } from '../../json/errors.ts';
import { type JsonObject, type JsonSchema, isJsonObject } from '../../json/json.ts';
import { issuesOf } from '../../parsing/schema/issues-of.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { McpOddity } from '../link/link.ts';

interface Output {
  readonly tool: string;
  /** What the server answered. */
  readonly raw: JsonObject;
  readonly outputSchema: JsonSchema;
  readonly onOddity: (oddity: McpOddity) => void;
}

/**
 * Holds the structured content of a result against what the tool has promised. What breaks the promise is kept, for the
 * tool has run: the result becomes `partial`, its message says what is wrong, and it is reported.
 */
export function checkOutput(result: ToolResult, { tool, raw, outputSchema, onOddity }: Output): ToolResult {
  if (result.status !== 'success') return result;
  const issues = brokenPromise(raw, outputSchema);
  if (issues === null) return result;
  const message = `The server broke its promise about the output of '${tool}' (${issues}). Take the data with care.`;
  onOddity({ kind: 'bad-result', message });
  return { ...result, status: 'partial', message };
}

function brokenPromise({ structuredContent }: JsonObject, schema: JsonSchema): string | null {
  if (structuredContent === undefined) return 'it has an output schema and gave no structured content';
  if (!isJsonObject(structuredContent)) return 'its structured content is no object';
  const issues = issuesOf(structuredContent, schema);
  return issues.length === 0 ? null : issues.slice(0, MOST_ISSUES).map(textOf).join('; ');
}

const MOST_ISSUES = 3;

function textOf({ path, message }: Issue): string {
  return path === '' ? message : `${path}: ${message}`;
}

import { checkArguments } from '../../parsing/calls/arguments.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import type { McpElicitationAnswer } from './answers.ts';
import { formatProblem } from '../../parsing/schema/check-bounds.ts';

type Checked =
  | { readonly ok: true; readonly answer: McpElicitationAnswer }
  | { readonly ok: false; readonly problem: string };

/**
 * Holds a person's answer against the schema that the server asked with. Text that stands for a number becomes one, and
 * missing values get the schema's defaults; a value that was not asked for is a mistake. Never throws.
 */
export function checkElicited(answer: unknown, schema: JsonObject): Checked {
  if (!isRecord(answer)) return { ok: false, problem: 'an answer is { action } or { action: "accept", content }' };
  const { action, content } = answer;
  if (action === 'decline' || action === 'cancel') return { ok: true, answer: { action } };
  if (action !== 'accept') return { ok: false, problem: `there is no action ${JSON.stringify(action)}` };
  return checkContent(content ?? {}, schema);
}

function checkContent(content: unknown, schema: JsonObject): Checked {
  if (!isJsonObject(content)) return { ok: false, problem: 'its content is no object' };
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const checked = checkArguments(content, { additionalProperties: false, ...schema });
  if (!checked.ok) {
    const { error } = checked;
    const issues = error.kind === 'deserialization' ? error.issues : [{ path: '', message: error.parseError }];
    return { ok: false, problem: issues.map(({ path, message }) => `${path.slice(1)}: ${message}`).join('; ') };
  }
  for (const [name, value] of Object.entries(checked.value)) {
    const problem = formatProblem(value, properties[name]);
    if (problem !== null) return { ok: false, problem: `${name}: ${problem}` };
  }
  return { ok: true, answer: { action: 'accept', content: checked.value } };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import type { ModelRequest, ModelTool } from '../../actors/model.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import { sentName } from '../../tools/lookup.ts';
import { encodeMessages } from './encode-messages.ts';

/** A request ready to be sent. */
export interface EncodedRequest {
  readonly body: string;
  /** The optional fields in it: those that the server may refuse and do without. */
  readonly optional: readonly string[];
  readonly withTools: boolean;
}

/** What a request's fields depend on beside the request. */
export interface EncodeOptions {
  readonly model: string;
  /** Top-level fields that the server refused. */
  readonly without: ReadonlySet<string>;
  /** OpenAI's own servers call the limit `max_completion_tokens`. */
  readonly isOpenAI: boolean;
  readonly extra: JsonObject | undefined;
}

const written = new WeakMap<ModelTool, string>();

/** Writes a request as a Chat Completions body, leaving out what the server has refused before. */
export function encodeRequest(request: ModelRequest, options: EncodeOptions): EncodedRequest {
  const tools = request.toolCalling === 'native' ? (request.tools ?? []) : [];
  const fields: Record<string, Json> = { ...optionalFields(request, tools.length > 0, options), ...options.extra };
  for (const reserved of ['model', 'messages', 'tools', ...options.without]) delete fields[reserved];

  const parts = [`"model":${JSON.stringify(options.model)}`, `"messages":${encodeMessages(request.messages)}`];
  if (tools.length > 0) parts.push(`"tools":[${tools.map(encodeTool).join(',')}]`);
  for (const [name, value] of Object.entries(fields)) parts.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return { body: `{${parts.join(',')}}`, optional: Object.keys(fields), withTools: tools.length > 0 };
}

function optionalFields(request: ModelRequest, withTools: boolean, options: EncodeOptions): Record<string, Json> {
  const fields: Record<string, Json> = {};
  if (request.stream) {
    fields['stream'] = true;
    if (!options.without.has('stream')) fields['stream_options'] = { include_usage: true };
  }
  if (request.temperature !== undefined) fields['temperature'] = request.temperature;
  if (request.maxTokens !== undefined) fields[limitName(options)] = request.maxTokens;
  if (withTools && request.parallelToolCalls !== undefined) fields['parallel_tool_calls'] = request.parallelToolCalls;
  if (request.toolCalling === 'json' && request.responseSchema !== undefined) {
    const schema = { name: 'reply', schema: request.responseSchema };
    fields['response_format'] = { type: 'json_schema', json_schema: schema };
  }
  return fields;
}

/** The two names of the same limit: the server's usual one first, the other where that one was refused. */
function limitName({ isOpenAI, without }: EncodeOptions): string {
  const [usual, other] = isOpenAI
    ? (['max_completion_tokens', 'max_tokens'] as const)
    : (['max_tokens', 'max_completion_tokens'] as const);
  return without.has(usual) && !without.has(other) ? other : usual;
}

function encodeTool(tool: ModelTool): string {
  const known = written.get(tool);
  if (known !== undefined) return known;
  const { description, inputSchema } = tool;
  const name = sentName(tool.name);
  const text = JSON.stringify({ type: 'function', function: { name, description, parameters: inputSchema } });
  written.set(tool, text);
  return text;
}

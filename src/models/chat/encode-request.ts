import type { ModelRequest, ModelTool, Message, MessageToolCall, Part } from '../../actors/model.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { sentName } from '../../tools/lookup.ts';

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

interface Written extends Pick<Message, 'content' | 'toolCalls'> {
  readonly text: string;
}

/** Messages are immutable, so each is writtenMessages once however often it is sent: a long history costs little per turn. */
const writtenMessages = new WeakMap<Message, Written>();

/** The messages of a request as the JSON list that Chat Completions takes. */
export function encodeMessages(messages: readonly Message[]): string {
  return `[${messages.map(encodeMessage).join(',')}]`;
}

function encodeMessage(message: Message): string {
  const { content, toolCalls } = message;
  const known = writtenMessages.get(message);
  // A caller in plain JavaScript may have changed it all the same.
  if (known !== undefined && known.content === content && known.toolCalls === toolCalls) return known.text;
  const text = JSON.stringify(wireMessage(message));
  writtenMessages.set(message, toolCalls === undefined ? { content, text } : { content, toolCalls, text });
  return text;
}

function wireMessage(message: Message): Json {
  const content = typeof message.content === 'string' ? message.content : message.content.map(wirePart);
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId ?? '', content };
  if (message.role !== 'assistant' || message.toolCalls === undefined || message.toolCalls.length === 0) {
    return { role: message.role, content };
  }
  return { role: 'assistant', content: content === '' ? null : content, tool_calls: message.toolCalls.map(wireCall) };
}

function wirePart(part: Part): Json {
  return part.type === 'text' ? { type: 'text', text: part.text } : { type: 'image_url', image_url: { url: part.url } };
}

function wireCall(call: MessageToolCall): Json {
  return {
    id: call.id,
    type: 'function',
    function: { name: sentName(call.name), arguments: objectText(call.arguments) },
  };
}

/**
 * Several servers answer 500 to every later request when one call in the history has arguments that are no JSON object.
 * Such arguments are shown to the model as they were, wrapped.
 */
function objectText(text: string): string {
  if (text.trim() === '') return '{}';
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return text;
  } catch {
    // Wrapped below.
  }
  return JSON.stringify({ unreadable_arguments: text });
}

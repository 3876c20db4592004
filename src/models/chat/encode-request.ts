import type { ModelRequest, ModelTool, Message, MessageToolCall, Part } from '../../actors/model.ts';
import { type Json, type JsonObject, isJsonObject, parsedText } from '../../json/json.ts';
import { sentDescription, sentName } from '../../tools/lookup.ts';
import { sentSchema, strictForm } from './strict-schema.ts';
import { calledTools, inStrictOrder } from './strict-order.ts';
import { NO_REASONING, type StateSending, wireState } from './returned-state.ts';

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
  /** What the model gets back from its earlier replies. */
  readonly state: StateSending;
}

/** Writes a request as a Chat Completions body, leaving out what the server has refused before. */
export function encodeRequest(request: ModelRequest, options: EncodeOptions): EncodedRequest {
  const offered = request.toolCalling === 'native' ? (request.tools ?? []) : [];
  const tools = offered.length === 0 && options.state.isStrict ? calledTools(request) : offered;
  const given = { ...optionalFields(request, offered.length > 0, options), ...options.extra };
  const fields = Object.entries(given).filter(([name]) => !RESERVED.has(name) && !options.without.has(name));

  const messages = options.state.isStrict ? inStrictOrder(request.messages) : request.messages;
  const conversation = encodeConversation(messages, options.state);
  const start = `{"model":${JSON.stringify(options.model)},"messages":[${conversation.system}`;
  let end = ']';
  const isCut = options.without.has(LONG_DESCRIPTIONS);
  if (tools.length > 0) end += `,"tools":${encodeTools(tools, isCut ? cutToolTexts : toolTexts)}`;
  for (const [name, value] of fields) end += `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
  const body = `${start}${conversation.rest}${end}}`;
  // A part of the body, not a separate text: the conversation is in memory once.
  conversation.remember(body.slice(start.length, start.length + conversation.rest.length));
  const optional = fields.map(([name]) => name);
  if (!isCut && tools.some(({ description }) => description.length > MOST_DESCRIBED)) optional.push(LONG_DESCRIPTIONS);
  return { body, optional, withTools: offered.length > 0 };
}

const RESERVED: ReadonlySet<string> = new Set(['model', 'messages', 'tools']);

function optionalFields(request: ModelRequest, withTools: boolean, options: EncodeOptions): Record<string, Json> {
  const fields: Record<string, Json> = {};
  if (request.stream) {
    fields['stream'] = true;
    if (!options.without.has('stream')) fields['stream_options'] = { include_usage: true };
  }
  if (request.temperature !== undefined) fields['temperature'] = request.temperature;
  if (request.maxTokens !== undefined) fields[limitName(options)] = request.maxTokens;
  if (withTools && request.parallelToolCalls !== undefined) fields['parallel_tool_calls'] = request.parallelToolCalls;
  if (request.responseSchema !== undefined) fields['response_format'] = responseFormat(request.responseSchema, request);
  return fields;
}

/** A schema that has a strict form is sent in it; any other is a hint. */
function responseFormat(schema: JsonObject, { strictSchema = false }: ModelRequest): JsonObject {
  const strict = strictSchema ? strictForm(schema) : null;
  const sent = strict === null ? { name: 'reply', schema } : { name: 'reply', strict: true, schema: strict };
  return { type: 'json_schema', json_schema: sent };
}

/** The two names of the same limit: the server's usual one first, the other where that one was refused. */
function limitName({ isOpenAI, without }: EncodeOptions): string {
  const [usual, other] = isOpenAI
    ? (['max_completion_tokens', 'max_tokens'] as const)
    : (['max_tokens', 'max_completion_tokens'] as const);
  return without.has(usual) && !without.has(other) ? other : usual;
}

/** In the place of a field's name: what tools say beyond the first characters that every server takes. */
export const LONG_DESCRIPTIONS = 'tools.description';
export const MOST_DESCRIBED = 1024;

const toolTexts = new WeakMap<readonly ModelTool[], string>();
const cutToolTexts: typeof toolTexts = new WeakMap();

/** Tools that cannot change are written once. */
function encodeTools(tools: readonly ModelTool[], texts: typeof toolTexts): string {
  const known = texts.get(tools);
  if (known !== undefined) return known;
  const text = JSON.stringify(
    tools.map((tool) => {
      const said = sentDescription(tool);
      const description = texts === cutToolTexts ? said.slice(0, MOST_DESCRIBED).toWellFormed() : said;
      return {
        type: 'function',
        function: { name: sentName(tool.name), description, parameters: sentSchema(tool.inputSchema) },
      };
    }),
  );
  if (Object.isFrozen(tools) && tools.every((tool) => Object.isFrozen(tool))) texts.set(tools, text);
  return text;
}

/** What was sent of a conversation: messages that cannot change, the system prompt aside, and their JSON text. */
interface SentConversation {
  readonly messages: readonly Message[];
  /** Where they begin in the list. */
  readonly from: number;
  /** The model it was written for: what a model needs back goes to no other. */
  readonly state: StateSending;
  readonly text: string;
}

/**
 * Conversations by the last message of them that was sent: one that only grew is continued from there, so a turn costs
 * only its new messages. They are held weakly: an idle conversation keeps no text, and a dropped one is written again.
 */
const sentConversations = new WeakMap<Message, WeakRef<SentConversation>>();

/** The items of the JSON list of messages. The system prompt stands apart, for it may change from turn to turn. */
function encodeConversation(messages: readonly Message[], state: StateSending) {
  const [first] = messages;
  const from = first?.role === 'system' ? 1 : 0;
  const isFixed = Object.isFrozen(messages);
  const known = isFixed ? takeSent(messages, from, state) : undefined;
  const fresh = messages.slice(known?.end ?? from);
  const last = messages.at(-1);
  const separator = from === 1 && messages.length > 1 ? ',' : '';
  let rest = known?.text ?? '';
  for (const message of fresh) rest += `${rest === '' ? '' : ','}${encodeMessage(message, state)}`;
  return {
    // An empty system prompt is refused by some.
    system: first?.role !== 'system' || first.content === '' ? '' : encodeMessage(first, state) + separator,
    rest,
    remember(text: string) {
      if (!isFixed || last === undefined || fresh.some((message) => !Object.isFrozen(message))) return;
      sentConversations.set(last, new WeakRef({ messages, from, state, text }));
    },
  };
}

/** The longest beginning of the list that was sent before, as its text and where it ends. It is forgotten under its old end. */
function takeSent(messages: readonly Message[], from: number, state: StateSending) {
  for (let end = messages.length; end > from; end -= 1) {
    const last = messages[end - 1];
    const sent = last && sentConversations.get(last)?.deref();
    if (last === undefined || !sent || !isSame(sent.state, state) || !isBeginning(sent, messages, from, end)) continue;
    if (end < messages.length) sentConversations.delete(last);
    return { text: sent.text, end };
  }
  return undefined;
}

function isSame(one: StateSending, other: StateSending): boolean {
  return (['id', 'reasoning', 'fills', 'isStrict'] as const).every((name) => one[name] === other[name]);
}

function isBeginning(sent: SentConversation, messages: readonly Message[], from: number, end: number): boolean {
  if (sent.messages.length - sent.from !== end - from) return false;
  for (let at = from; at < end; at += 1) if (sent.messages[at - from + sent.from] !== messages[at]) return false;
  return true;
}

function encodeMessage(message: Message, state: StateSending): string {
  return JSON.stringify(wireMessage(message, state));
}

// Servers refuse half a character, which cutting a text leaves: `toWellFormed` puts U+FFFD in its place.

function wireMessage(message: Message, state: StateSending): Json {
  const { content: said } = message;
  const content = typeof said === 'string' ? said.toWellFormed() : said.map(wirePart);
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId ?? '', content };
  if (message.role !== 'assistant' || message.toolCalls === undefined || message.toolCalls.length === 0) {
    // DeepSeek asks for it in all that its model is to have said.
    return { role: message.role, content, ...(message.role === 'assistant' && state.fills ? NO_REASONING : {}) };
  }
  const kept = wireState(message, state);
  const tool_calls = message.toolCalls.map((call, index) => ({ ...wireCall(call), ...kept.calls[index] }));
  // Claude's servers refuse a text of white space alone, which other models write before a call.
  const isBlank = typeof content === 'string' && content.trim() === '';
  const none = state.isStrict ? '' : null;
  return { role: 'assistant', content: isBlank ? none : content, ...kept.message, tool_calls };
}

/** The protocol has a special part for audio, which takes the two formats below as bare base64. */
const AUDIO = /^data:audio\/(?:(mpeg|mp3)|(?:x-|vnd\.)?wave?)[^,]*;base64,(.*)$/s;

function wirePart(part: Part): Json {
  if (part.type === 'text') return { type: 'text', text: part.text.toWellFormed() };
  const { url } = part;
  if (part.type === 'image') return { type: 'image_url', image_url: { url } };
  const [, mp3, data] = AUDIO.exec(url) ?? [];
  if (data !== undefined)
    return { type: 'input_audio', input_audio: { data, format: mp3 === undefined ? 'wav' : 'mp3' } };
  return { type: 'file', file: { filename: part.filename ?? 'file', file_data: url } };
}

function wireCall(call: MessageToolCall): JsonObject {
  return {
    id: call.id,
    type: 'function',
    function: { name: sentName(call.name), arguments: objectText(call.arguments) },
  };
}

/**
 * Several servers answer 500 to every later request when one call in the history has arguments that are not a JSON
 * object. Such arguments are shown to the model as they were, wrapped.
 */
function objectText(text: string): string {
  if (text.trim() === '') return '{}';
  return isJsonObject(parsedText(text)) ? text : JSON.stringify({ unreadable_arguments: text });
}

import type { Message, MessageToolCall, ModelRequest, ModelTool, Part } from '../../actors/model.ts';
import { isJsonObject, type JsonObject, parsedText } from '../../json/json.ts';
import { sentDescription, sentName } from '../../tools/lookup.ts';
import { calledTools, inStrictOrder } from '../chat/strict-order.ts';
import { sentSchema, strictForm } from '../chat/strict-schema.ts';
import {
  type AiSdkCall,
  type AiSdkLanguageModel,
  type AiSdkSettings,
  type KeptPart,
  keptParts,
} from './language-model.ts';

/** How a request is written for one model. */
export interface CallTarget {
  /** The model's name in {@link Message.providerState}: what other models need back is left out. */
  readonly id: string;
  /** The model takes no other order of messages. */
  readonly strictOrder: boolean;
  /** The model takes no call in the conversation without its tool. */
  readonly callsNeedTools: boolean;
  readonly version: AiSdkLanguageModel['specificationVersion'];
  readonly settings: AiSdkSettings;
}

/** Writes a request as a call of the AI SDK's provider specification. */
export function encodeCall(request: ModelRequest, target: CallTarget, abortSignal: AbortSignal): AiSdkCall {
  const offered = request.toolCalling === 'native' ? (request.tools ?? []) : [];
  const tools = offered.length === 0 && target.callsNeedTools ? calledTools(request) : offered;
  const oneByOne = tools.length > 0 && request.parallelToolCalls === false;
  const { settings } = target;
  const format = formatOf(request);
  const own = { ...(oneByOne ? ONE_BY_ONE : {}), ...(format.isStrict ? {} : NOT_STRICT) };
  return {
    ...settings,
    ...(Object.keys(own).length === 0 ? {} : { providerOptions: withOptions(settings.providerOptions, own) }),
    prompt: promptOf(target.strictOrder ? inStrictOrder(request.messages) : request.messages, target),
    ...(tools.length === 0 ? {} : { tools: tools.map(sdkTool), toolChoice: { type: 'auto' } }),
    ...(format.sent === null ? {} : { responseFormat: format.sent }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.maxTokens === undefined ? {} : { maxOutputTokens: request.maxTokens }),
    abortSignal,
  };
}

/** What the specification has no word for. Providers read only what stands under their own name. */
const ONE_BY_ONE = { 'openai.parallelToolCalls': false, 'anthropic.disableParallelToolUse': true };
const NOT_STRICT = { 'openai.strictJsonSchema': false };

function withOptions(given: object = {}, more: Readonly<Record<string, boolean>>): object {
  let all: JsonObject = Object.fromEntries(Object.entries(given));
  for (const [path, value] of Object.entries(more)) {
    const [provider = '', name = ''] = path.split('.', 2);
    const own = all[provider];
    all = { ...all, [provider]: { [name]: value, ...(isJsonObject(own) ? own : {}) } };
  }
  return all;
}

/** The schema of the whole reply. The envelope of json mode is none: providers would hold the model to it strictly. */
function formatOf({ responseSchema: schema, strictSchema }: ModelRequest) {
  if (schema === undefined || strictSchema !== true) return { sent: null, isStrict: true };
  const strict = strictForm(schema);
  return { sent: { type: 'json', name: 'reply', schema: strict ?? schema }, isStrict: strict !== null };
}

function sdkTool(tool: ModelTool): object {
  return {
    type: 'function',
    name: sentName(tool.name),
    description: sentDescription(tool),
    inputSchema: sentSchema(tool.inputSchema),
  };
}

/** Results that follow each other are one message: some providers require all results of a turn together. */
function promptOf(messages: readonly Message[], target: CallTarget): readonly object[] {
  const prompt: object[] = [];
  let results: object[] | null = null;
  for (const message of messages) {
    if (message.role !== 'tool') {
      results = null;
      // An empty system prompt is refused by some.
      if (message.role !== 'system' || message.content !== '') prompt.push(sdkMessage(message, target));
      continue;
    }
    if (results === null) {
      results = [];
      prompt.push({ role: 'tool', content: results });
    }
    results.push(sdkResult(message));
  }
  return prompt;
}

function sdkMessage(message: Message, target: CallTarget): object {
  const { role, content } = message;
  if (role === 'system') return { role, content: textOf(message) };
  if (role === 'assistant') return { role, content: turnParts(message, target) };
  const parts: readonly Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return { role: 'user', content: parts.map((part) => sdkUserPart(part, target)) };
}

/** With U+FFFD in the place of half a character, which cutting a text leaves: servers refuse those. */
function textOf({ content }: Message): string {
  const text =
    typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return text.toWellFormed();
}

function sdkUserPart(part: Part, { version }: CallTarget): object {
  if (part.type === 'text') return { type: 'text', text: part.text.toWellFormed() };
  const { url } = part;
  const named = part.type === 'file' && part.filename !== undefined ? { filename: part.filename } : {};
  const [, written, base64] = /^data:([^;,]+)(?:;[^,]*)?;base64,(.*)$/s.exec(url) ?? [];
  const mediaType = part.type === 'file' ? part.mediaType : (written ?? 'image/*');
  if (base64 === undefined) {
    const address = new URL(url);
    return { type: 'file', mediaType, data: version === 'v3' ? address : { type: 'url', url: address }, ...named };
  }
  return { type: 'file', mediaType, data: version === 'v3' ? base64 : { type: 'data', data: base64 }, ...named };
}

function sdkResult(message: Message): object {
  const { toolCallId = '', name = 'tool' } = message;
  const output = { type: 'text', value: textOf(message) };
  return { type: 'tool-result', toolCallId, toolName: sentName(name), output };
}

/** The assistant's own turn, with what its model needs back in the original positions. */
function turnParts(message: Message, { id }: CallTarget): readonly object[] {
  const { toolCalls = [], providerState } = message;
  const kept = providerState?.model === id ? keptParts(providerState.data) : [];
  const text = textOf(message);
  const isWhole = kept.filter(({ type }) => type === 'call').length === toolCalls.length;
  if (kept.length === 0 || !isWhole) return [...textParts(text), ...toolCalls.map((call) => sdkCall(call))];
  // Where the conversation holds other words than the reply did, they count.
  const isAsSaid = kept.map((part) => (part.type === 'text' ? part.text : '')).join('') === text;
  const calls = [...toolCalls];
  const turn = kept.flatMap((part): readonly object[] => {
    if (part.type === 'call') return calls.splice(0, 1).map((call) => sdkCall(call, part));
    return part.type === 'text' && !isAsSaid ? [] : [sdkPart(part)];
  });
  return isAsSaid ? turn : [...textParts(text), ...turn];
}

function textParts(text: string): readonly object[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

function sdkPart({ options, ...part }: KeptPart): object {
  return options === undefined ? part : { ...part, providerOptions: options };
}

function sdkCall({ id, name, arguments: text }: MessageToolCall, kept?: KeptPart): object {
  const value = parsedText(text.trim() === '' ? '{}' : text);
  const input = isJsonObject(value) ? value : { unreadable_arguments: text };
  const call = { type: 'tool-call', toolCallId: id, toolName: sentName(name), input };
  return kept?.options === undefined ? call : { ...call, providerOptions: kept.options };
}

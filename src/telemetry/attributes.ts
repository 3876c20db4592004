import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { Message, ModelRequest, Part } from '../actors/model.ts';
import type { FollowedWork } from '../actors/telemetry.ts';
import { isList } from '../json/depth.ts';
import { PRESETS } from '../models/endpoint/presets.ts';
import { type Json, type JsonObject, isJsonObject, jsonOrText } from '../json/json.ts';

/** The tokens of a reply, and what the conventions call them. */
export const USAGE = [
  ['inputTokens', 'gen_ai.usage.input_tokens'],
  ['outputTokens', 'gen_ai.usage.output_tokens'],
  ['cachedInputTokens', 'gen_ai.usage.cache_read.input_tokens'],
  ['reasoningTokens', 'gen_ai.usage.reasoning.output_tokens'],
] as const;

interface SpanParts {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
}

/** The name, kind and attributes of the span of a piece of work. */
export function spanOf(work: Exclude<FollowedWork, { readonly kind: 'code' }>): SpanParts {
  if (work.kind === 'model') {
    const { model = '', request } = work;
    // A server that is known by its address speaks the protocol of OpenAI.
    const { provider = 'openai', name, host, port } = partsOfId(model);
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider,
      ...(name === '' ? {} : { 'gen_ai.request.model': name }),
      ...(host === undefined ? {} : { 'server.address': host }),
      ...(port === undefined ? {} : { 'server.port': port }),
      ...(request.stream ? { 'gen_ai.request.stream': true } : {}),
      ...(request.temperature === undefined ? {} : { 'gen_ai.request.temperature': request.temperature }),
      ...(request.maxTokens === undefined ? {} : { 'gen_ai.request.max_tokens': request.maxTokens }),
      ...(request.responseSchema === undefined ? {} : { 'gen_ai.output.type': 'json' }),
    };
    return { name: `chat ${name}`.trim(), kind: SpanKind.CLIENT, attributes };
  }
  const call = { 'gen_ai.tool.name': work.tool, 'gen_ai.tool.call.id': work.callId };
  if (work.kind === 'approval') return { name: `approve ${work.tool}`, kind: SpanKind.INTERNAL, attributes: call };
  const { server } = work;
  const mcp = server === undefined ? {} : { 'mcp.method.name': 'tools/call', 'signalbox.mcp.server': server };
  const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.type': 'function', ...call, ...mcp };
  return { name: `execute_tool ${work.tool}`, kind: SpanKind.INTERNAL, attributes };
}

/** What was said, for those who want it. */
export function whatWasSaid(work: FollowedWork): Attributes {
  if (work.kind === 'model') return requestContent(work.request);
  return work.kind === 'tool' ? { 'gen_ai.tool.call.arguments': JSON.stringify(work.args) } : {};
}

/** What tells the series of a metric apart: few values each. */
export function measured(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => SERIES.has(name)));
}

const SERIES = new Set(['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model', 'gen_ai.tool.name']);

/** What the conventions call providers, where it is not what we or the AI SDK call them. */
const PROVIDERS: Readonly<Record<string, string>> = {
  claude: 'anthropic',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  azure: 'azure.ai.openai',
  'amazon-bedrock': 'aws.bedrock',
  xai: 'x_ai',
};
const SAME_NAME = new Set([...Object.keys(PRESETS), 'anthropic', 'cohere', 'perplexity']);
const A_HOST = /^(?:localhost|[\d.]+|\[.+\]|.+\.[a-z]{2,})$/i;

/** The parts of a model's id: `ollama:qwen2.5:7b`, `localhost:8000:qwen`, or of the AI SDK `google.generative-ai:gemini-3`. */
export function partsOfId(id: string): {
  readonly provider?: string;
  readonly host?: string;
  readonly port?: number;
  readonly name: string;
} {
  const [, place = '', port, name = ''] = /^(\[[^\]]+\]|[^:/]+):(?:(\d{1,5}):)?(.+)$/.exec(id) ?? [];
  const [prefix = ''] = place.split('.');
  const provider = PROVIDERS[prefix] ?? (SAME_NAME.has(prefix) ? prefix : undefined);
  if (provider !== undefined) return { provider, name: id.slice(place.length + 1) };
  if (!A_HOST.test(place)) return { name: id };
  return { host: place, ...(port === undefined ? {} : { port: Number(port) }), name };
}

// The forms in which the conventions want messages: JSON, in an attribute each.

function requestContent({ messages, tools = [] }: ModelRequest): Attributes {
  const system = messages.filter(({ role }) => role === 'system').flatMap(({ content }) => partsOf(content));
  const input = messages
    .filter(({ role }) => role !== 'system')
    .map((message) => ({ role: message.role, parts: said(message) }));
  return {
    ...(system.length === 0 ? {} : { 'gen_ai.system_instructions': JSON.stringify(system) }),
    'gen_ai.input.messages': JSON.stringify(input),
    ...(tools.length === 0
      ? {}
      : {
          'gen_ai.tool.definitions': JSON.stringify(
            tools.map(({ inputSchema, ...tool }) => ({ type: 'function', ...tool, parameters: inputSchema })),
          ),
        }),
  };
}

/** What a model replied. */
export function replyContent({ content, toolCalls, reasoning, finishReason }: JsonObject): Attributes {
  const parts = [
    ...(typeof reasoning === 'string' && reasoning !== '' ? [{ type: 'reasoning', content: reasoning }] : []),
    ...(typeof content === 'string' && content !== '' ? [{ type: 'text', content }] : []),
    ...(isList(toolCalls) ? toolCalls : []).filter(isJsonObject).map((call) => toolCall(call)),
  ];
  const reply = { role: 'assistant', parts, finish_reason: finishReason ?? 'stop' };
  return { 'gen_ai.output.messages': JSON.stringify([reply]) };
}

function said({ role, content, toolCalls = [], toolCallId }: Message): readonly JsonObject[] {
  if (role === 'tool') {
    const response = typeof content === 'string' ? content : (partsOf(content) as readonly Json[]);
    return [{ type: 'tool_call_response', ...(toolCallId === undefined ? {} : { id: toolCallId }), response }];
  }
  return [...partsOf(content), ...toolCalls.map((call) => toolCall({ ...call }))];
}

function toolCall({ id = null, name = '', arguments: args = null }: JsonObject): JsonObject {
  return { type: 'tool_call', id, name, arguments: typeof args === 'string' ? jsonOrText(args) : args };
}

function partsOf(content: string | readonly Part[]): readonly JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', content }];
  return content.map((part) => {
    if (part.type === 'text') return { type: 'text', content: part.text };
    const modality = part.type === 'image' ? 'image' : (part.mediaType.split('/')[0] ?? 'file');
    // The data itself would be too large for an attribute.
    return part.url.startsWith('data:') ? { type: 'blob', modality } : { type: 'uri', modality, uri: part.url };
  });
}

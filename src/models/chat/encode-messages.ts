import type { Message, MessageToolCall, Part } from '../../actors/model.ts';
import { isJsonObject, type Json } from '../../json/json.ts';
import { sentName } from '../../tools/lookup.ts';

interface Written extends Pick<Message, 'content' | 'toolCalls'> {
  readonly text: string;
}

/** Messages are immutable, so each is written once however often it is sent: a long history costs little per turn. */
const written = new WeakMap<Message, Written>();

/** The messages of a request as the JSON list that Chat Completions takes. */
export function encodeMessages(messages: readonly Message[]): string {
  return `[${messages.map(encodeMessage).join(',')}]`;
}

function encodeMessage(message: Message): string {
  const { content, toolCalls } = message;
  const known = written.get(message);
  // A caller in plain JavaScript may have changed it all the same.
  if (known !== undefined && known.content === content && known.toolCalls === toolCalls) return known.text;
  const text = JSON.stringify(wireMessage(message));
  written.set(message, toolCalls === undefined ? { content, text } : { content, toolCalls, text });
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

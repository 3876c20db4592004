import type { Message, ModelRequest, ModelTool, Part } from '../../actors/model.ts';
import { digest } from '../../json/digest.ts';

/** Whether a server that takes only strict order would get the conversation as it is. */
export function isInStrictOrder(request: ModelRequest): boolean {
  const { messages } = request;
  // Calls without words are sent with `null` otherwise, which some do not take either.
  const hasWords = !messages.some(({ toolCalls, content }) => toolCalls && content === '');
  return hasWords && calledTools(request).length === 0 && inStrictOrder(messages) === messages;
}

/** The tools that were called, where no tool is offered any more: Anthropic's and Amazon's models take no call without its tool. */
export function calledTools({ messages, toolCalling, tools = [] }: ModelRequest): readonly ModelTool[] {
  if (toolCalling !== 'native' || tools.length > 0) return [];
  const names = new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => name)));
  return Array.from(names, (name) => ({ name, description: 'Not available any more.', inputSchema: {} }));
}

/** Stands between a tool's result and the user's next words. */
const BETWEEN: Message = { role: 'assistant', content: 'Noted.' };

/**
 * A conversation in the one order that Mistral's models and many chat templates take: the user and the assistant in turns,
 * the assistant after results of tools, and call ids of nine letters and digits. No word of it is lost. The same list if it
 * is in that order already.
 */
export function inStrictOrder(messages: readonly Message[]): readonly Message[] {
  const ordered: Message[] = [];
  for (const message of messages) {
    const last = ordered.at(-1);
    if (last?.role === 'tool' && message.role === 'user') ordered.push(BETWEEN);
    if (last !== undefined && isSameTurn(last, message))
      ordered[ordered.length - 1] = { ...last, content: together(last.content, message.content) };
    else ordered.push(withShortIds(message));
  }
  return ordered.length === messages.length && ordered.every((message, index) => message === messages[index])
    ? messages
    : ordered;
}

function isSameTurn(last: Message, message: Message): boolean {
  if (last.role !== message.role || last.toolCalls !== undefined || message.toolCalls !== undefined) return false;
  return message.role === 'user' || message.role === 'assistant';
}

function together(one: Message['content'], other: Message['content']): Message['content'] {
  if (typeof one === 'string' && typeof other === 'string') return [one, other].filter(Boolean).join('\n\n');
  return [...partsOf(one), ...partsOf(other)];
}

function partsOf(content: Message['content']): readonly Part[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function withShortIds(message: Message): Message {
  const { toolCallId, toolCalls } = message;
  if (toolCallId !== undefined) return isShort(toolCallId) ? message : { ...message, toolCallId: shortId(toolCallId) };
  if (toolCalls === undefined || toolCalls.every(({ id }) => isShort(id))) return message;
  return { ...message, toolCalls: toolCalls.map((call) => ({ ...call, id: shortId(call.id) })) };
}

const isShort = (id: string): boolean => /^[a-zA-Z0-9]{9}$/.test(id);

const shortId = (id: string): string => (isShort(id) ? id : digest(id).slice(0, 9));

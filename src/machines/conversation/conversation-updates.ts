import { deepFreeze } from '../../actors/leaf.ts';
import type { Message } from '../../actors/model.ts';
import { imagesOf, withoutMedia, type ToolResult } from '../../tools/result.ts';
import type { AgentContext } from '../agent/agent-context.ts';
import { resultForModel } from '../agent/agent-texts.ts';
import type { CallOutcome, CallRequest } from '../tool-call/call-request.ts';
import { resultText } from './conversation.ts';
import type { ReadReply } from '../agent/read-reply.ts';

/** The conversation with more messages at its end. Messages are frozen: they are shared by reference from here on. */
export function withMessages(messages: readonly Message[], ...more: readonly Message[]): readonly Message[] {
  return [...messages, ...more.map((message) => deepFreeze(message))];
}

/** The assistant's own turn; nothing for an empty reply, which some servers refuse to take back. */
export function assistantMessage(reply: ReadReply): readonly Message[] {
  if (reply.nativeCalls.length > 0) return [{ role: 'assistant', content: reply.text, toolCalls: reply.nativeCalls }];
  return reply.text.trim() === '' ? [] : [{ role: 'assistant', content: reply.text }];
}

/** A result, in the form in which its call came. */
export function resultMessage(request: CallRequest, tool: string, text: string): Message {
  return request.toolCallId === null
    ? { role: 'user', content: resultText(tool, text) }
    : { role: 'tool', toolCallId: request.toolCallId, name: tool, content: text };
}

/** A result, cut to what the model gets of it. */
export function toolMessage(context: AgentContext, request: CallRequest, tool: string, result: ToolResult): Message {
  return resultMessage(request, tool, resultForModel(asTold(context, result), context.settings.maxToolResultChars));
}

/** What the model is told of a result: never base64, and in an error how many steps are left to do better. */
export function asTold({ settings, stepsTaken }: AgentContext, result: ToolResult): ToolResult {
  const told = settings.images === undefined ? result : withoutMedia(result, settings.images);
  const failed = result.status === 'error' && result.denied !== true;
  return failed ? { ...told, attemptsLeft: settings.maxSteps - stepsTaken } : told;
}

/** The images of results, for a model that takes them: a message for each result that has some, after all results. */
export function imageMessages({ settings }: AgentContext, outcomes: readonly CallOutcome[]): readonly Message[] {
  if (settings.images !== 'sent') return [];
  return outcomes.flatMap(({ tool, result }): readonly Message[] => {
    const images = imagesOf(result);
    const text = resultText(tool, `its images (${images.length}), in their order`);
    return images.length === 0 ? [] : [{ role: 'user', content: [{ type: 'text', text }, ...images] }];
  });
}

/** A word of ours to the model. */
export function userMessage(content: string): Message {
  return { role: 'user', content };
}

/** Answers to all native calls of a reply that is not carried out, so that no call stays without a result. */
export function refuseCalls(reply: ReadReply, text: string): readonly Message[] {
  return reply.nativeCalls.map((call) => ({ role: 'tool', toolCallId: call.id, name: call.name, content: text }));
}

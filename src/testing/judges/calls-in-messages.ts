import type { Message } from '../../actors/model.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { parseReply } from '../../parsing/reply/parse-reply.ts';
import { recoverJson } from '../../parsing/recover/recover-json.ts';

/** A tool call: who was called, with what. */
export interface CallMade {
  readonly tool: string;
  readonly args: Json;
  /** What the tool gave, as a tool result; null where it is not known, or it never came. */
  readonly gave: Json;
}

/** The calls that a model asked for in a conversation, native, in plans or in an envelope, as far as they can be read. */
export function callsInMessages(messages: readonly Message[]): readonly CallMade[] {
  return messages.flatMap(({ role, content, toolCalls = [] }) => {
    if (role !== 'assistant') return [];
    if (toolCalls.length === 0) return typeof content === 'string' ? callsInText(content) : [];
    return toolCalls.flatMap(({ name, arguments: text }) =>
      name === 'make_plan' ? callsInText(text) : [{ tool: name, args: argumentsOf(text), gave: null }],
    );
  });
}

function callsInText(text: string): readonly CallMade[] {
  const { plan, calls } = parseReply(text);
  if (plan !== undefined) return plan.map(({ tool, args }) => ({ tool, args, gave: null }));
  return calls.map(({ name, args }) => ({ tool: name, args, gave: null }));
}

function argumentsOf(text: string): Json {
  const recovered = recoverJson(text);
  return recovered.ok && isJsonObject(recovered.value) ? recovered.value : {};
}

import type { ModelReply, ModelRequest, Usage } from '../../actors/model.ts';
import { type Json, type JsonObject, isJsonObject, jsonOrText, defined } from '../../json/json.ts';

/** A tool call with its arguments as text, which is what a model really writes. */
export interface SaidCall {
  readonly id?: string;
  readonly name: string;
  readonly args: string;
}

/** A reply in a form that mistakes apply to: either native calls with a text, or a text that may be an envelope. */
export interface Said {
  readonly content: string;
  readonly calls: readonly SaidCall[];
  readonly finishReason?: string;
  readonly reasoning?: string;
  readonly usage?: Usage;
}

/** Reads a reply for the way of calling tools that is asked for: in json mode native calls become an envelope. */
export function saidOf(reply: ModelReply, request: ModelRequest): Said {
  const calls = (reply.toolCalls ?? []).map(({ id, name, arguments: args = {} }) => ({
    ...(id === undefined ? {} : { id }),
    name,
    args: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
  }));
  const { finishReason, reasoning, usage } = reply;
  const kept = defined({ finishReason, reasoning, usage });
  const [first] = calls;
  if (first === undefined || request.toolCalling === 'native') return { content: reply.content, calls, ...kept };
  return { content: JSON.stringify(envelopeOf(calls, first)), calls: [], ...kept };
}

function envelopeOf(calls: readonly SaidCall[], first: SaidCall): JsonObject {
  const args = jsonOrText(first.args);
  if (first.name === 'make_plan')
    return { thought: 'Step by step.', plan: isJsonObject(args) ? (args.plan ?? []) : [] };
  if (calls.length === 1) return { thought: 'I call a tool.', tool: first.name, tool_args: args };
  const plan = calls.map((call) => ({ tool: call.name, tool_args: jsonOrText(call.args) }));
  return { thought: 'Step by step.', plan };
}

/** The reply as a model gives it. */
export function replyOf({ content, calls, ...kept }: Said): ModelReply {
  if (calls.length === 0) return { content, ...kept };
  const toolCalls = calls.map(({ args, ...call }) => ({ ...call, arguments: args }));
  return { content, toolCalls, ...kept };
}

/** True when the reply asks for something to be done, natively or in an envelope. */
export function asksForTool({ content, calls }: Said): boolean {
  return calls.length > 0 || /^\s*\{.*"(?:tool|plan)"/s.test(content);
}

/** Changes the JSON that the reply carries: the arguments of its calls, or the envelope. Null: it carries none. */
export function inJson(said: Said, change: (text: string) => string): Said | null {
  if (said.calls.length > 0)
    return { ...said, calls: said.calls.map((call) => ({ ...call, args: change(call.args) })) };
  return /^\s*\{/.test(said.content) ? { ...said, content: change(said.content) } : null;
}

/** Changes name and arguments of each call that the reply carries, natively or in an envelope. Null: it carries none. */
export function inCalls(said: Said, change: (call: Asked) => Asked): Said | null {
  if (said.calls.length > 0) {
    return {
      ...said,
      calls: said.calls.map((call) => {
        const { name, args } = change({ name: call.name, args: jsonOrText(call.args) });
        return { ...call, name, args: JSON.stringify(args) };
      }),
    };
  }
  const envelope = asksForTool(said) ? jsonOrText(said.content) : null;
  if (!isJsonObject(envelope) || typeof envelope.tool !== 'string') return null;
  const { name, args } = change({ name: envelope.tool, args: envelope.tool_args ?? {} });
  return { ...said, content: JSON.stringify({ ...envelope, tool: name, tool_args: args }) };
}

interface Asked {
  readonly name: string;
  readonly args: Json;
}

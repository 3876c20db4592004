import { isJsonObject, type JsonObject } from '../../parsing/json.ts';
import { readResult } from './read-result.ts';
import type { Finished, PracticeTool, Scene } from './scene.ts';
import { toolsInPrompt } from './tools-in-prompt.ts';

/** A chat request as it came over the wire. */
export interface PracticeRequest {
  readonly messages: readonly JsonObject[];
  readonly tools: readonly unknown[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

const MISTAKE = /\bpractice:([a-z0-9-]+)/g;
const RESULT = /^\[Result from ([^\]]+)\]:\s*/;

/** Reads the scene out of a request: nothing is kept between requests, the conversation itself says where it stands. */
export function readScene(request: PracticeRequest): Scene {
  const native = request.tools.length > 0;
  const { messages } = request;
  const start = questionAt(messages);
  const asked = start === -1 ? '' : contentOf(messages[start]);
  const exchange = messages.slice(start + 1);
  const system = contentOf(messages.find((message) => message['role'] === 'system'));
  const tools = native ? request.tools.flatMap(readTool) : toolsInPrompt(system);
  return {
    question: asked.replaceAll(MISTAKE, '').replaceAll(/\s+/g, ' ').trim(),
    mistakes: [...asked.matchAll(MISTAKE)].map((match) => match[1] ?? ''),
    tools,
    finished: readFinished(exchange).filter((call) => wasReal(call, tools)),
    turn: exchange.filter((message) => message['role'] === 'assistant').length,
    native,
  };
}

/** A message's text, whichever form it has. */
export function contentOf(message: JsonObject | undefined): string {
  const content: unknown = message?.['content'];
  if (typeof content === 'string') return content;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  return parts.map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('\n');
}

/** The question of this exchange: the last user message that follows no unfinished business. */
function questionAt(messages: readonly JsonObject[]): number {
  let question = -1;
  let isOpen = false;
  messages.forEach((message, at) => {
    if (message['role'] === 'assistant') {
      const isFirst = messages.slice(question + 1, at).every((other) => other['role'] !== 'assistant');
      isOpen = !isFinal(message) || (isFirst && contentOf(messages[question]).includes('practice:truncated'));
    }
    if (message['role'] === 'tool') isOpen = true;
    if (message['role'] === 'user' && !isOpen && !RESULT.test(contentOf(message))) {
      // Notes that follow a question directly belong to it.
      if (question === -1 || messages.slice(question, at).some((other) => other['role'] === 'assistant')) question = at;
    }
  });
  return question;
}

/** An answer, as opposed to a call, a plan, or a reply that the other side will have sent back. */
function isFinal(message: JsonObject): boolean {
  const calls = message['tool_calls'];
  if (Array.isArray(calls) && calls.length > 0) return false;
  const text = contentOf(message).trim();
  if (text === '' || text.includes('<tool_call>')) return false;
  const envelope = envelopeIn(text);
  if (envelope !== undefined) return typeof envelope['answer'] === 'string';
  return !text.startsWith('{') && !text.startsWith('```');
}

function readFinished(exchange: readonly JsonObject[]): readonly Finished[] {
  const called = new Map<string, { readonly tool: string; readonly args: JsonObject }>();
  let lastArgs: JsonObject = {};
  return exchange.flatMap((message): readonly Finished[] => {
    const text = contentOf(message);
    if (message['role'] === 'assistant') {
      for (const [id, call] of nativeCalls(message)) called.set(id, call);
      const args = envelopeIn(text)?.['tool_args'];
      lastArgs = isJsonObject(args) ? args : {};
    }
    if (message['role'] === 'tool') {
      const call = called.get(typeof message['tool_call_id'] === 'string' ? message['tool_call_id'] : '');
      return call === undefined ? [] : [{ ...call, result: readResult(text) }];
    }
    const result = message['role'] === 'user' ? RESULT.exec(text) : null;
    if (result === null) return [];
    return [{ tool: result[1] ?? '', args: lastArgs, result: readResult(text.slice(result[0].length)) }];
  });
}

/** Calls of tools that there are not, or without what they require, were mistakes: nothing came of them. */
function wasReal({ tool, args }: Finished, tools: readonly PracticeTool[]): boolean {
  const schema = tools.find((known) => known.name === tool)?.schema;
  const required: readonly unknown[] = Array.isArray(schema?.['required']) ? schema['required'] : [];
  return schema !== undefined && !('unreadable_arguments' in args) && required.every((name) => String(name) in args);
}

function nativeCalls(message: JsonObject): readonly (readonly [string, { tool: string; args: JsonObject }])[] {
  const calls: readonly unknown[] = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  return calls.filter(isJsonObject).map((call) => {
    const source = isJsonObject(call['function']) ? call['function'] : {};
    const args = objectIn(typeof source['arguments'] === 'string' ? source['arguments'] : '');
    const tool = typeof source['name'] === 'string' ? source['name'] : '';
    return [typeof call['id'] === 'string' ? call['id'] : '', { tool, args: args ?? {} }];
  });
}

function envelopeIn(text: string): JsonObject | undefined {
  return objectIn(text.replace(/^```(?:json)?\s*/, '').replace(/\s*```$/, ''));
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function readTool(entry: unknown): PracticeTool | readonly [] {
  const source = isJsonObject(entry) ? entry['function'] : undefined;
  if (!isJsonObject(source) || typeof source['name'] !== 'string') return [];
  return {
    name: source['name'],
    description: typeof source['description'] === 'string' ? source['description'] : '',
    schema: isJsonObject(source['parameters']) ? source['parameters'] : {},
  };
}

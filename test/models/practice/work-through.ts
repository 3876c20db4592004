import type { Message, ModelReply, ModelTool } from '../../../src/actors/model.ts';
import type { Model } from '../../../src/actors/model.ts';
import { isJsonObject, type JsonObject } from '../../../src/json/json.ts';

/** A set of tools that a question may be worked through with. */
export interface Workshop {
  readonly tools: readonly ModelTool[];
  run(name: string, args: JsonObject): Promise<unknown>;
}

/** What happened until the answer. */
export interface Worked {
  readonly answer: string;
  readonly calls: readonly (readonly [name: string, args: JsonObject])[];
  readonly replies: readonly ModelReply[];
}

interface How {
  readonly mode?: 'native' | 'json';
  readonly stream?: boolean;
  readonly history?: readonly Message[];
}

const MOST_TURNS = 8;

/** The plainest agent there is: asks, runs what is called, and asks again until there is an answer. */
export async function workThrough(model: Model, question: string, shop: Workshop, how: How = {}): Promise<Worked> {
  const mode = how.mode ?? 'native';
  const messages: Message[] = [
    { role: 'system', content: mode === 'json' ? promptFor(shop.tools) : 'You are helpful.' },
    ...(how.history ?? []),
    { role: 'user', content: question },
  ];
  const calls: [string, JsonObject][] = [];
  const replies: ModelReply[] = [];
  for (let turn = 0; turn < MOST_TURNS; turn += 1) {
    const reply = await model.complete(
      { messages, toolCalling: mode, tools: shop.tools, stream: how.stream ?? false },
      { signal: new AbortController().signal },
    );
    replies.push(reply);
    const wanted = mode === 'native' ? nativeCalls(reply) : envelopeCalls(reply);
    if (wanted.length === 0) return { answer: answerIn(reply, mode), calls, replies };
    messages.push({
      role: 'assistant',
      content: reply.content,
      ...(mode === 'native' ? { toolCalls: wanted.map(({ id, name, text }) => ({ id, name, arguments: text })) } : {}),
    });
    for (const { id, name, text } of wanted) {
      const args = objectIn(text);
      const content = args === undefined ? failure('Invalid arguments') : await run(shop, name, args);
      if (args !== undefined) calls.push([name, args]);
      messages.push(
        mode === 'native'
          ? { role: 'tool', content, toolCallId: id, name }
          : { role: 'user', content: `[Result from ${name}]: ${content}` },
      );
    }
  }
  return { answer: '(no answer)', calls, replies };
}

async function run(shop: Workshop, name: string, args: JsonObject): Promise<string> {
  const tool = shop.tools.find((known) => known.name === name);
  if (tool === undefined) return failure(`Tool '${name}' not found`);
  const required: unknown = isJsonObject(tool.inputSchema) ? tool.inputSchema['required'] : [];
  const missing = Array.isArray(required) ? required.filter((key) => !(String(key) in args)) : [];
  if (missing.length > 0) return failure(`Invalid arguments for '${name}'`);
  try {
    return JSON.stringify({ status: 'success', data: await shop.run(name, args) });
  } catch (error) {
    return failure(`Tool execution failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const failure = (error: string) => JSON.stringify({ status: 'error', error });

function nativeCalls(reply: ModelReply) {
  return (reply.toolCalls ?? []).map(({ id, name, arguments: args }) => ({
    id: id ?? '',
    name,
    text: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
  }));
}

function envelopeCalls(reply: ModelReply) {
  const { tool, tool_args: args } = objectIn(reply.content) ?? {};
  return typeof tool === 'string' ? [{ id: '', name: tool, text: JSON.stringify(args ?? {}) }] : [];
}

function answerIn(reply: ModelReply, mode: 'native' | 'json'): string {
  const answer = mode === 'json' ? objectIn(reply.content)?.['answer'] : undefined;
  return typeof answer === 'string' ? answer : reply.content;
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function promptFor(tools: readonly ModelTool[]): string {
  const lines = tools.map(
    (tool) => `- ${tool.name}: ${tool.description}\n  arguments: ${JSON.stringify(tool.inputSchema)}`,
  );
  return `You are helpful.\n\n## Tools\n${lines.join('\n')}\n\nAnswer as {"thought": "...", "answer": "..."}.`;
}

import { isJsonObject, type JsonObject } from '../../json/json.ts';
import { contentOf } from './content-of.ts';
import { readFinished } from './read-finished.ts';
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

/** How messages begin that stand in the user's name but come from the agent: results, corrections, notes. */
const FROM_AGENT =
  /^(?:\[Result from |Your (?:reply|answer|plan) (?:was|is|holds|cannot)|You have made \d+ plan|Tool execution failed\. Please|All steps of the plan|The plan (?:stopped|was dropped))/;

/** Reads the scene out of a request: nothing is kept between requests, the conversation itself says where it stands. */
export function readScene(request: PracticeRequest): Scene {
  const native = request.tools.length > 0;
  const { messages } = request;
  const start = messages.findLastIndex((message) => message['role'] === 'user' && !FROM_AGENT.test(contentOf(message)));
  const asked = contentOf(messages[start]);
  const exchange = messages.slice(start + 1);
  const system = contentOf(messages.find((message) => message['role'] === 'system'));
  const tools = native ? request.tools.flatMap(readTool) : toolsInPrompt(system);
  return {
    question: asked.replaceAll(MISTAKE, '').replaceAll(/\s+/g, ' ').trim(),
    mistakes: [...asked.matchAll(MISTAKE)].map((match) => match[1] ?? ''),
    tools,
    finished: readFinished(exchange).filter((call) => wasReal(call, tools)),
    // An empty reply leaves no trace of its own, but the complaint about it does.
    turn: Math.max(exchange.filter((message) => message['role'] === 'assistant').length, Math.min(exchange.length, 1)),
    native,
  };
}

/** Calls of tools that there are not, or without what they require, were mistakes: nothing came of them. */
function wasReal({ tool, args }: Finished, tools: readonly PracticeTool[]): boolean {
  const schema = tools.find((known) => known.name === tool)?.schema;
  const required: readonly unknown[] = Array.isArray(schema?.['required']) ? schema['required'] : [];
  return schema !== undefined && !('unreadable_arguments' in args) && required.every((name) => String(name) in args);
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

import { type JsonObject, isJsonObject, jsonOrText, parsedText } from '../../json/json.ts';
import { type PromptTool, toolsInPrompt } from '../../testing/tools-in-prompt.ts';

/** A tool call and what came of it. */
export interface Finished {
  readonly tool: string;
  readonly args: JsonObject;
  readonly result: ToolOutcome;
}

/** A tool's result as far as the rules need it: its text, and its data where it is JSON. */
export type ToolOutcome =
  /** `isWhole` is false where the middle was cut out on the way to the model. */
  | { readonly ok: true; readonly text: string; readonly data: unknown; readonly isWhole: boolean }
  | { readonly ok: false; readonly text: string };

/** All that the practice model goes by: the question of this exchange, the tools, and what has been done so far. */
export interface Scene {
  /** Without the words that ask for a mistake. */
  readonly question: string;
  /** The mistakes asked for, such as `truncated` for `practice:truncated`. */
  readonly mistakes: readonly string[];
  readonly tools: readonly PromptTool[];
  readonly finished: readonly Finished[];
  /** Replies that the model has already given to this question. */
  readonly turn: number;
  readonly native: boolean;
}

/** A call to make. */
export interface PracticeCall {
  readonly tool: string;
  readonly args: JsonObject;
}

/** The path that a call was made with. */
export function pathOf({ args }: Finished): string {
  return typeof args['path'] === 'string' ? args['path'] : '';
}

/** What the practice model says next. */
export type PracticeDecision =
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'calls'; readonly thought: string; readonly calls: readonly PracticeCall[] }
  | { readonly kind: 'plan'; readonly thought: string; readonly steps: readonly PracticeCall[] };

/** One thing that the practice model can do. Undefined: the question is none of its business. */
export type Rule = (scene: Scene) => PracticeDecision | undefined;

/** The tool with one of these names, the first name first, whatever server's name stands before it. */
export function findTool({ tools }: Scene, ...names: readonly string[]): PromptTool | undefined {
  return names
    .map((name) => tools.find((tool) => tool.name === name || tool.name.endsWith(`_${name}`)))
    .find((tool) => tool !== undefined);
}

/** What came of the calls of a tool. */
export function finishedCalls({ finished }: Scene, tool: PromptTool | undefined): readonly Finished[] {
  return finished.filter((call) => call.tool === tool?.name);
}

/** True when exactly this call was made before. */
export function wasCalled({ finished }: Scene, { tool, args }: PracticeCall): boolean {
  return finished.some((call) => call.tool === tool && JSON.stringify(call.args) === JSON.stringify(args));
}

/** Where a file server works: known, to be asked for first, or not to be had. */
type Whereabouts =
  | { readonly kind: 'known'; readonly folders: readonly string[] }
  | { readonly kind: 'ask'; readonly call: PracticeCall }
  | { readonly kind: 'unknown' };

/** Finds out which folders the tools may look into. */
export function whereabouts(scene: Scene): Whereabouts {
  const tool = findTool(scene, 'list_allowed_directories');
  if (tool === undefined) return { kind: 'unknown' };
  const asked = finishedCalls(scene, tool).at(-1);
  if (asked === undefined) return { kind: 'ask', call: { tool: tool.name, args: {} } };
  if (!asked.result.ok) return { kind: 'unknown' };
  const folders = asked.result.text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.endsWith(':'));
  return folders.length === 0 ? { kind: 'unknown' } : { kind: 'known', folders };
}

/** True for a path that begins at a root, on any system. */
export function isAbsolute(path: string): boolean {
  return /^(?:[A-Za-z]:)?[\\/]|^~/.test(path);
}

/** A path below a folder, in the folder's own manner of writing. */
export function below(folder: string, path: string): string {
  const slash = folder.includes('\\') && !folder.includes('/') ? '\\' : '/';
  const inner = path.replace(/^\.[\\/]/, '');
  return inner === '' || inner === '.' ? folder : `${folder.replace(/[\\/]$/, '')}${slash}${inner}`;
}

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

/** Reads the scene out of a request: nothing is kept between requests, the conversation holds the whole state. */
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
    // An empty reply leaves no trace itself, but the complaint about it does.
    turn: Math.max(exchange.filter((message) => message['role'] === 'assistant').length, Math.min(exchange.length, 1)),
    native,
  };
}

/** Calls of tools that there are not, or without what they require, were mistakes: nothing came of them. */
function wasReal({ tool, args }: Finished, tools: readonly PromptTool[]): boolean {
  const schema = tools.find((known) => known.name === tool)?.schema;
  const required: readonly unknown[] = Array.isArray(schema?.['required']) ? schema['required'] : [];
  return schema !== undefined && !('unreadable_arguments' in args) && required.every((name) => String(name) in args);
}

function readTool(entry: unknown): PromptTool | readonly [] {
  const source = isJsonObject(entry) ? entry['function'] : undefined;
  if (!isJsonObject(source) || typeof source['name'] !== 'string') return [];
  return {
    name: source['name'],
    description: typeof source['description'] === 'string' ? source['description'] : '',
    schema: isJsonObject(source['parameters']) ? source['parameters'] : {},
  };
}

const RESULT = /^\[Result from ([^\]]+)\]:\s*/;

/** The calls of an exchange that have results, in order: native ones, those of envelopes, and the steps of plans. */
function readFinished(exchange: readonly JsonObject[]): readonly Finished[] {
  const native = new Map<string, PracticeCall>();
  const written: PracticeCall[] = [];
  return exchange.flatMap((message): readonly Finished[] => {
    const text = contentOf(message);
    if (message['role'] === 'assistant') {
      for (const [id, call] of nativeCalls(message)) native.set(id, call);
      written.push(...writtenCalls(text));
      return [];
    }
    if (message['role'] === 'tool') {
      const id = message['tool_call_id'];
      const call = native.get(typeof id === 'string' ? id : '');
      return call === undefined ? [] : finishedBy(call, text);
    }
    const result = RESULT.exec(text);
    if (message['role'] !== 'user' || result === null) return [];
    const tool = result[1] ?? '';
    const at = written.findIndex((call) => call.tool === tool);
    const [call = { tool, args: {} }] = at === -1 ? [] : written.splice(at, 1);
    return finishedBy(call, text.slice(result[0].length));
  });
}

/** What a result says has been done; that of a native plan covers all its steps. */
function finishedBy(call: PracticeCall, text: string): readonly Finished[] {
  const result = readResult(text);
  const steps: unknown = result.ok && isJsonObject(result.data) ? result.data['steps'] : undefined;
  if (!Array.isArray(steps)) return [{ ...call, result }];
  const planned = stepsOf(call.args);
  return steps.filter(isJsonObject).map((step, at) => ({
    tool: typeof step['tool'] === 'string' ? step['tool'] : '',
    args: planned[at]?.args ?? {},
    result: readResult(JSON.stringify(step['result'] ?? null)),
  }));
}

function nativeCalls(message: JsonObject): readonly (readonly [string, PracticeCall])[] {
  const calls: readonly unknown[] = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  return calls.filter(isJsonObject).map((call) => {
    const source = isJsonObject(call['function']) ? call['function'] : {};
    const args = objectIn(typeof source['arguments'] === 'string' ? source['arguments'] : '');
    const tool = typeof source['name'] === 'string' ? source['name'] : '';
    return [typeof call['id'] === 'string' ? call['id'] : '', { tool, args: args ?? {} }];
  });
}

/** Calls and plans that stand in a reply's text: as the whole of it, or as lines of it. */
function writtenCalls(text: string): readonly PracticeCall[] {
  const objects = [text, ...text.split('\n')].map(objectIn).filter((object) => object !== undefined);
  const seen = new Set<string>();
  return objects
    .flatMap((object) => [...callIn(object), ...stepsOf(object)])
    .filter((call) => {
      const key = JSON.stringify(call);
      return seen.has(key) ? false : seen.add(key);
    });
}

function callIn(object: JsonObject): readonly PracticeCall[] {
  const name = object['tool'] ?? object['name'];
  const args = object['tool_args'] ?? object['arguments'];
  return typeof name === 'string' ? [{ tool: name, args: isJsonObject(args) ? args : {} }] : [];
}

function stepsOf(object: JsonObject): readonly PracticeCall[] {
  const plan: unknown = Object.values(object).find(Array.isArray);
  return Array.isArray(plan) ? plan.flatMap((step: unknown) => (isJsonObject(step) ? callIn(step) : [])) : [];
}

function objectIn(text: string): JsonObject | undefined {
  const value = parsedText(text);
  return isJsonObject(value) ? value : undefined;
}

/** Reads what a tool message says: a tool result in JSON, with MCP's content inside or not, or plain text. */
function readResult(content: string): ToolOutcome {
  const value = jsonOrText(content);
  if (!isJsonObject(value)) return cutResult(content) ?? { ok: true, text: content, data: value, isWhole: true };
  const { status, error } = value;
  if (status === 'error' || value['isError'] === true || (typeof error === 'string' && status !== 'success')) {
    return { ok: false, text: textOf(error ?? value['message'] ?? value['content'] ?? value) };
  }
  const data = 'data' in value ? value['data'] : 'status' in value ? value['message'] : value;
  const text = textOf(data);
  return { ok: true, text, data: isJsonObject(data) && isMcpContent(data) ? jsonOrText(text) : data, isWhole: true };
}

/** A long result has its middle cut out, so it is not JSON any more: its longest text is read as far as it goes. */
function cutResult(content: string): ToolOutcome | undefined {
  const [head, status] = /^\{"status":"(\w+)".*?"(?:data|content|message|error)":\s*"/s.exec(content) ?? [];
  if (head === undefined) return undefined;
  const text = content
    .slice(head.length)
    .replace(/"[\]}]*$/, '')
    .replaceAll(/\\(["\\/nrt])/g, (_all, char: string) => ESCAPES[char] ?? char);
  return status === 'error' ? { ok: false, text } : { ok: true, text, data: text, isWhole: false };
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((part) => isJsonObject(part) && part['type'] === 'text')
  ) {
    return value.map((part: unknown) => (isJsonObject(part) ? textOf(part['text']) : '')).join('\n');
  }
  if (isJsonObject(value) && isMcpContent(value)) return textOf(value['content']);
  return value === undefined ? '' : JSON.stringify(value);
}

/** `{ content: … }` and nothing but MCP's own companions beside it. */
function isMcpContent(value: { readonly [key: string]: unknown }): boolean {
  const { content } = value;
  const companions = ['content', 'structuredContent', 'isError', '_meta'];
  return (
    (typeof content === 'string' || Array.isArray(content)) &&
    Object.keys(value).every((key) => companions.includes(key))
  );
}

/** A message's text, whichever form it has. */
function contentOf(message: JsonObject | undefined): string {
  const content: unknown = message?.['content'];
  if (typeof content === 'string') return content;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  return parts.map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('\n');
}

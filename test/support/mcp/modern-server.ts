/**
 * An MCP server with what the newer protocol has: tasks, content of every kind, logging, completion, subscriptions. It is
 * written by hand, so that its tasks outlive its connections. As a program it speaks over stdio and keeps its memory in the
 * file of its first argument; `startModernHttp` runs it in this process.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type ServerResponse, createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { McpServerSettings, McpStdioConfig } from '../../../src/mcp/config/config.ts';
import { type JsonObject, isJsonObject } from '../../../src/json/json.ts';
import { COMPILED } from './hostile-entry.ts';

/** What reached the server, over all its connections. */
export interface Memory {
  readonly received: { readonly method: string; readonly params: JsonObject }[];
  readonly tasks: { [id: string]: { polls: number; args: JsonObject; cancelled: boolean; token?: unknown } };
}

type Send = (message: object) => void;

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const object = { type: 'object' };
const TOOLS = [
  { name: 'research', title: 'Research a topic', inputSchema: object, execution: { taskSupport: 'required' } },
  { name: 'either', inputSchema: object, execution: { taskSupport: 'optional' } },
  { name: 'unasked', inputSchema: object },
  { name: 'gallery', inputSchema: object },
  { name: 'say', inputSchema: object },
  { name: 'log', inputSchema: object },
  { name: 'touch', inputSchema: object },
];
const text = (value: string) => ({ type: 'text', text: value });

/** What the tool `say` gives, by name: a test that looks for it in what a model was sent must not find it in the call. */
function contentOf(what: string): readonly object[] {
  const forUser = { annotations: { audience: ['user'] } };
  switch (what) {
    case 'pin':
      return [{ ...text('PIN 1234'), ...forUser }];
    case 'pin-and-words':
      return [
        { ...text('PIN 5678'), ...forUser },
        { ...text('for both'), annotations: { audience: ['user', 'assistant'] } },
      ];
    case 'odd-images':
      return [
        { type: 'image', data: 'PHN2Zz4=', mimeType: 'image/svg+xml' },
        { type: 'image', data: 'not base64!', mimeType: 'image/png' },
        { type: 'image', data: 'A'.repeat(5_000_004), mimeType: 'image/png' },
      ];
    case 'many-images':
      return Array.from({ length: 12 }, () => ({ type: 'image', data: PNG, mimeType: 'image/png' }));
    default:
      return [];
  }
}

interface Line {
  readonly send: Send;
  /** For what the server says by itself. */
  readonly tell: Send;
  /** Breaks the connection, and every other one. */
  readonly drop: () => void;
  /** Whether it says that it runs tasks. */
  readonly tasks?: boolean;
}

/** Answers one message of a client. */
function receive(memory: Memory, message: JsonObject, { send, tell, drop, tasks: says = true }: Line): void {
  const { id, method } = message;
  if (typeof method !== 'string') return;
  const params = isJsonObject(message.params) ? message.params : {};
  memory.received.push({ method, params });
  if (id === undefined) return;
  const answer = (result: object): void => send({ id, result });
  const refuse = (why: string): void => send({ id, error: { code: -32602, message: why } });
  const taskId = String(params.taskId);
  const task = memory.tasks[taskId];
  switch (method) {
    case 'initialize': {
      const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
      const others = { tools: {}, resources: { subscribe: true }, logging: {}, completions: {} };
      const capabilities = says ? { ...others, tasks } : others;
      return answer({ protocolVersion: '2025-11-25', serverInfo: { name: 'modern', version: '1' }, capabilities });
    }
    case 'tools/list':
      return answer({ tools: TOOLS });
    case 'tools/call':
      if (isJsonObject(params.arguments) && params.arguments.lose === true) return drop();
      return call(memory, params, { answer, refuse, tell });
    case 'tasks/get':
      if (task === undefined) return refuse('Task not found');
      task.polls += 1;
      if (task.args.steps === true)
        tell({
          method: 'notifications/progress',
          params: { progressToken: task.token, progress: task.polls, total: task.args.polls },
        });
      if (Array.isArray(task.args.dropAt) && task.args.dropAt.includes(task.polls)) return drop();
      return answer(stateOf(taskId, task));
    case 'tasks/result': {
      if (task === undefined) return refuse('Task not found');
      if (task.args.broken === true) return refuse('the result is gone');
      if (task.args.again === true) return answer({ task: stateOf(taskId, task) });
      const failed = task.args.end === 'failed' && task.args.unsaid !== true;
      const sendWhenOver = (): void => {
        if (task.polls < Number(task.args.polls ?? 0)) return void setTimeout(sendWhenOver, 20);
        answer({ content: [text(`report after ${task.polls} polls`)], ...(failed ? { isError: true } : {}) });
      };
      return sendWhenOver();
    }
    case 'tasks/cancel':
      if (task === undefined) return refuse('Task not found');
      task.cancelled = true;
      return answer(stateOf(taskId, task));
    case 'completion/complete': {
      const { value } = isJsonObject(params.argument) ? params.argument : {};
      return answer({ completion: { values: [`${String(value)}stin`], total: 7, hasMore: true } });
    }
    case 'resources/list': {
      // A list without end.
      const at = Number(params.cursor ?? 0) + 1;
      return answer({ resources: [{ uri: `file:///${at}`, name: 'x'.repeat(3000) }, 'none'], nextCursor: String(at) });
    }
    case 'prompts/get':
      if (params.name === 'broken') return answer({ messages: 'none' });
      return answer({
        description: 'Talks.',
        messages: [{ role: 'assistant', content: text('Hello.') }, { role: 'system' }, 'none'],
      });
    case 'resources/subscribe': {
      const times = memory.received.filter((one) => one.method === method && one.params.uri === params.uri).length;
      return params.uri === 'file:///once' && times > 1 ? refuse('once only') : answer({});
    }
    case 'logging/setLevel':
      return params.level === 'critical' ? refuse('no such level') : answer({});
    case 'resources/unsubscribe':
    case 'ping':
      return answer({});
    default:
      return send({ id, error: { code: -32601, message: `unknown method ${method}` } });
  }
}

function stateOf(taskId: string, { polls, args, cancelled }: Memory['tasks'][string]): object {
  const wanted = typeof args.polls === 'number' ? args.polls : 2;
  const over = typeof args.end === 'string' ? args.end : 'completed';
  const status = cancelled ? 'cancelled' : polls >= wanted ? over : args.waits === true ? 'input_required' : 'working';
  const at = new Date(0).toISOString();
  const words = { statusMessage: `poll ${polls}` };
  return { taskId, status, ttl: 60_000, createdAt: at, lastUpdatedAt: at, pollInterval: 100, ...words };
}

function call(
  memory: Memory,
  params: JsonObject,
  {
    answer,
    refuse,
    tell,
  }: { readonly answer: (result: object) => void; readonly refuse: (text: string) => void; readonly tell: Send },
): void {
  const args = isJsonObject(params.arguments) ? params.arguments : {};
  const begin = (): void => {
    const taskId = `task-${Object.keys(memory.tasks).length + 1}`;
    const { progressToken } = isJsonObject(params._meta) ? params._meta : {};
    const task = { polls: 0, args, cancelled: false, token: progressToken };
    memory.tasks[taskId] = task;
    const told = { task: args.nameless === true ? {} : stateOf(taskId, task) };
    setTimeout(answer, typeof args.beginMs === 'number' ? args.beginMs : 0, told);
  };
  switch (params.name) {
    case 'research':
      return params.task === undefined ? refuse('research runs as a task only') : begin();
    case 'unasked':
      return begin();
    case 'either':
      return params.task === undefined ? answer({ content: [text('plainly')] }) : begin();
    case 'gallery':
      return answer({
        content: [
          text('two pictures and more'),
          { type: 'image', data: PNG, mimeType: 'image/png' },
          { type: 'audio', data: 'UklGRiQAAABXQVZF', mimeType: 'audio/wav' },
          { type: 'resource', resource: { uri: 'file:///a.png', mimeType: 'image/png', blob: PNG } },
          { type: 'resource', resource: { uri: 'file:///a.zip', mimeType: 'application/zip', blob: 'UEsDBAoAAAAA' } },
          { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'words' } },
        ],
      });
    case 'say':
      return answer({ content: contentOf(String(args.what)), ...(args.isError === true ? { isError: true } : {}) });
    case 'log': {
      const times = typeof args.times === 'number' ? args.times : 1;
      for (let at = 0; at < times; at += 1)
        tell({ method: 'notifications/message', params: { level: args.level ?? 'info', data: args.data ?? at } });
      return answer({ content: [text('logged')] });
    }
    case 'touch':
      tell({ method: 'notifications/resources/updated', params: { uri: args.uri ?? '' } });
      return answer({ content: [text('touched')] });
    default:
      return refuse('no such tool');
  }
}

/** The entry of this server over stdio. `file` keeps its memory while it is away. */
export function modernEntry(file: string, settings: McpServerSettings = {}): McpStdioConfig {
  return { command: process.execPath, args: [fileURLToPath(import.meta.url), file], env: COMPILED, ...settings };
}

/** The server over HTTP, in this process. */
export interface ModernHttp {
  readonly url: string;
  readonly memory: Memory;
  stop(): void;
}

/** Starts the server on a free port of the loopback interface. Without `tasks` it does not say that it runs any. */
export async function startModernHttp({ tasks = true } = {}): Promise<ModernHttp> {
  const memory: Memory = { received: [], tasks: {} };
  const streams = new Set<ServerResponse>();
  let session = 1;
  const write = (message: object): string => JSON.stringify({ jsonrpc: '2.0', ...message });
  const tell = (message: object): void => {
    for (const stream of streams) stream.write(`event: message\ndata: ${write(message)}\n\n`);
  };
  const restart = (): void => {
    session += 1;
    server.closeAllConnections();
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const message: unknown = request.method === 'POST' ? JSON.parse(Buffer.concat(chunks).toString()) : null;
    const isFirst = isJsonObject(message) && message.method === 'initialize';
    if (!isFirst && request.headers['mcp-session-id'] !== `session-${session}`) return response.writeHead(404).end();
    if (request.method === 'DELETE') return response.end();
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      streams.add(response);
      return response.on('close', () => streams.delete(response));
    }
    if (!isJsonObject(message)) return response.writeHead(400).end();
    const headers = { 'content-type': 'application/json', 'mcp-session-id': `session-${session}` };
    const send = (answer: object): void => void response.writeHead(200, headers).end(write(answer));
    receive(memory, message, { send, tell, drop: restart, tasks });
    if (message.id === undefined) response.writeHead(202).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/mcp`,
    memory,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** What the server over stdio has kept in its file. */
export function readMemory(file: string): Memory {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { received: [], tasks: {} };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , file = ''] = process.argv;
  const memory = readMemory(file);
  const keep = (): void => {
    writeFileSync(`${file}.new`, JSON.stringify(memory));
    renameSync(`${file}.new`, file);
  };
  const send = (message: object): void => {
    keep();
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  };
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message: unknown = JSON.parse(line);
    if (isJsonObject(message)) receive(memory, message, { send, tell: send, drop: () => (keep(), process.exit(1)) });
    keep();
  });
}

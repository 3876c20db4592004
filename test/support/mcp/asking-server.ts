/**
 * An MCP server that asks its client things in the middle of a call, and tells how far it is. Written by hand, so that it
 * can ask for what no client has offered.
 */
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type JsonObject, isJsonObject } from '../../../src/json/json.ts';

const PROMISE = { type: 'object', properties: { celsius: { type: 'number' } }, required: ['celsius'] };
const TOOLS = [
  { name: 'ask', inputSchema: { type: 'object' } },
  { name: 'client', inputSchema: { type: 'object' } },
  { name: 'steps', inputSchema: { type: 'object' } },
  { name: 'hold', inputSchema: { type: 'object' } },
  { name: 'announce', inputSchema: { type: 'object' } },
  { name: 'heard', inputSchema: { type: 'object' } },
  { name: 'flood', inputSchema: { type: 'object' } },
  { name: 'later', inputSchema: { type: 'object' } },
  { name: 'paged', inputSchema: { type: 'object' } },
  { name: 'weather', inputSchema: { type: 'object' }, outputSchema: PROMISE },
];
const waiting = new Map<unknown, (answer: JsonObject) => void>();
const heard: string[] = [];
let capabilities: unknown = null;
let asked = 0;
let pages = 0;

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

/** Asks the client, and gives what it said: `{ result }` or `{ error }`. */
function ask(method: string, params: unknown): Promise<JsonObject> {
  asked += 1;
  const id = `question-${asked}`;
  write({ id, method, params });
  return new Promise((resolve) =>
    waiting.set(id, ({ result, error }) => resolve(error === undefined ? { result: result ?? null } : { error })),
  );
}

async function call(id: unknown, name: string, args: JsonObject, token: unknown): Promise<void> {
  const answer = (value: unknown): void =>
    write({ id, result: { content: [{ type: 'text', text: JSON.stringify(value) }] } });
  switch (name) {
    case 'ask': {
      const times = typeof args.times === 'number' ? args.times : 1;
      const answers: JsonObject[] = [];
      for (let at = 0; at < times; at += 1) answers.push(await ask(String(args.method), args.params));
      return answer(times === 1 ? answers[0] : answers);
    }
    case 'flood': {
      const times = Array.from({ length: Number(args.times) });
      return answer(await Promise.all(times.map(() => ask(String(args.method), args.params))));
    }
    case 'later':
      answer('answered first');
      return void setTimeout(async () => heard.push(JSON.stringify(await ask(String(args.method), args.params))), 400);
    case 'paged': {
      pages += 1;
      if (pages > Number(args.times)) return answer('carried out');
      const elicitations = [{ mode: 'url', elicitationId: '1', url: args.url, message: 'Sign in first' }];
      return write({ id, error: { code: -32042, message: 'a page must be opened', data: { elicitations } } });
    }
    case 'client':
      return answer(capabilities);
    case 'steps': {
      const total = Number(args.steps);
      for (let progress = 1; progress <= total; progress += 1) {
        await new Promise((resolve) => setTimeout(resolve, Number(args.everyMs)));
        write({
          method: 'notifications/progress',
          params: { progressToken: token, progress, total, message: 'on it' },
        });
      }
      return args.never === true ? undefined : answer('done');
    }
    case 'hold':
      while (!existsSync(String(args.until))) await new Promise((resolve) => setTimeout(resolve, 10));
      return answer('let go');
    case 'announce':
      write({ method: `notifications/${String(args.list)}/list_changed` });
      return answer('announced');
    case 'heard':
      return answer(heard);
    case 'weather':
      return write({
        id,
        result: {
          content: [{ type: 'text', text: 'mild' }],
          ...(args.structured === undefined ? {} : { structuredContent: args.structured }),
          ...(args.isError === true ? { isError: true } : {}),
        },
      });
    default:
      return write({ id, error: { code: -32602, message: `no tool ${name}` } });
  }
}

function receive(message: JsonObject): void {
  const { id, method } = message;
  const params = isJsonObject(message.params) ? message.params : {};
  if (method === undefined) return waiting.get(id)?.(message);
  if (typeof method === 'string' && id === undefined) return void heard.push(method);
  switch (method) {
    case 'initialize': {
      capabilities = params.capabilities ?? {};
      const serverInfo = { name: 'asking', version: '1' };
      return write({ id, result: { protocolVersion: '2025-06-18', serverInfo, capabilities: { tools: {} } } });
    }
    case 'tools/list':
      return write({ id, result: { tools: TOOLS } });
    case 'tools/call': {
      const meta = isJsonObject(params._meta) ? params._meta : {};
      const args = isJsonObject(params.arguments) ? params.arguments : {};
      return void call(id, String(params.name), args, meta.progressToken);
    }
    case 'ping':
      return write({ id, result: {} });
    default:
      return write({ id, error: { code: -32601, message: 'unknown method' } });
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message: unknown = JSON.parse(line);
  if (isJsonObject(message)) receive(message);
});

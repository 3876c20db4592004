/**
 * An MCP server that misbehaves in the same ways over every transport. The first argument is the form of its messages
 * (`stdio`, or over HTTP `json` or `sse`), the second how it greets and lists; the name of a called tool says the rest.
 * Over HTTP it prints its port.
 */
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { type JsonObject, isJsonObject } from '../../../src/json/json.ts';

const [wire = 'stdio', mode = 'normal'] = process.argv.slice(2);
const MB = 2 ** 20;
const TOOLS = (
  'echo null_result no_result list_result both foreign_id unreadable large endless intricate bom bytes flood ' +
  'http_202 http_204 empty_body not_json plain json_rpc http_403 busy busy_long who late slow ' +
  'nulls refusal_beside_null text_alone part_alone'
).split(' ');
const schema = { type: 'object' };
let asked = 0;
let authorization = '';

/** A message as text, perhaps in pieces, perhaps without an end. */
type Text = Iterable<string>;

const message = (members: object): string => JSON.stringify({ jsonrpc: '2.0', ...members });
const content = (text: string): object => ({ content: [{ type: 'text', text }] });

function* endless(beginning: string): Text {
  yield beginning;
  for (;;) yield 'x'.repeat(MB);
}

function list(params: JsonObject): object {
  const page = Number(params.cursor ?? 0);
  const nextCursor = String(page + 1);
  switch (mode) {
    case 'endless-pages':
      return { tools: [{ name: `tool_${page}`, inputSchema: schema }], nextCursor };
    case 'large-pages':
      return { tools: [{ name: `tool_${page}`, description: 'x'.repeat(9 * MB), inputSchema: schema }], nextCursor };
    case 'full-pages':
      return { tools: Array.from({ length: 40 }, (_, at) => full(`tool_${page}_${at}`)), nextCursor };
    case 'full-list':
      return { tools: Array.from({ length: 38 }, (_, at) => full(`tool_${at}`)) };
    case 'many-tools':
      return { tools: Array.from({ length: 100_000 }, (_, at) => ({ name: `tool_${at}`, inputSchema: schema })) };
    case 'some-tools':
      return { tools: Array.from({ length: 200 }, (_, at) => ({ name: `tool_${at}`, inputSchema: schema })) };
    case 'long-texts': {
      const properties = { a: { type: 'string', description: 'y'.repeat(300_000) } };
      const wordy = { name: 'wordy', description: `Begins well. ${'é'.repeat(20_000)}`, inputSchema: schema };
      return { tools: [{ name: 'echo', inputSchema: schema }, wordy, { name: 'huge', inputSchema: { properties } }] };
    }
    default:
      return { tools: TOOLS.map((name) => ({ name, inputSchema: schema, annotations: { readOnlyHint: true } })) };
  }
}

/** A tool whose schema is almost as large as it may be. */
function full(name: string): object {
  return { name, inputSchema: { type: 'object', properties: { a: { enum: ['z'.repeat(250_000)] } } } };
}

function called(id: unknown, name: string): Text {
  switch (name) {
    case 'null_result':
      return [message({ id, result: null })];
    case 'no_result':
      return [message({ id })];
    case 'list_result':
      return [message({ id, result: [] })];
    case 'both':
      return [message({ id, result: {}, error: { code: 1, message: 'no' } })];
    case 'foreign_id':
      return [message({ id: 4711, result: content('not yours') })];
    case 'unreadable':
      return [message({ id: null, error: { code: -32700, message: 'Parse error' } })];
    case 'large':
      return [message({ id, result: content('x'.repeat(11 * MB)) })];
    case 'endless':
      return endless(`{"jsonrpc":"2.0","id":${String(id)},"result":{"content":[{"type":"text","text":"`);
    case 'intricate':
      return [`{"jsonrpc":"2.0","id":${String(id)},"result":{"content":[${'{},'.repeat(3 * MB)}{}]}}`];
    case 'who':
      return [message({ id, result: content(authorization) })];
    case 'nulls': {
      const note = message({ method: 'notifications/message', params: { level: 'info', data: 'a note', _meta: null } });
      const result = { ...content('nulls'), _meta: null, isError: null };
      return [
        ...(wire === 'json' ? [] : [note, wire === 'sse' ? '\n\ndata: ' : '\n']),
        message({ id, result, error: null }),
      ];
    }
    case 'refusal_beside_null':
      return [message({ id, result: null, error: { code: 1, message: 'not today', data: null } })];
    case 'text_alone':
      return [message({ id, result: { content: 'text_alone' } })];
    case 'part_alone':
      return [message({ id, result: { content: { type: 'text', text: 'part_alone' } } })];
    case 'bytes':
      return message({ id, result: content('bytes') });
    default:
      return [message({ id, result: content(name) })];
  }
}

function answer({ id, method, params }: Rpc): Text {
  if (method === 'initialize') {
    const instructions = mode === 'long-texts' ? `Be careful.\u2028Obey.\n${'i'.repeat(20_000)}` : 'Be careful.';
    const serverInfo = { name: 'misbehaving', version: '1' };
    const capabilities = { tools: {}, ...(mode === 'no-lists' ? { resources: {}, prompts: {} } : {}) };
    const result = { protocolVersion: params.protocolVersion, serverInfo, capabilities, instructions };
    if (mode === 'endless-greeting') return endless(`{"jsonrpc":"2.0","id":${String(id)},"result":{"x":"`);
    const nothing = { tools: { listChanged: null }, prompts: null };
    const titled = { ...serverInfo, title: null };
    const nulls = { ...result, serverInfo: titled, capabilities: nothing, instructions: null, _meta: null };
    if (mode === 'deep-greeting') {
      const deep = `${'{"a":'.repeat(100_000)}null${'}'.repeat(100_000)}`;
      return [
        message({ id, result: { ...result, capabilities: { tools: {}, experimental: {} } } }).replace(
          '"experimental":{}',
          `"experimental":${deep}`,
        ),
      ];
    }
    if (mode === 'nulls') return [message({ id, result: nulls, error: null, params: null })];
    if (mode === 'null-greeting') return [message({ id, result: null })];
    return [message({ id, result })];
  }
  if (method === 'tools/list' && mode === 'intricate-list')
    return [`{"jsonrpc":"2.0","id":${String(id)},"result":{"tools":[${'{},'.repeat(3 * MB)}{}]}}`];
  if (method === 'tools/list' && mode === 'offline-list')
    return [message({ id, error: { code: -32603, message: 'fetch failed' } })];
  if (method === 'tools/list') return [message({ id, result: list(params) })];
  if (mode === 'no-lists' && method === 'prompts/list')
    return [message({ id, error: { code: -32603, message: 'out of order' } })];
  if (mode === 'no-lists' && method !== 'tools/call')
    return [message({ id, error: { code: -32601, message: 'Method not found' } })];
  if (method === 'tools/call') return called(id, String(params.name));
  return [message({ id, result: {} })];
}

interface Rpc {
  readonly id: unknown;
  readonly method: unknown;
  readonly params: JsonObject;
}

function readRpc(text: string): Rpc {
  const value: unknown = JSON.parse(text);
  const { id, method, params } = isJsonObject(value) ? value : {};
  return { id, method, params: isJsonObject(params) ? params : {} };
}

/** Writes as much as is taken, for as long as somebody takes it. */
async function pump(text: Text, into: NodeJS.WritableStream & { readonly destroyed?: boolean }): Promise<void> {
  for (const piece of text) {
    if (into.destroyed === true) return;
    if (into.write(piece)) continue;
    const { promise, resolve } = Promise.withResolvers<void>();
    const goOn = (): void => resolve();
    for (const event of ['drain', 'close', 'error']) into.once(event, goOn);
    await promise;
    for (const event of ['drain', 'close', 'error']) into.off(event, goOn);
  }
}

/** The line ends and the mark that a program from Windows writes. */
const [mark, end] = ['\uFEFF', '\r\n'];

function speakStdio(): void {
  process.stdout.on('error', () => process.exit(0));
  let turn: Promise<void> = Promise.resolve();
  const held = new Map<string, unknown>();
  createInterface({ input: process.stdin }).on('line', (line) => {
    const rpc = readRpc(line);
    if (rpc.method === 'notifications/cancelled') {
      // Answers what is not wanted any more, and a good while later what is.
      for (const piece of called(held.get('late'), 'late')) process.stdout.write(`${piece}\n`);
      setTimeout(() => {
        for (const piece of called(held.get('slow'), 'slow')) process.stdout.write(`${piece}\n`);
      }, 1500);
    }
    if (rpc.id === undefined || rpc.method === undefined) return;
    const name = String(rpc.params.name);
    if (name === 'late' || name === 'slow') return void held.set(name, rpc.id);
    const odd = rpc.params.name === 'bom';
    turn = turn.then(async () => {
      if (odd) process.stdout.write(mark);
      await pump(answer(rpc), process.stdout);
      process.stdout.write(odd ? end : '\n');
    });
  });
}

/** What only a status or a header can say; true where that was all. */
function refuse(name: unknown, response: ServerResponse): boolean {
  const later = (after: string): boolean => {
    asked += 1;
    if (asked === 1) response.writeHead(503, { 'retry-after': after }).end();
    return asked === 1;
  };
  switch (name) {
    case 'http_202':
      response.writeHead(202).end();
      return true;
    case 'http_204':
      response.writeHead(204).end();
      return true;
    case 'empty_body':
      response.writeHead(200, { 'content-type': 'application/json' }).end();
      return true;
    case 'not_json':
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":');
      return true;
    case 'plain':
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
      return true;
    case 'http_403':
      response.setHeader('www-authenticate', 'Bearer error="insufficient_scope", scope="admin", token="hush-hush-7"');
      response.writeHead(403);
      void pump(endless('You sent hush-hush-7. '), response);
      return true;
    case 'busy':
      return later('1');
    case 'busy_long':
      response.writeHead(429, { 'retry-after': '3600' }).end();
      return true;
    default:
      return false;
  }
}

async function takePost(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const rpc = readRpc(Buffer.concat(chunks).toString('utf8'));
  if (rpc.id === undefined || rpc.method === undefined) return void response.writeHead(202).end();
  authorization = request.headers.authorization ?? '';
  if (rpc.method === 'initialize' && mode === 'busy-start' && refuse('busy', response)) return;
  if (refuse(rpc.params.name, response)) return;
  const odd = rpc.params.name === 'bom';
  const sse = wire === 'sse';
  const type = rpc.params.name === 'json_rpc' ? 'application/json-rpc' : 'application/json';
  response.writeHead(200, { 'content-type': sse ? 'text/event-stream' : type });
  const newline = odd ? end : '\n';
  response.write(`${odd ? mark : ''}${sse ? `: hello${newline}id: 1${newline}data: ` : ''}`);
  await pump(answer(rpc), response);
  // A stream stays open: what is wrong must be noticed before it ends.
  if (!sse) return void response.end(odd ? end : '');
  response.write(newline + newline);
}

function speakHttp(): void {
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    if (request.method === 'POST') return void takePost(request, response);
    if (mode !== 'endless-stream' || request.method !== 'GET') return void response.writeHead(405).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    void pump(endless('data: '), response);
  });
  // A client that is held up for long still finds its connection.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    console.log(typeof address === 'object' && address !== null ? address.port : 0);
  });
}

if (wire === 'stdio') speakStdio();
else {
  // Its input ends with whoever started it.
  process.stdin.on('end', () => process.exit(0)).resume();
  speakHttp();
}

/**
 * A server of MCP 2026-07-28, which has no sessions, made with the official SDK for servers: over HTTP in the process of the
 * test, over stdio as a program, which gets its options as its first argument.
 */
import { type ServerType, serve } from '@hono/node-server';
import {
  McpServer,
  acceptedContent,
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { McpServerSettings, McpStdioConfig } from '../../../src/mcp/config/config.ts';
import { type JsonObject, isJsonObject } from '../../../src/json/json.ts';
import { COMPILED } from './hostile-entry.ts';
import { onTestFinished } from '../beside.ts';
import { testFolder } from '../test-folder.ts';

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
const seat = {
  type: 'object' as const,
  properties: { seat: { type: 'string' as const } },
  required: ['seat'],
};
const nothing = z.object({});

/** What tests see and steer of a server over HTTP. */
interface Told {
  /** The ids of calls that were given up. */
  readonly givenUp: string[];
  /** The header that the tool `region` wants its argument in. */
  header: string;
  /** How often the tool `once` has begun. */
  begun: number;
  /** A file that says that the tool `die` has ended the program once. */
  readonly mark: string;
}

function makeServer(told: Told): McpServer {
  const server = new McpServer(
    { name: 'stateless', version: '1' },
    {
      instructions: 'Be kind.',
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {} },
    },
  );
  server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) =>
    text(`${a + b}`),
  );
  server.registerTool('book', { inputSchema: nothing }, (_args, { mcpReq }) => {
    const { inputResponses } = mcpReq;
    if (inputResponses === undefined)
      return inputRequired({
        inputRequests: { seat: inputRequired.elicit({ message: 'Which seat?', requestedSchema: seat }) },
        requestState: 'first',
      });
    const given = acceptedContent<{ seat: string }>(inputResponses, 'seat');
    return text(`${String(mcpReq.requestState())}: ${given?.seat ?? JSON.stringify(inputResponses)}`);
  });
  server.registerTool('poem', { inputSchema: nothing }, (_args, { mcpReq: { inputResponses } }) => {
    if (inputResponses !== undefined) return text(JSON.stringify(inputResponses));
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'A poem, please.' } }];
    return inputRequired({ inputRequests: { poem: inputRequired.createMessage({ messages, maxTokens: 50 }) } });
  });
  server.registerTool('where', { inputSchema: nothing }, (_args, { mcpReq: { inputResponses } }) =>
    inputResponses === undefined
      ? inputRequired({ inputRequests: { roots: inputRequired.listRoots() } })
      : text(JSON.stringify(inputResponses)),
  );
  server.registerTool('later', { inputSchema: nothing }, (_args, { mcpReq }) => {
    const round = Number(mcpReq.requestState() ?? 0);
    return round < 2 ? inputRequired({ requestState: String(round + 1) }) : text(`after ${round} rounds`);
  });
  server.registerTool('never', { inputSchema: nothing }, () =>
    inputRequired({
      inputRequests: { seat: inputRequired.elicit({ message: 'And now?', requestedSchema: seat }) },
    }),
  );
  server.registerTool('slow', { inputSchema: nothing }, async (_args, { mcpReq }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    mcpReq.signal.addEventListener('abort', () => {
      told.givenUp.push(String(mcpReq.id));
      resolve();
    });
    const progressToken = mcpReq._meta?.progressToken ?? 0;
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1, message: 'begun' } });
    await promise;
    return text('never told');
  });
  server.registerTool('once', { inputSchema: nothing }, async (_args, { mcpReq }) => {
    told.begun += 1;
    if (told.begun > 1) return text('the second time');
    const progressToken = mcpReq._meta?.progressToken ?? 0;
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
    await new Promise<never>(() => undefined);
    return text('never told');
  });
  server.registerTool('die', { inputSchema: nothing }, () => {
    if (told.mark === '' || existsSync(told.mark)) return text('still here');
    writeFileSync(told.mark, '');
    return process.exit(1);
  });
  server.registerTool('log', { inputSchema: nothing }, async (_args, { mcpReq }) => {
    await mcpReq.log('warning', 'the disk is full');
    await mcpReq.log('info', 'all is well');
    return text('logged');
  });
  const marked = { name: { type: 'string' as const, 'x-mcp-header': told.header } };
  const schema = { type: 'object' as const, properties: { place: { type: 'object' as const, properties: marked } } };
  server.registerTool('region', { inputSchema: fromJsonSchema<{ place?: { name?: string } }>(schema) }, ({ place }) =>
    text(`in ${place?.name ?? 'no place'}`),
  );
  server.registerTool('list', { inputSchema: nothing, outputSchema: z.object({ all: z.array(z.number()) }) }, () => ({
    ...text('[1,2]'),
    structuredContent: { all: [1, 2] },
  }));
  server.registerTool('bare', { inputSchema: nothing, outputSchema: z.array(z.number()) }, () => ({
    ...text('[1,2]'),
    structuredContent: [1, 2],
  }));
  server.registerResource('one', 'note:///one', {}, () => ({ contents: [{ uri: 'note:///one', text: 'a note' }] }));
  server.registerPrompt('greet', { argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Hello ${name}` } }],
  }));
  return server;
}

/** A request that reached the server. */
export interface Reached {
  readonly method: string;
  readonly params: JsonObject;
  readonly headers: Headers;
}

type Refusal = number | 'silence' | JsonObject;

/** The server over HTTP. */
export interface StatelessHttp extends Told {
  readonly url: string;
  readonly reached: readonly Reached[];
  readonly notify: ReturnType<typeof createMcpHandler>['notify'];
  /** Ends all streams; with the same port, it answers again at once. */
  breakStreams(): void;
  /** Confirms that it listens, but to no resource. */
  ignoreResources(): void;
  /** Refuses such requests from now on, with this status, answers them with this result, or never. */
  refuse(method: string, how: Refusal): void;
}

/** Starts the server on a free port, until the test ends. `legacy`: what becomes of clients that open a session. */
export async function startStatelessHttp(
  legacy: 'reject' | 'stateless' = 'reject',
  { maxSubscriptions = 100 } = {},
): Promise<StatelessHttp> {
  const told: Told = { givenUp: [], header: 'Region', begun: 0, mark: '' };
  const reached: Reached[] = [];
  const refused = new Map<string, Refusal>();
  let ignoring = false;
  const handler = createMcpHandler(() => makeServer(told), { legacy, maxSubscriptions });
  const fetch = async (request: Request): Promise<Response> => {
    const message: unknown = request.method === 'POST' ? await request.clone().json() : {};
    const { id = null, method = request.method, params = {} } = isJsonObject(message) ? message : {};
    const headers = new Headers(request.headers);
    if (typeof method === 'string' && isJsonObject(params)) reached.push({ method, params, headers });
    const how = refused.get(String(method));
    if (how === 'silence') return new Promise<never>(() => undefined);
    if (typeof how === 'object') return Response.json({ jsonrpc: '2.0', id, result: how });
    if (ignoring && method === 'subscriptions/listen' && isJsonObject(params) && isJsonObject(params.notifications)) {
      const { resourceSubscriptions: _ignored, ...notifications } = params.notifications;
      const body = JSON.stringify(Object.assign(message ?? {}, { params: { ...params, notifications } }));
      return handler.fetch(new Request(request.url, { method: 'POST', headers, body }));
    }
    return how === undefined ? handler.fetch(request) : new Response('no', { status: how });
  };
  const server = await new Promise<ServerType>((resolve) => {
    const started = serve({ fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false }, () =>
      resolve(started),
    );
  });
  const closeAll = (): void => void ('closeAllConnections' in server && server.closeAllConnections());
  onTestFinished(async () => {
    await handler.close();
    server.close();
    closeAll();
  });
  const address = server.address();
  return Object.assign(told, {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/mcp`,
    reached,
    notify: handler.notify,
    breakStreams: closeAll,
    ignoreResources: () => {
      ignoring = true;
    },
    refuse: (method: string, how: Refusal) => void refused.set(method, how),
  });
}

/** The entry of the server over stdio. */
export function statelessEntry(
  legacy: 'reject' | 'serve' = 'reject',
  settings: McpServerSettings = {},
): McpStdioConfig {
  const mark = join(testFolder(), 'died');
  return {
    command: process.execPath,
    args: [fileURLToPath(import.meta.url), legacy, mark],
    env: COMPILED,
    ...settings,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  serveStdio(() => makeServer({ givenUp: [], header: 'Region', begun: 0, mark: process.argv[3] ?? '' }), {
    legacy: process.argv[2] === 'serve' ? 'serve' : 'reject',
  });

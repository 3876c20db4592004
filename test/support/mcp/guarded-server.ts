/** An MCP server of the SDK that lets nobody in without a token of its authorization server. */
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { AuthServer } from './auth-server.ts';

/** A server behind authorization. */
export interface GuardedServer extends AsyncDisposable {
  readonly url: string;
  /** Calls that were carried out, by tool. */
  readonly calls: string[];
  /** How many sessions were begun. */
  sessions(): number;
  /** Requests that were refused, by status. */
  readonly refused: number[];
  /** The tokens of those that were refused with 401; empty where there was none. */
  readonly refusedTokens: string[];
}

interface GuardOptions {
  /** What it says that it is. Default: its own address. */
  readonly resource?: string;
  /** Every answer is a refusal. */
  readonly refusesAll?: boolean;
  /** Answers `initialize` without a token, and refuses what follows. */
  readonly greetsAll?: boolean;
  /** The authorization server that it names. Default: its own. */
  names?: string;
  /** The scopes that it names to those without a token that holds. Default: `read`. */
  wants?: string;
  /** How long the next refusals take, in milliseconds, one after the other. */
  slowRefusals?: number[];
  /** What its description has besides. */
  readonly adds?: object;
}

/** Starts it. Its tools: `read`, `write` (which needs the scope `write`) and `whoami` (which repeats the token). */
export async function guardedServer(auth: AuthServer, options: GuardOptions = {}): Promise<GuardedServer> {
  const calls: string[] = [];
  const refused: number[] = [];
  const refusedTokens: string[] = [];
  const transports = new Map<string, StreamableHTTPServerTransport>();

  const session = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    const server = new McpServer({ name: 'guarded', version: '1' });
    for (const name of ['read', 'write', 'whoami']) {
      server.registerTool(name, { description: name }, ({ requestInfo }) => {
        calls.push(name);
        const text = name === 'whoami' ? String(requestInfo?.headers.authorization) : `${name} done`;
        return { content: [{ type: 'text', text }] };
      });
    }
    await server.connect(transport);
    return transport;
  };
  /** Its answers repeat what they got, as careless servers do. */
  const refuse = (response: ServerResponse, status: number, challenge: string, token: string): void => {
    refused.push(status);
    const header = `Bearer ${challenge}, resource_metadata="${url.replace('/mcp', '')}/described"`;
    response
      .writeHead(status, { 'www-authenticate': header, 'content-type': 'application/json' })
      .end(JSON.stringify({ token }));
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: unknown = request.method === 'POST' ? JSON.parse(await textOf(request)) : undefined;
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const grant = auth.grantOf(token);
    const isGreeting = options.greetsAll === true && fieldOf(body, 'method') === 'initialize';
    if (isGreeting) return void (await session()).handleRequest(request, response, body);
    if (grant === undefined || options.refusesAll === true) {
      refusedTokens.push(token);
      await new Promise((resolve) => setTimeout(resolve, options.slowRefusals?.shift() ?? 0));
      return refuse(response, 401, `error="invalid_token", scope="${options.wants ?? 'read'}"`, token);
    }
    const needed = toolIn(body) === 'write' ? 'write' : 'read';
    if (!grant.scope.split(' ').includes(needed))
      return refuse(response, 403, `error="insufficient_scope", scope="${needed}"`, token);
    const known = transports.get(String(request.headers['mcp-session-id']));
    await (known ?? (await session())).handleRequest(request, response, body);
  };

  const server = createServer((request, response) => {
    if (request.url === '/described') {
      const described = {
        resource: options.resource ?? url,
        authorization_servers: [options.names ?? auth.url],
        scopes_supported: ['read'],
        ...options.adds,
      };
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(described));
    }
    if (request.url !== '/mcp') return void response.writeHead(404).end();
    void serve(request, response);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${portOf(server.address())}/mcp`;
  return {
    url,
    calls,
    refused,
    refusedTokens,
    sessions: () => transports.size,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function toolIn(body: unknown): unknown {
  return fieldOf(fieldOf(body, 'params'), 'name');
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request) text += String(piece);
  return text;
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}

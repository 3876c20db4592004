import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { onTestFinished } from '../beside.ts';

/** An MCP server over HTTP, in this process and written by hand, that misbehaves on demand. */
export interface HostileHttp {
  readonly url: string;
  /** The names of the tools whose calls came in with a session it knows, in order. */
  readonly calls: readonly string[];
  /** How many requests of each method came in, the refused ones included: `initialize`, `tools/call`, `GET`. */
  readonly counts: ReadonlyMap<string, number>;
  /** The authorization header of every request that came in. */
  readonly authorizations: readonly string[];
  /** How many answers to its own requests came in at once, at most. */
  readonly mostAnswersAtOnce: () => number;
  /** Forgets all sessions; who comes with an old one gets this status. */
  expire(status: 404 | 400): void;
  /** Answers everything with this status; null ends it. */
  refuse(status: number | null): void;
  /** Takes everything and answers nothing, as a process that hangs. */
  freeze(): void;
  /** Ends as a killed process does: connections break, the port is closed. */
  die(): Promise<void>;
  /** Comes back on the same port, with no memory of sessions. */
  revive(): Promise<void>;
}

interface Options {
  /** How calls are answered. */
  readonly answer?: 'json' | 'sse';
  /** Whether it offers a stream for its own messages. */
  readonly listens?: boolean;
  /** Speaks only the older transport: one stream for all answers, requests posted elsewhere. */
  readonly old?: boolean;
  /** Is a web server that knows nothing of MCP. */
  readonly page?: boolean;
  /** Has forgotten each session before its first use, as one of several servers without a common store. */
  readonly forgets?: boolean;
  /** Answers what follows `initialize` with this status, the first time. */
  readonly stumbles?: number;
  /** Stands behind a gateway, which answers the first call with this status: it has lost the connection to the server since. */
  readonly gateway?: number;
  /** Redirects what is posted to its address, with this status and to here. */
  readonly moved?: { readonly status: number; readonly location: string };
}

interface Rpc {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly protocolVersion?: string };
}

const TOOLS = [
  { name: 'echo', inputSchema: { type: 'object' } },
  { name: 'hang', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  { name: 'pay', inputSchema: { type: 'object' }, annotations: { destructiveHint: true } },
  { name: 'hang_pay', inputSchema: { type: 'object' }, annotations: { destructiveHint: true } },
];
const REFUSED =
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"Unsupported protocol version: 2025-11-25"}}';

/** Starts the server on a free port of the loopback interface; it ends with the test. */
export async function startHostileHttp({
  answer = 'sse',
  listens = true,
  old = false,
  page = false,
  forgets = false,
  stumbles,
  gateway,
  moved,
}: Options = {}): Promise<HostileHttp> {
  const calls: string[] = [];
  const counts = new Map<string, number>();
  const authorizations: string[] = [];
  const streams = new Set<ServerResponse>();
  const answersNow = { count: 0, most: 0 };
  let sessions = new Set<string>();
  let issued = 0;
  let expiredStatus: 404 | 400 = 404;
  let refusal: number | null = null;
  let frozen = false;
  let port = 0;

  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const reply = (rpc: Rpc): object | null => {
    const { method, params } = rpc;
    const id = params?.name === 'foreign' ? 4711 : rpc.id;
    const result = (value: object): object => ({ jsonrpc: '2.0', id, result: value });
    if (method === 'initialize') {
      const serverInfo = { name: 'hostile-http', version: '1' };
      return result({ protocolVersion: params?.protocolVersion, serverInfo, capabilities: { tools: {} } });
    }
    if (method === 'tools/list') return result({ tools: TOOLS });
    if (method !== 'tools/call') return result({});
    const name = params?.name ?? '';
    calls.push(name);
    const length = name === 'many_lines' ? 1000 : name === 'lines' ? 20 : 1;
    const texts = Array.from({ length }, () => ({ type: 'text', text: name }));
    return name.startsWith('hang') ? null : result({ content: texts });
  };
  const stream = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    streams.add(response);
    response.once('close', () => streams.delete(response));
  };
  const oldStyle = (request: IncomingMessage, response: ServerResponse, rpc: Rpc | null): void => {
    if (request.method === 'GET') {
      stream(response);
      response.write('event: endpoint\ndata: /messages\n\n');
      return;
    }
    if (rpc === null || request.url !== '/messages') return void response.writeHead(405).end();
    const message = rpc.id === undefined ? null : reply(rpc);
    for (const open of streams)
      if (message !== null) open.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    response.writeHead(202).end();
  };
  const onPings = (more: number, then: () => void): void => {
    const before = counts.get('ping') ?? 0;
    const timer = setInterval(() => {
      if ((counts.get('ping') ?? 0) < before + more) return;
      clearInterval(timer);
      then();
    }, 5);
    timer.unref();
  };
  const newStyle = (request: IncomingMessage, response: ServerResponse, rpc: Rpc | null): void => {
    const session = request.headers['mcp-session-id'];
    if (rpc?.method !== 'initialize' && !(typeof session === 'string' && sessions.has(session))) {
      response.writeHead(expiredStatus, { 'content-type': 'application/json' });
      return void response.end(
        JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }),
      );
    }
    const resumeAt = request.headers['last-event-id'];
    if (request.method === 'GET' && typeof resumeAt === 'string') {
      if (!resumeAt.startsWith('resumable-')) return void response.writeHead(405).end();
      stream(response);
      const [, of, place] = resumeAt.split('-');
      // All events since, as the reference server repeats them: what opened streams, and answers to other requests. Then it breaks.
      if (place === 'opened') {
        const params = { progressToken: Number(of), progress: 1 };
        const progress = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params });
        response.write(`id: ${resumeAt}\ndata: {}\n\ndata: ${progress}\n\n`);
        const known = JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} });
        const before = resumeAt.replace('opened', 'repeated');
        return onPings(3, () => void response.end(`event: message\nid: ${before}\ndata: ${known}\n\n`));
      }
      const answered = {
        jsonrpc: '2.0',
        id: Number(resumeAt.split('-')[1]),
        result: { content: [{ type: 'text', text: 'resumed' }] },
      };
      return void response.end(`id: end\ndata: ${JSON.stringify(answered)}\n\n`);
    }
    if (request.method === 'GET') return listens ? stream(response) : void response.writeHead(405).end();
    if (rpc === null) return void response.writeHead(200).end();
    if (rpc.method === 'initialize') {
      issued += 1;
      if (!forgets) sessions.add(`session-${issued}`);
      response.setHeader('mcp-session-id', `session-${issued}`);
    }
    if (stumbles !== undefined && rpc.method !== 'initialize' && counts.get('notifications/initialized') === 1)
      return void response.writeHead(stumbles).end();
    if (rpc.id === undefined) return void response.writeHead(202).end();
    if (rpc.method === undefined) {
      answersNow.count += 1;
      answersNow.most = Math.max(answersNow.most, answersNow.count);
      const taken = (): void => void ((answersNow.count -= 1), response.writeHead(202).end());
      return void setTimeout(taken, 5);
    }
    if (rpc.params?.name === 'gone') return void response.writeHead(404).end();
    if (rpc.params?.name === 'refused') return void response.writeHead(400).end(REFUSED);
    const message = reply(rpc);
    if (gateway !== undefined && rpc.method === 'tools/call' && calls.length === 1)
      return void response.writeHead(gateway, { 'content-type': 'text/html' }).end('<h1>Service unavailable</h1>');
    // Its lines are short, and so are the pieces in which it comes.
    const spaces = rpc.params?.name?.endsWith('lines') === true ? 1 : 0;
    if (answer === 'json') {
      if (message === null) return;
      response.writeHead(200, { 'content-type': 'application/json' });
      return void Readable.from(inPieces(JSON.stringify(message, null, spaces))).pipe(response);
    }
    stream(response);
    const name = rpc.params?.name ?? '';
    // The stream breaks off and says where it may be taken up again, truthfully or not.
    if (name === 'resumable' || name === 'unresumable')
      return void response.end(`retry: 10\nid: ${name}-${rpc.id}\ndata:\n\n`);
    if (name === 'repeats') return void response.end(`retry: 10\nid: resumable-${rpc.id}-opened\ndata:\n\n`);
    if (name === 'cut') return void response.end();
    if (name === 'asks' || name === 'asks_on') {
      const ping = (at: number): string => `data: {"jsonrpc":"2.0","id":"ask ${at}","method":"ping"}\n\n`;
      response.write(Array.from({ length: name === 'asks' ? 500 : 5000 }, (_, at) => ping(at)).join(''));
    }
    // What comes before an event is no part of it.
    if (spaces > 0) response.write('retry: 10\n\n'.repeat(2000));
    const data = JSON.stringify(message, null, spaces).replaceAll('\n', '\ndata: ');
    if (message !== null) response.end(`event: message\ndata: ${data}\n\n`);
  };
  const server = createServer((request, response) => {
    void readBody(request).then((rpc) => {
      count(rpc?.method ?? request.method ?? '');
      authorizations.push(request.headers.authorization ?? '');
      if (frozen) return;
      if (moved !== undefined && request.url === '/mcp')
        return void response.writeHead(moved.status, { location: moved.location }).end();
      if (page) return void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hello</h1>');
      if (refusal !== null) return void response.writeHead(refusal).end(refusal === 400 ? REFUSED : undefined);
      (old ? oldStyle : newStyle)(request, response, rpc);
    });
  });
  const listen = async (): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
  };
  const die = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  await listen();
  onTestFinished(die);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    calls,
    counts,
    authorizations,
    mostAnswersAtOnce: () => answersNow.most,
    expire(status) {
      sessions = new Set();
      expiredStatus = status;
    },
    refuse: (status) => void (refusal = status),
    freeze: () => void (frozen = true),
    die,
    async revive() {
      sessions = new Set();
      await listen();
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Rpc | null> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return chunks.length === 0 ? null : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/** A text bit by bit: what is written at once arrives at once. */
async function* inPieces(text: string): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += 4000) {
    yield text.slice(at, at + 4000);
    await wait(1);
  }
}

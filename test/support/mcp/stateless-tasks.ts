/** A server of MCP 2026-07-28 whose one tool runs as a task (the extension for tasks), over HTTP in the process of the test. */
import { createServer } from 'node:http';
import { type JsonObject, isJsonObject } from '../../../src/json/json.ts';
import { onTestFinished } from '../beside.ts';

/** What a test says of the task, as arguments of its call. */
export interface TaskArgs extends JsonObject {
  /** After how many polls it is over. */
  readonly polls?: number;
  /** Needs a seat before it goes on. */
  readonly asks?: boolean;
  readonly end?: 'completed' | 'failed' | 'cancelled' | 'silent';
  /** The poll at which the connection breaks. */
  readonly dropAt?: number;
}

interface Reached {
  readonly method: string;
  readonly params: JsonObject;
  readonly name: string | undefined;
}

/** The server. */
export interface TasksServer {
  readonly url: string;
  readonly reached: readonly Reached[];
  /** Requests of a method, in order. */
  received(method: string): readonly Reached[];
}

/** A tool that is of no use and must cost no other one. */
const DEEP = { name: 'deep', inputSchema: nested(3000) };

function nested(depth: number): JsonObject {
  let schema: JsonObject = { type: 'string' };
  for (let at = 0; at < depth; at++) schema = { items: schema };
  return { type: 'object', properties: { schema } };
}

const QUESTION = {
  method: 'elicitation/create',
  params: {
    message: 'Which seat?',
    requestedSchema: { type: 'object', properties: { seat: { type: 'string' } }, required: ['seat'] },
  },
};

/** Starts the server on a free port, until the test ends. */
export async function startTasksServer(): Promise<TasksServer> {
  const reached: Reached[] = [];
  const task = { args: {} as TaskArgs, polls: 0, seat: '', given: '', shownAt: 0, isCancelled: false };
  const stateOf = (): JsonObject => {
    const { args, polls, seat } = task;
    const common = { resultType: 'complete', taskId: 'task-1', statusMessage: `poll ${polls}`, pollIntervalMs: 100 };
    if (task.isCancelled) return { ...common, status: 'cancelled' };
    if (args.asks === true && seat === '')
      return { ...common, status: 'input_required', inputRequests: { seat: QUESTION } };
    if (polls < (args.polls ?? 2)) return { ...common, status: 'working' };
    const content = [{ type: 'text', text: `done ${seat}` }];
    switch (args.end) {
      case 'failed':
        return { ...common, status: 'failed', error: { code: -32_000, message: 'the disk is full' } };
      case 'cancelled':
        return { ...common, status: 'cancelled' };
      case 'silent':
        return { ...common, status: 'completed' };
      default:
        return { ...common, status: 'completed', result: { content, resultType: 'complete' } };
    }
  };
  const answerTo = ({ method, params }: Reached): JsonObject | null => {
    switch (method) {
      case 'server/discover': {
        const capabilities = { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
        return {
          result: {
            resultType: 'complete',
            supportedVersions: ['2026-07-28'],
            capabilities,
            ttlMs: 0,
            cacheScope: 'private',
          },
        };
      }
      case 'tools/list':
        return {
          result: {
            resultType: 'complete',
            tools: [{ name: 'research', inputSchema: { type: 'object' } }, DEEP],
            ttlMs: 0,
            cacheScope: 'private',
          },
        };
      case 'tools/call': {
        const { _meta } = params;
        if (!JSON.stringify(_meta).includes('"extensions":{"io.modelcontextprotocol/tasks":{}}'))
          return { error: { code: -32_021, message: 'needs tasks' } };
        task.args = isJsonObject(params.arguments) ? params.arguments : {};
        return { result: { ...stateOf(), resultType: 'task', status: 'working' } };
      }
      case 'tasks/get':
        task.polls += 1;
        if (task.polls >= task.shownAt) task.seat = task.given;
        return task.polls === task.args.dropAt ? null : { result: stateOf() };
      case 'tasks/update': {
        const { seat } = isJsonObject(params.inputResponses) ? params.inputResponses : {};
        const content = isJsonObject(seat) ? seat.content : undefined;
        // The next poll does not show it yet.
        [task.given, task.shownAt] = [JSON.stringify(content ?? seat), task.polls + 2];
        return { result: { resultType: 'complete' } };
      }
      case 'tasks/cancel':
        task.isCancelled = true;
        return { result: { resultType: 'complete' } };
      default:
        return {
          error: { code: -32_022, message: 'Unsupported protocol version', data: { supported: ['2026-07-28'] } },
        };
    }
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    if (request.method !== 'POST') return response.writeHead(405).end();
    const message: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (!isJsonObject(message) || typeof message.method !== 'string') return response.writeHead(400).end();
    const params = isJsonObject(message.params) ? message.params : {};
    const one = { method: message.method, params, name: String(request.headers['mcp-name']) };
    reached.push(one);
    const answer = answerTo(one);
    if (answer === null) return request.socket.destroy();
    const status = answer.error === undefined ? 200 : 400;
    response.writeHead(status, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/mcp`,
    reached,
    received: (method) => reached.filter((one) => one.method === method),
  };
}

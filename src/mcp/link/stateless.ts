/**
 * Owns: requests to a server of MCP 2026-07-28 or later, which has no sessions and sends no requests: it answers "input
 * required" instead, and is asked again with the answers. Does not own: who gives the answers.
 *
 * I1 Each round of a request is one request on the wire; what the server said of its state goes back as it came.
 * I2 What it no longer knows (`ping`, `logging/setLevel`, `resources/subscribe`) is done in the way that it has for it.
 */
import { type Client, LOG_LEVEL_META_KEY } from '@modelcontextprotocol/client';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { McpTool } from '../../actors/mcp/mcp-calls.ts';
import { LinkFault } from '../wire/faults.ts';
import type { LinkIo, McpLink, McpServerInfo, RequestIo } from '../wire/link.ts';
import { type HeaderArgument, headerArguments, headersFor } from './header-arguments.ts';
import { type Ask, listAllTools } from './list-tools.ts';
import { Listening } from './listening.ts';
import { StatelessTasks, taskIn } from './stateless-tasks.ts';
import type { Answer } from './answer-request.ts';

interface StatelessOptions {
  /** Sends one request and gives its result as it came. */
  readonly ask: Ask;
  readonly client: Client;
  readonly info: McpServerInfo;
  readonly io: LinkIo;
  readonly answer: Answer;
}

/** How often one request may need more before it has its result. */
const MOST_ROUNDS = 32;
/** The wait before a server is asked again that wanted nothing but to be asked again. */
const PAUSE_MS = 250;
/** JSON-RPC code: a header does not say what the request says. */
const HEADER_MISMATCH = -32020;

/** The requests of one link to a server without sessions. */
export class StatelessRequests {
  readonly #options: StatelessOptions;
  readonly #listening: Listening;
  readonly #tasks: StatelessTasks;
  #level: Json | undefined;
  #headers: ReadonlyMap<string, readonly HeaderArgument[]> = new Map();

  constructor(options: StatelessOptions) {
    this.#options = options;
    const { client, info, io } = options;
    this.#listening = new Listening({ client, capabilities: info.capabilities, io });
    this.#tasks = new StatelessTasks({
      ask: (...asked) => this.#rounds(...asked),
      answer: (request, signal) => this.#answer(request, signal),
    });
  }

  /** Resolves when the server reports changes, or after a moment. */
  begin(): Promise<void> {
    return this.#listening.begin();
  }

  end(): void {
    this.#listening.end();
  }

  methods(): Pick<McpLink, 'listTools' | 'callTool' | 'request' | 'ping'> {
    return {
      listTools: (io) => this.#listTools(io),
      callTool: (tool, args, { task: _task, ...io }) => this.#callTool(tool, args, io),
      request: (method, params, io) => this.#request(method, params, io),
      ping: async (io) => {
        await this.#options.ask('server/discover', {}, io).catch((fault: unknown) => {
          if (!(fault instanceof LinkFault) || fault.kind !== 'answer') throw fault;
        });
      },
    };
  }

  async #listTools(io: RequestIo): Promise<readonly McpTool[]> {
    const { info, io: link } = this.#options;
    if (info.capabilities.tools === undefined) return [];
    const listed = await listAllTools((...asked) => this.#rounds(...asked), io, link);
    if (info.transport !== 'streamable') return listed;
    const headers = new Map(listed.map(({ name, inputSchema }) => [name, headerArguments(inputSchema)] as const));
    this.#headers = new Map([...headers].flatMap(([name, sent]) => (sent === null ? [] : [[name, sent] as const])));
    return listed.filter(({ name }) => {
      if (headers.get(name) !== null) return true;
      const message = `its tool '${name}' was left out: its schema wants a header (x-mcp-header) that the protocol forbids`;
      link.onWarning({ kind: 'bad-tool', message });
      return false;
    });
  }

  async #callTool(tool: string, args: JsonObject, io: RequestIo): Promise<JsonObject> {
    const call = (): Promise<JsonObject> => {
      const headers = headersFor(this.#headers.get(tool) ?? [], args);
      return this.#rounds('tools/call', { name: tool, arguments: args }, { ...io, headers });
    };
    try {
      return await call();
    } catch (fault) {
      if (!(fault instanceof LinkFault) || fault.kind !== 'answer' || fault.data.code !== HEADER_MISMATCH) throw fault;
      // Its schema has changed; the call was refused before it began.
      await this.#listTools({ signal: io.signal });
      return call();
    }
  }

  async #request(method: string, params: JsonObject, io: RequestIo): Promise<Json> {
    const uri = typeof params.uri === 'string' ? params.uri : '';
    switch (method) {
      case 'logging/setLevel':
        this.#level = params.level;
        return {};
      case 'resources/subscribe':
        await this.#listening.follow(uri);
        return {};
      case 'resources/unsubscribe':
        await this.#listening.leave(uri);
        return {};
      case 'tasks/get':
        return this.#tasks.status(params, io);
      case 'tasks/result':
        return this.#tasks.result(params, io);
      default:
        return this.#rounds(method, params, io);
    }
  }

  /** Sends a request, again with each answer that the server wants to have, until it has its result. */
  async #rounds(method: string, params: JsonObject, { meta, ...io }: RequestIo): Promise<JsonObject> {
    const level = this.#level === undefined ? {} : { [LOG_LEVEL_META_KEY]: this.#level };
    let given = params;
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const result = await this.#options.ask(method, given, { ...io, meta: { ...meta, ...level } });
      const { resultType = 'complete', inputRequests, requestState } = result;
      if (resultType === 'complete') return result;
      if (resultType === 'task' && method === 'tools/call') return { task: taskIn(result) };
      if (resultType !== 'input_required') throw badResult(`a result of type ${JSON.stringify(resultType)}`);
      const wanted = isJsonObject(inputRequests) ? Object.entries(inputRequests) : [];
      if (wanted.length === 0) await this.#pause(requestState);
      const inputResponses: Record<string, Json> = {};
      for (const [key, request] of wanted) inputResponses[key] = await this.#answer(request, io.signal);
      given = {
        ...params,
        ...(wanted.length === 0 ? {} : { inputResponses }),
        ...(requestState === undefined ? {} : { requestState }),
      };
    }
    throw new LinkFault('answer', `it asked for more ${MOST_ROUNDS} times`, { delivered: true });
  }

  async #pause(state: Json | undefined): Promise<void> {
    if (typeof state !== 'string') throw badResult('"input required" and does not say which');
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#options.io.clock.setTimeout(resolve, PAUSE_MS);
    await promise;
  }

  async #answer(request: Json, signal: AbortSignal): Promise<JsonObject> {
    const { method, params = {} }: JsonObject = isJsonObject(request) ? request : {};
    if (typeof method !== 'string' || !isJsonObject(params)) throw badResult('a request for input without a method');
    try {
      return await this.#options.answer({ method, params }, signal);
    } catch (refusal) {
      const why = refusal instanceof Error ? refusal.message : String(refusal);
      const message = `it needs an answer to ${method.slice(0, 100)}, and there is none: ${why}`;
      throw new LinkFault('answer', message, { delivered: true, cause: refusal });
    }
  }
}

function badResult(what: string): LinkFault {
  return new LinkFault('answer', `it answered with ${what.slice(0, 200)}, which cannot be used`, { delivered: true });
}

import type { McpLink, McpProgress } from '../wire/link.ts';
import type { McpError, McpQuestion } from '../../actors/mcp/mcp-calls.ts';
import { isList } from '../../json/depth.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { McpServer } from '../config/config.ts';
import type { CallQueue } from './call-queue.ts';
import type { McpLimits } from '../config/server-limits.ts';
import { optionsOf } from '../../json/known-options.ts';
import type { Effects } from '../../tools/spec.ts';
import { LinkFault, METHOD_NOT_FOUND, pastLimit, toMcpError } from '../wire/faults.ts';

/** How one call is made. */
export interface McpCallOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Longest time in milliseconds, waiting for the connection included; it restarts when the server reports progress or
   * has asked a person. Default: the server's `timeoutMs`.
   */
  readonly timeoutMs?: number | undefined;
  readonly onProgress?: ((progress: McpProgress) => void) | undefined;
  /** Receives what the server asks while this call is under way. The server does not say for which of several calls it asks. */
  readonly onQuestion?: ((question: McpQuestion) => void) | undefined;
  /**
   * What repeating the call would do, as far as the caller knows: it counts where the server does not list the tool, or not
   * any more.
   */
  readonly effects?: Effects | undefined;
  /** The caller's trace, as W3C writes it in a header of that name: sent in `_meta`. Anything else is not sent. */
  readonly traceparent?: string | undefined;
  /** Receives secrets that a person typed while this call was under way, to keep them out of logs. */
  readonly onHidden?: ((text: string) => void) | undefined;
}

/** How any other request is made. */
export type McpRequestOptions = Pick<McpCallOptions, 'signal' | 'timeoutMs' | 'traceparent'>;

/** Proposals of a server for a value. */
export interface McpCompletion {
  /** At most 100. */
  readonly values: readonly string[];
  /** The total, if the server reports it. */
  readonly total?: number;
  readonly hasMore: boolean;
}

/** One piece of a resource: text, or base64 in `blob`. */
export interface McpResourceContent {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
}

/** A prompt of a server, ready to be sent to a model. */
export interface McpPrompt {
  readonly description?: string;
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: Json }[];
}

interface RequestsOptions {
  readonly server: McpServer;
  readonly queue: CallQueue;
  readonly limits: McpLimits;
  /** Why nothing can be asked at the moment; null when it can. */
  readonly refusal: () => McpError | null;
}

/** The names of the options of any other request. */
export const REQUEST_OPTIONS = { signal: true, timeoutMs: true, traceparent: true } as const;

const checkRequest = optionsOf<McpRequestOptions>('The request', 'docs/mcp.md', REQUEST_OPTIONS);

/** What a request is: for texts, on the wire, and how it is made. */
interface Ask {
  /** For texts: `the list of resources`. */
  readonly what: string;
  readonly method: string;
  readonly params: JsonObject;
  readonly io: McpRequestOptions;
  /** May throw instead of sending it on a link. */
  readonly check?: (link: McpLink) => void;
}

/** The requests of a connection that change nothing: they wait for it, and are repeated, without further thought. */
export class Requests {
  readonly #options: RequestsOptions;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  /** One request, on the next link that is ready. Rejects with an {@link McpError}. */
  async ask({ what, method, params, io, check }: Ask): Promise<JsonObject> {
    const { server, queue, refusal } = this.#options;
    checkRequest(io, `MCP server '${server.name}', ${what}`);
    const refused = refusal();
    if (refused !== null) throw refused;
    const { timeoutMs = server.settings.timeoutMs } = io;
    return queue.submit({
      what,
      repeat: () => 'allowed',
      isReadOnly: () => true,
      times: { silenceMs: timeoutMs, totalMs: timeoutMs },
      signal: io.signal,
      perform: async ({ link }, signal) => {
        check?.(link);
        if (method === '' || lacks(link, method)) return {};
        try {
          const answer = await link.request(method, params, { signal, ...traceMeta(io.traceparent) });
          return isJsonObject(answer) ? answer : {};
        } catch (fault) {
          // Many have resources and know no list of templates.
          if (method.endsWith('/list') && fault instanceof LinkFault && fault.data.code === METHOD_NOT_FOUND) return {};
          throw fault;
        }
      },
    });
  }

  /** Resolves when the connection is READY. */
  async ready(io: McpRequestOptions): Promise<void> {
    await this.ask({ what: 'the list of tools', method: '', params: {}, io });
  }

  async readResource(uri: string, io: McpRequestOptions = {}): Promise<readonly McpResourceContent[]> {
    const answer = await this.ask({ what: `the resource '${uri}'`, method: 'resources/read', params: { uri }, io });
    return objectsIn(answer.contents).map((content) => readContent(uri, content));
  }

  listResourceTemplates(io: McpRequestOptions = {}): Promise<readonly JsonObject[]> {
    return this.#pages('the list of resource templates', 'resources/templates/list', 'resourceTemplates', io);
  }

  listResources(io: McpRequestOptions = {}): Promise<readonly JsonObject[]> {
    return this.#pages('the list of resources', 'resources/list', 'resources', io);
  }

  listPrompts(io: McpRequestOptions = {}): Promise<readonly JsonObject[]> {
    return this.#pages('the list of prompts', 'prompts/list', 'prompts', io);
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    io: McpRequestOptions = {},
  ): Promise<McpPrompt> {
    const params = { name, arguments: args };
    const answer = await this.ask({ what: `the prompt '${name}'`, method: 'prompts/get', params, io });
    return readPrompt(this.#options.server.name, answer);
  }

  async complete(
    of: { readonly prompt: string } | { readonly resource: string },
    {
      name,
      value,
      given,
    }: { readonly name: string; readonly value: string; readonly given?: Readonly<Record<string, string>> },
    io: McpRequestOptions = {},
  ): Promise<McpCompletion> {
    const ref: JsonObject =
      'prompt' in of ? { type: 'ref/prompt', name: of.prompt } : { type: 'ref/resource', uri: of.resource };
    const context = given === undefined ? {} : { context: { arguments: { ...given } } };
    const params = { ref, argument: { name, value }, ...context };
    const answer = await this.ask({ what: `completions of '${name}'`, method: 'completion/complete', params, io });
    return readCompletion(answer.completion);
  }

  async #pages(what: string, method: string, member: string, io: McpRequestOptions): Promise<readonly JsonObject[]> {
    const { server, limits } = this.#options;
    const items: JsonObject[] = [];
    const seen = new Set<string>();
    let bytes = 0;
    const tooLong = (limit: 'listPages' | 'messageBytes', how: string): McpError =>
      toMcpError(server.name, pastLimit(limit, `${what} ${how}`, limits));
    for (let params: JsonObject | null = {}; params !== null;) {
      if (seen.size >= limits.listPages) throw tooLong('listPages', 'has more pages');
      const page: JsonObject = await this.ask({ what, method, params, io });
      bytes += Buffer.byteLength(JSON.stringify(page));
      if (bytes > limits.messageBytes) throw tooLong('messageBytes', 'is larger');
      for (const item of objectsIn(page[member])) items.push(item);
      const next: Json | undefined = page.nextCursor;
      const more = typeof next === 'string' && next !== '' && !seen.has(next);
      if (more) seen.add(next);
      params = more ? { cursor: next } : null;
    }
    return items;
  }
}

/** A server that has no lists of a kind, or no completions, is not asked for them: many answer that with an error. */
function lacks({ info: { capabilities } }: McpLink, method: string): boolean {
  const [kind = ''] = method.split('/');
  if (kind === 'completion') return capabilities.completions === undefined;
  return method.endsWith('/list') && capabilities[kind] === undefined;
}

function readContent(uri: string, { uri: own, mimeType, text, blob }: JsonObject): McpResourceContent {
  return {
    uri: typeof own === 'string' ? own : uri,
    ...(typeof mimeType === 'string' ? { mimeType } : {}),
    ...(typeof text === 'string' ? { text } : {}),
    ...(typeof blob === 'string' ? { blob } : {}),
  };
}

function readCompletion(completion: Json | undefined): McpCompletion {
  const { values, total, hasMore }: JsonObject = isJsonObject(completion) ? completion : {};
  return {
    values: isList(values) ? values.filter((value) => typeof value === 'string') : [],
    ...(typeof total === 'number' ? { total } : {}),
    hasMore: hasMore === true,
  };
}

function readPrompt(server: string, answer: JsonObject): McpPrompt {
  const wrong = 'its prompt does not follow the protocol';
  if (!isList(answer.messages)) throw toMcpError(server, new LinkFault('answer', wrong, { delivered: true }));
  const messages = objectsIn(answer.messages).map(({ role, content }) => ({
    role: role === 'assistant' ? ('assistant' as const) : ('user' as const),
    content: content ?? null,
  }));
  return { ...(typeof answer.description === 'string' ? { description: answer.description } : {}), messages };
}

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return isList(value) ? value.filter(isJsonObject) : [];
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** What a request carries of the caller's trace in its `_meta`: a `traceparent` as W3C has it, and nothing else. */
export function traceMeta(traceparent: string | undefined): { readonly meta?: JsonObject } {
  return traceparent !== undefined && TRACEPARENT.test(traceparent) ? { meta: { traceparent } } : {};
}

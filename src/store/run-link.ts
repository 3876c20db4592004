/** Owns: how a store reaches its run, and what is sent between a store and a server. Does not own: what is shown. */
import type { SomeRun } from '../agent/run/run.ts';
import type { JsonObject } from '../json/json.ts';
import type { AgentPath } from '../machines/contract/run-result.ts';
import type { ShownEvent } from './run-fold.ts';
import type { RunSnapshot, ViewError } from './view-types.ts';

/** Headers by their names. */
type RequestHeaders = Readonly<Record<string, string>>;

/** How a run is followed over the network. */
export interface RunStoreOptions {
  /** Sent with every request. A function is called for each: a token may have been renewed. */
  readonly headers?: RequestHeaders | (() => RequestHeaders | Promise<RequestHeaders>) | undefined;
  /** Whether cookies go to another origin. Default: the browser's, `same-origin`. */
  readonly credentials?: 'include' | 'omit' | 'same-origin' | undefined;
  /** Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Milliseconds before a lost connection is opened again; doubled each time, up to 30 times of it. Default 500. */
  readonly retryMs?: number | undefined;
}

/** What a server sends in one message: events that happened together, or the machine's path after them. */
export interface SentGroup {
  readonly events?: readonly ShownEvent[];
  readonly state?: AgentPath;
}

/** What is sent to a server. All but `send` name the run, an answer also its call. */
export interface StoreRequest {
  readonly type: 'approve' | 'reject' | 'send' | 'steer' | 'stop';
  readonly runId?: string;
  readonly callId?: string;
  /** Of the arguments that were shown. */
  readonly digest?: string | undefined;
  readonly args?: JsonObject | undefined;
  /** The message, or why a call is denied. */
  readonly text?: string;
}

/** How a store reaches its run. */
export interface RunLink {
  /** Follows it to its end, or until the signal aborts. Resolves with why that is refused. */
  readonly follow: (take: (news: readonly RunNews[]) => void, signal: AbortSignal) => Promise<ViewError | undefined>;
  readonly request: (request: StoreRequest) => Promise<RequestAnswer>;
}

/** What a store receives: of the run, and of the way to it. */
export type RunNews = SentGroup & Partial<Pick<RunSnapshot, 'connection' | 'error'>>;

/** What a server answers to a request. `ok`: it took effect. */
export interface RequestAnswer {
  readonly ok: boolean;
  readonly error?: ViewError;
}

const NOT_OPEN: RequestAnswer = { ok: false, error: { code: 'over', message: 'No such run or call is open.' } };

/** A run of this process. Its `pending` may hold what no event reports, such as a sign-in. */
export function linkToRun(run: SomeRun): RunLink {
  return {
    follow: async (take, signal) => {
      take([{ connection: 'open' }]);
      try {
        for await (const event of run) {
          if (signal.aborted) break;
          take([{ events: [event], state: run.state.path }]);
        }
        return undefined;
      } catch (error) {
        return errorOf(error);
      }
    },
    request: async (request) => ((await isTaken(run, request)) ? { ok: true } : NOT_OPEN),
  };
}

async function isTaken(run: SomeRun, { type, callId = '', args, text = '' }: StoreRequest): Promise<boolean> {
  if (type === 'approve') return run.approve(callId, args && { args });
  if (type === 'reject') return run.reject(callId, text);
  if (type === 'stop') return run.cancel();
  const id = String(Math.random());
  const delivery = run[type === 'steer' ? type : 'queue'](text, { id });
  const known = delivery.then((one) => one.delivered || one.reason === 'kept');
  // It may be delivered much later.
  const received = async (): Promise<boolean> => {
    for await (const event of run) if ('id' in event && event.id === id) return true;
    return known;
  };
  return Promise.race([known, received()]);
}

/** A chat behind a URL: GET follows it, POST sends it a request. */
export function linkToUrl(
  url: string,
  { headers, credentials, fetch: ask = fetch, retryMs = 500 }: RunStoreOptions,
): RunLink {
  let position: string | undefined;
  const send = async (own: RequestHeaders, init: RequestInit): Promise<Response> => {
    const given = typeof headers === 'function' ? await headers() : headers;
    return ask(url, { ...init, headers: { ...given, ...own }, ...(credentials && { credentials }) });
  };
  return {
    follow: async (take, signal) => {
      for (let failures = 0; !signal.aborted; failures++) {
        take([{ connection: failures ? 'retrying' : 'connecting' }]);
        let ms = (retryMs / 2) * Math.min(2 ** failures, 30) * (1 + Math.random());
        try {
          const last = position && { 'last-event-id': position };
          // Firefox would let a page that is loaded again wait for what the page before asks in its last moments.
          const response = await send({ accept: 'text/event-stream', ...last }, { signal, cache: 'no-store' });
          ms += Math.min(Number(response.headers.get('retry-after')) * 1000 || 0, 6e5);
          // Nothing is new and no run is live, it is refused, or another answers, such as a page to sign in on. 429 passes.
          if (/^(4(?!29)|2(?!00 text.ev))/.test(response.status + ' ' + response.headers.get('content-type'))) {
            return (await answerOf(response)).error;
          }
          if (response.ok && response.body) {
            take([{ connection: 'open' }]);
            for await (const messages of messagesIn(response.body.getReader())) {
              if (signal.aborted) return undefined;
              take(messages.map(([data]) => JSON.parse(data)));
              // It stood until a proxy let no stream last longer.
              if (!messages.length) failures = Math.min(failures, 0);
              for (const [, id] of messages) if (id) [position, failures] = [id, -1];
            }
          }
        } catch {
          // It is opened again.
        }
        if (failures >= 0) await new Promise((resolve) => setTimeout(resolve, ms));
      }
      return undefined;
    },
    request: async (request) => {
      const init = { method: 'POST', body: JSON.stringify(request) };
      return request.runId === '' ? NOT_OPEN : answerOf(await send({ 'content-type': 'application/json' }, init));
    },
  };
}

async function answerOf(response: Response): Promise<RequestAnswer> {
  // Another server may say anything.
  const { ok = response.status === 204, error }: Partial<RequestAnswer> = Object(
    await response.json().catch(() => null),
  );
  const said = error?.message ? error : `HTTP ${response.status}, not from runStream.serve`;
  return ok && response.ok ? { ok } : { ok: false, error: errorOf(said) };
}

export function errorOf(reason: unknown): ViewError {
  const { code = 'request-failed', message = String(reason) }: { code?: string; message?: string } = Object(reason);
  return { code, message };
}

/** A message of a server; it has no id where it is not recorded. */
type ServerMessage = readonly [data: string, id: string | undefined];

/**
 * The server-sent events of a body, in lists of what arrives together, without one that was cut off; an empty list is a sign that
 * the connection stands. JSON holds no line feed.
 */
export async function* messagesIn(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<readonly ServerMessage[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    // A server shows every few seconds that a connection stands. One without a sign for a minute is lost, though nothing said so.
    const silent = setTimeout(() => reader.cancel().catch(() => 0), 60_000);
    const { done, value } = await reader.read().finally(() => clearTimeout(silent));
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    if (!blocks.length) continue;
    yield blocks.flatMap((block): readonly ServerMessage[] => {
      const [, id, data] = /^(?:id: (.*?)\n)?data: (.*)/s.exec(block) ?? [];
      return data ? [[data, id]] : [];
    });
  }
}

import type { McpClock, McpProgress, McpServerInfo } from './link.ts';
import { LinkFault } from './faults.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';

/** A JSON-RPC message, as far as a transport looks at it. */
export type WireMessage = Readonly<Record<string, unknown>>;

/** What the SDK's client needs of a transport; it sets the three callbacks itself. */
export interface WireTransport {
  start(): Promise<void>;
  send(message: WireMessage): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: WireMessage) => void) | undefined;
}

/** A transport with its state: what is under way, whether it has died, and why. */
export interface Wire<T> {
  readonly transport: T;
  readonly kind: McpServerInfo['transport'];
  readonly requests: PendingRequests;
  /** Set when the wire has died: the fault that all later requests meet. */
  readonly dead: () => LinkFault | null;
  /** What helps to understand a failure: the end of stderr. */
  readonly evidence: () => JsonObject;
  /** Ends all requests that the SDK does not know. */
  readonly end: (how: 'gently' | 'at-once') => Promise<void>;
}

/** What is known of one request on the wire. */
export interface PendingRequest {
  readonly id: unknown;
  readonly method: string;
  /** False as long as the server cannot have begun with it. */
  delivered: boolean;
  /** Where its stream can be resumed after it broke; null if it cannot. */
  resumeAt: string | null;
  /** How often that was tried in vain. */
  failedResumes: number;
  answer: WireMessage | null;
  onProgress: ((progress: McpProgress) => void) | null;
  /** Rejects when the link learns that no answer will come. */
  readonly lost: Promise<never>;
  readonly lose: (fault: LinkFault) => void;
}

/**
 * The requests of one link that have no answer yet: whether they can have reached the server, and whether their answer
 * came. The SDK says neither, and reports a timeout, an abort and a lost session with the same code.
 */
export class PendingRequests {
  /** Rejects when the first request is lost: the SDK makes that one itself and waits for nothing but its answer. */
  readonly greetingLost: Promise<never>;
  readonly #clock: McpClock;
  readonly #open = new Map<unknown, PendingRequest>();
  readonly #followed = new Map<unknown, PendingRequest>();
  /** Ids of requests that were given up: some servers answer them all the same. */
  readonly #givenUp = new Set<unknown>();
  readonly #loseGreeting: (fault: LinkFault) => void;
  #latest: PendingRequest | null = null;
  /** Answers of late that no request asked for. */
  #strangers = 0;

  constructor(clock: McpClock) {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    [this.#clock, this.greetingLost, this.#loseGreeting] = [clock, promise, reject];
  }

  /** To be called with each message that leaves; null for one that is not a request. */
  sent(message: WireMessage): PendingRequest | null {
    const { id, method } = message;
    // A stream of changes has no answer as long as it is open.
    if (typeof method !== 'string' || id === undefined || method === 'subscriptions/listen') return null;
    const { promise: lost, reject: lose } = Promise.withResolvers<never>();
    lost.catch(method === 'initialize' || method === 'server/discover' ? this.#loseGreeting : () => undefined);
    const unanswered = { delivered: true, resumeAt: null, failedResumes: 0, answer: null, onProgress: null };
    this.#latest = { id, method, ...unanswered, lost, lose };
    this.#open.set(id, this.#latest);
    return this.#latest;
  }

  /**
   * To be called with each message as it came, before all else. True if it answers a request and cannot be read as an answer:
   * the request has failed or was given up, and no one else needs it. An answer that no request asked for is noted: see {@link STRANGER_MS}.
   */
  refused(message: WireMessage): boolean {
    if (message.method !== undefined) return false;
    if (this.#givenUp.delete(message.id)) return true;
    const request = this.#open.get(message.id);
    const why = request === undefined ? null : badAnswer(message);
    if (request !== undefined && why !== null) this.#refuse(request, why);
    if (request === undefined && !isOurs(message.id, this.#latest)) this.#meetStranger(message);
    return why !== null;
  }

  /** To be called with each message that arrives. True if it is handled: no one else needs it. */
  received(message: WireMessage): boolean {
    const { id, method, params, result } = message;
    // The SDK delivers progress a moment late, after the answer that came right behind it; then it is lost.
    if (method === 'notifications/progress') return reportProgress([this.#open, this.#followed], params);
    const request = this.#open.get(id);
    if (method !== undefined || request === undefined) return false;
    request.answer = message;
    this.#open.delete(id);
    if (!isJsonObject(result) || result.task === undefined) this.#followed.delete(id);
    return false;
  }

  /** The request that {@link sent} gave last: a request is written while it is made. */
  latest(): PendingRequest | null {
    return this.#latest;
  }

  find(id: unknown): PendingRequest | null {
    return this.#open.get(id) ?? null;
  }

  /** Whether an answer under this id is waited for. */
  wants(id: unknown): boolean {
    return this.#open.has(id) || isListening(id);
  }

  forget(request: PendingRequest): void {
    if (this.find(request.id) !== request) return;
    this.#open.delete(request.id);
    this.#givenUp.add(request.id);
    // Most servers never answer them.
    if (this.#givenUp.size > MOST_GIVEN_UP) this.#givenUp.delete([...this.#givenUp][0]);
  }

  /** Its progress is reported until the signal aborts, also after its answer if that is a task. */
  follow(request: PendingRequest, until: AbortSignal): void {
    if (until.aborted) return;
    this.#followed.set(request.id, request);
    until.addEventListener('abort', () => this.#followed.delete(request.id), { once: true });
  }

  open(): readonly PendingRequest[] {
    return [...this.#open.values()];
  }

  #meetStranger(message: WireMessage): void {
    const waiting = this.open().filter((request) => !isPing(request));
    this.#strangers += 1;
    this.#clock.setTimeout(() => {
      const left = waiting.filter((request) => this.find(request.id) === request);
      const known = this.#strangers;
      this.#strangers -= 1;
      if (left.length > known) return;
      for (const request of left) this.#refuse(request, strangeAnswer(message));
    }, STRANGER_MS);
  }

  #refuse(request: PendingRequest, why: string): void {
    this.#open.delete(request.id);
    request.lose(new LinkFault('answer', why, { delivered: true }));
  }
}

/**
 * How long the right answer may take after one that no request asked for. Then that one is used for it, unless more
 * requests wait than there were such answers: it is unknown which of them it was meant for.
 */
const STRANGER_MS = 1000;

const MOST_GIVEN_UP = 100;

/** Whether a request only asks whether the server lives. */
export function isPing({ method }: PendingRequest): boolean {
  return method === 'ping' || method === 'server/discover';
}

/** Whether an id is that of a stream of changes, as the SDK numbers them. */
function isListening(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith('listen:');
}

/** Whether a request had this id; one with a late or a second answer did. */
function isOurs(id: unknown, latest: PendingRequest | null): boolean {
  if (isListening(id)) return true;
  const newest = latest?.id;
  const given = typeof id === 'string' && id.trim() !== '' ? Number(id) : id;
  return (
    typeof newest === 'number' && typeof given === 'number' && Number.isInteger(given) && given >= 0 && given <= newest
  );
}

/**
 * A message without what is not of the protocol: nulls for what is not there, and what some servers write beside an answer.
 * The SDK takes such a message for none. The same message where there is nothing of it.
 */
export function onlyProtocol(given: WireMessage): WireMessage {
  const { id = null, params, result = null, error = null } = given;
  const isAnswer = id !== null && (result ?? error) !== null;
  const isMore = isAnswer && !Object.keys(given).every((name) => ANSWER.has(name));
  const message = isMore ? Object.fromEntries(Object.entries(given).filter(([name]) => ANSWER.has(name))) : given;
  const plain = without(message, ['error', 'params', ...(error === null ? [] : ['result'])]);
  if (!isAnswer && isJsonObject(params)) return withMember(plain, 'params', without(params, Object.keys(params)));
  if (!isJsonObject(result)) return plain;
  // Of a greeting the SDK reads every member, of other results none but this.
  if (result.capabilities !== undefined) return withMember(plain, 'result', withoutAnyNull(result, READ_DEPTH));
  const { _meta: meta = {}, ...others } = result;
  return isJsonObject(meta) ? plain : withMember(plain, 'result', others);
}

const ANSWER: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'result', 'error']);

function without(members: WireMessage, names: readonly string[]): WireMessage {
  if (!names.some((name) => members[name] === null)) return members;
  return Object.fromEntries(Object.entries(members).filter(([name, value]) => value !== null || !names.includes(name)));
}

function withMember(message: WireMessage, name: string, value: unknown): WireMessage {
  return message[name] === value ? message : { ...message, [name]: value };
}

/** As deep as the SDK reads a greeting: `capabilities.tools.listChanged`. */
const READ_DEPTH = 3;

function withoutAnyNull(value: unknown, depth: number): unknown {
  if (!isJsonObject(value) || depth === 0) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutAnyNull(member, depth - 1)]));
}

/** Why a message is not an answer in JSON-RPC; null when it is one. */
export function badAnswer({ result, error }: WireMessage): string | null {
  if (result !== undefined && error !== undefined) return 'its answer has both a result and an error';
  if (isJsonObject(result)) return null;
  if (error === undefined) {
    const what =
      result === undefined ? 'without a result' : `with \`result: ${excerpt(result)}\`, which is not an object`;
    return `it answered ${what}`;
  }
  if (isJsonObject(error) && Number.isSafeInteger(error.code) && typeof error.message === 'string') return null;
  return `it answered with an error that has no code and message: ${excerpt(error)}`;
}

/** The message about an answer with an id that no request had. */
export function strangeAnswer({ id, error }: WireMessage): string {
  const said = isJsonObject(error) && typeof error.message === 'string' ? `: ${error.message.slice(0, 200)}` : '';
  return `it answered under the id ${excerpt(id ?? null)}, which no request has${said}`;
}

function excerpt(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 100);
}

function reportProgress(requests: readonly ReadonlyMap<unknown, PendingRequest>[], params: unknown): boolean {
  if (!isJsonObject(params) || typeof params.progress !== 'number') return false;
  const { progress, total, message } = params;
  const told = {
    progress,
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
  try {
    const { progressToken } = params;
    requests
      .find((some) => some.has(progressToken))
      ?.get(progressToken)
      ?.onProgress?.(told);
  } catch {
    // What a listener does wrong must not stop the reading of messages.
  }
  return true;
}

/**
 * Determines the outcome of a request from what was seen on the wire, and first of all from what we did ourselves. The
 * error's own code counts for nothing: -32001 stands for a timeout, an abort and a lost session alike.
 */
export function faultOf(
  error: unknown,
  wire: Pick<Wire<unknown>, 'dead'>,
  request: PendingRequest | null,
  signal: AbortSignal,
): LinkFault {
  const delivered = request?.delivered ?? false;
  if (signal.aborted) return new LinkFault('aborted', 'the request was given up', { delivered });
  const answer = request?.answer ?? null;
  if (answer !== null) {
    const data = isJsonObject(answer.error) ? answer.error : {};
    const message = typeof data.message === 'string' ? data.message : 'its answer does not follow the protocol';
    // The Ruby SDK has only words such as "Internal error" there.
    const more = typeof data.data === 'string' && data.data !== '' ? `: ${data.data.slice(0, 500)}` : '';
    return new LinkFault('answer', message + more, { delivered: true, data, cause: error });
  }
  if (error instanceof LinkFault) return error;
  const dead = wire.dead();
  if (dead !== null) return new LinkFault(dead.kind, dead.message, { delivered, data: dead.data, cause: dead });
  const what = error instanceof Error ? error.message : String(error);
  return new LinkFault('unreachable', `the connection broke (${what})`, { delivered, cause: error });
}

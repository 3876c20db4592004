/**
 * Owns: following a run for a user interface, and a person's actions on it. Does not own: the contents of the view.
 *
 * I1 One connection for all subscribers. It is closed when the last has gone, which never ends the run.
 * I2 A lost connection continues after the last position received.
 */
import type { JsonObject } from '../json/json.ts';
import type { SomeRun } from '../agent/run/run.ts';
import {
  type RunNews,
  type RequestAnswer,
  type RunLink,
  type StoreRequest,
  type RunStoreOptions,
  errorOf,
  linkToRun,
  linkToUrl,
} from './run-link.ts';
import { NO_EVENTS, type RunFold, foldEvent } from './run-fold.ts';
import type { RunActions, RunSnapshot, ViewError } from './view-types.ts';

/** A run or a chat for a user interface, without React: for Vue, Svelte and plain pages. */
export interface RunStore<TSource = SomeRun> extends RunActions<TSource> {
  /** The current view: the same object until something changes. */
  readonly getSnapshot: () => RunSnapshot<TSource>;
  /** Calls back after each change, until the returned function is called. The first subscriber opens the connection. */
  readonly subscribe: (listener: () => void) => () => void;
}

/**
 * The store of a run of this process, or of the chat at a URL that `runStream.serve` answers.
 *
 * @example
 * const run = runStore<typeof agent>('/api/run?id=chat-1');
 * run.subscribe(() => render(run.getSnapshot()));
 */
export function runStore<TSource = SomeRun>(url: string, options?: RunStoreOptions): RunStore<TSource>;
export function runStore<TRun extends SomeRun>(run: TRun): RunStore<TRun>;
export function runStore(source: string | SomeRun, options?: RunStoreOptions): RunStore;
export function runStore(source: string | SomeRun, options: RunStoreOptions = {}): RunStore {
  return new FollowedRun(typeof source === 'string' ? linkToUrl(source, options) : linkToRun(source));
}

class FollowedRun implements RunStore {
  readonly #link: RunLink;
  readonly #listeners = new Set<() => void>();
  #fold: RunFold = NO_EVENTS;
  #open: AbortController | null = null;
  #isAskedAgain = false;
  /** Why the last request was refused. */
  #refusal: ViewError | null = null;

  constructor(link: RunLink) {
    this.#link = link;
  }

  readonly getSnapshot = (): RunSnapshot => this.#fold.view;

  readonly subscribe = (listener: () => void): (() => void) => {
    // A separate listener: the same function may be given twice.
    const own = (): void => listener();
    this.#listeners.add(own);
    if (this.#listeners.size === 1) {
      globalThis.document?.addEventListener('visibilitychange', this.#look);
      if (this.#open === null) this.#follow();
    }
    return () => {
      this.#listeners.delete(own);
      // Subscribing again at once, as effects do in strict mode, keeps the connection.
      setTimeout(() => this.#leaveIfUnused());
    };
  };

  readonly approve = (callId: string, args?: JsonObject): Promise<boolean> =>
    this.#answer({ type: 'approve', callId, args });

  readonly reject = (callId: string, text = ''): Promise<boolean> => this.#answer({ type: 'reject', callId, text });

  readonly send = (text: string): Promise<boolean> => this.#ask({ type: 'send', text });

  readonly steer = (text: string): Promise<boolean> => this.#ask({ type: 'steer', runId: this.#runId(), text });

  readonly stop = (): Promise<boolean> => this.#ask({ type: 'stop', runId: this.#runId() });

  readonly #take = ({ events = [], ...rest }: RunNews): void => {
    const fold = events.reduce(foldEvent, this.#fold);
    this.#fold = { ...fold, view: { ...fold.view, ...rest } };
    for (const listener of this.#listeners) listener();
  };

  /** Opens the connection, or makes sure that an open one is reopened after its end: there may be more by then. */
  #follow(): void {
    this.#isAskedAgain = this.#open !== null;
    if (this.#open !== null || this.#listeners.size === 0) return;
    const own = new AbortController();
    this.#open = own;
    const take = (news: RunNews): void => {
      if (this.#open === own) this.#take(news);
    };
    void this.#link.follow(take, own.signal).then(() => {
      if (this.#open !== own) return;
      this.#open = null;
      if (this.#isAskedAgain) this.#follow();
      else this.#take({ connection: 'closed' });
    });
  }

  readonly #look = (): void => {
    if (document.visibilityState === 'visible' && this.#open === null) this.#follow();
  };

  #leaveIfUnused(): void {
    if (this.#listeners.size > 0) return;
    globalThis.document?.removeEventListener('visibilitychange', this.#look);
    this.#open?.abort();
    this.#open = null;
  }

  /** The live run; empty if there is none. */
  #runId(): string {
    const { runId, status } = this.#fold.view;
    return status === 'working' || status === 'waiting' ? (runId ?? '') : '';
  }

  #answer(request: StoreRequest): Promise<boolean> {
    const { runId = '', digest } = this.#fold.view.pending.find(({ callId }) => callId === request.callId) ?? {};
    return this.#ask({ ...request, runId, digest });
  }

  /** Nothing is sent if there is no run or call to send it to. */
  async #ask(request: StoreRequest): Promise<boolean> {
    if (request.runId === '') return false;
    const { ok, error = null } = await this.#link
      .request(request)
      .catch((reason: unknown): RequestAnswer => ({ ok: false, error: errorOf(reason) }));
    // An error of the run itself stays.
    if (error !== null || this.#fold.view.error === this.#refusal) this.#take({ error });
    this.#refusal = error;
    if (ok) this.#follow();
    return ok;
  }
}

/**
 * Owns: following a run for a user interface, and a person's actions on it. Does not own: the contents of the view.
 *
 * I1 One connection for all subscribers. It is closed when the last has gone, which never ends the run.
 * I2 A lost connection continues after the last position received.
 * I3 Listeners hear once of what arrives together: a chat that is opened is one change, not one for each event.
 */
import type { SomeRun } from '../agent/run/run.ts';
import {
  type RunNews,
  type RequestAnswer,
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
  // Variables, not members of a class: those keep their names on a page.
  const link = typeof source === 'string' ? linkToUrl(source, options) : linkToRun(source);
  const listeners = new Set<() => void>();
  let fold = NO_EVENTS;
  let opened: AbortController | null = null;
  let isAskedAgain: boolean;
  /** Why the last request was refused, and the last connection. */
  let [refusal, lost]: [ViewError | null, ViewError | null] = [null, null];

  const take = (news: readonly RunNews[]): void => {
    fold = news.reduce(foldNews, fold);
    if (news.length) for (const listener of listeners) listener();
  };

  /** Opens the connection, or makes sure that an open one is reopened after its end: there may be more by then. */
  const follow = (): void => {
    isAskedAgain = Boolean(opened);
    if (opened || !listeners.size) return;
    const own = new AbortController();
    opened = own;
    if (lost && fold.view.error === lost) take([{ error: (lost = null) }]);
    void link
      .follow((news) => opened === own && take(news), own.signal)
      .then((error) => {
        if (opened !== own) return;
        opened = null;
        if (isAskedAgain) follow();
        else take([{ connection: 'closed', ...(error && { error: (lost = error) }) }]);
      });
  };

  const look = (): unknown => document.visibilityState === 'visible' && follow();

  const ask = async (request: StoreRequest): Promise<boolean> => {
    const { ok, error = null } = await link
      .request(request)
      .catch((reason: unknown): RequestAnswer => ({ ok: false, error: errorOf(reason) }));
    // An error of the run itself stays. What a refused request met, others have done.
    if (error || (refusal && refusal === fold.view.error)) take([{ error }]);
    refusal = error;
    if (ok || error?.code !== lost?.code) follow();
    return ok;
  };

  const answer = (request: StoreRequest): Promise<boolean> => {
    const { runId = '', digest } = fold.view.pending.find((one) => one.callId === request.callId) ?? {};
    return ask({ ...request, runId, digest });
  };

  return {
    getSnapshot: () => fold.view,
    subscribe: (listener) => {
      // A separate listener: the same function may be given twice.
      const own = (): void => listener();
      listeners.add(own);
      if (listeners.size === 1) {
        globalThis.document?.addEventListener('visibilitychange', look);
        if (!opened) follow();
      }
      return () => {
        listeners.delete(own);
        // Subscribing again at once, as effects do in strict mode, keeps the connection.
        setTimeout(() => {
          if (listeners.size) return;
          globalThis.document?.removeEventListener('visibilitychange', look);
          opened?.abort();
          opened = null;
        });
      };
    },
    approve: (callId, args) => answer({ type: 'approve', callId, args }),
    reject: (callId, text = '') => answer({ type: 'reject', callId, text }),
    send: (text) => ask({ type: 'send', text }),
    steer: (text) => ask({ type: 'steer', runId: fold.view.runId ?? '', text }),
    stop: () => ask({ type: 'stop', runId: fold.view.runId ?? '' }),
  };
}

function foldNews(fold: RunFold, { events = [], ...rest }: RunNews): RunFold {
  const { view, seq } = events.reduce(foldEvent, fold);
  return { seq, view: { ...view, ...rest } };
}

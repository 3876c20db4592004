import { useMemo, useSyncExternalStore } from 'react';
import type { SomeRun } from '../agent/run/run.ts';
import type { RunStoreOptions } from '../store/run-link.ts';
import { type RunStore, runStore } from '../store/run-store.ts';
import { NO_EVENTS } from '../store/run-fold.ts';
import type { RunActions, RunSnapshot } from '../store/view-types.ts';

/** What a component gets for a run: the view, and a person's actions. */
export interface UsedRun<TSource = SomeRun> extends RunSnapshot<TSource>, RunActions<TSource> {}

/**
 * A run or a chat in a component, which is rendered again when what it selects has changed. `source` is a URL that
 * `runStream.serve` answers, a run of this process, or a store that several components share. Live runs are followed
 * while the component is mounted; unmounting it ends no run.
 *
 * @example const { messages, send } = useRun<typeof agent>('/api/run?id=chat-1');
 * @example const state = useRun(store, (run) => run.state);
 */
export function useRun<TSource = SomeRun>(url: string, options?: RunStoreOptions): UsedRun<TSource>;
export function useRun<TSource>(store: RunStore<TSource>): UsedRun<TSource>;
export function useRun<TRun extends SomeRun>(run: TRun): UsedRun<TRun>;
export function useRun<TSource, TSelected>(
  store: RunStore<TSource>,
  selector: (run: UsedRun<TSource>) => TSelected,
): TSelected;
export function useRun<TRun extends SomeRun, TSelected>(
  run: TRun,
  selector: (run: UsedRun<TRun>) => TSelected,
): TSelected;
export function useRun<TSource, TSelected>(
  url: string,
  selector: (run: UsedRun<TSource>) => TSelected,
  options?: RunStoreOptions,
): TSelected;
export function useRun(
  source: string | SomeRun | RunStore,
  second?: ((run: UsedRun) => unknown) | RunStoreOptions,
  third?: RunStoreOptions,
): unknown {
  const [selector, options] = typeof second === 'function' ? [second, third] : [undefined, second];
  const { store, read } = useMemo(
    () => selecting(typeof source !== 'string' && 'getSnapshot' in source ? source : runStore(source, options)),
    // Options are read once: an object literal is a new one in each rendering.
    [source],
  );
  return useSyncExternalStore(
    store.subscribe,
    () => read(store.getSnapshot(), selector),
    () => read(NO_EVENTS.view, selector),
  );
}

/** Selects once for each view and selector. The selected value keeps its identity while the next one is equal. */
function selecting(store: RunStore) {
  let lastView: RunSnapshot | undefined;
  let lastSelector: ((run: UsedRun) => unknown) | undefined;
  let value: unknown;
  return {
    store,
    read: (view: RunSnapshot, selector?: (run: UsedRun) => unknown): unknown => {
      if (view === lastView && selector === lastSelector) return value;
      lastView = view;
      lastSelector = selector;
      const run = { ...store, ...view };
      const next = selector ? selector(run) : run;
      if (!isAlike(value, next)) value = next;
      return value;
    },
  };
}

/** Whether two lists or plain objects have the same members. Others, such as a `Map`, hide what they hold. */
function isAlike(one: unknown, other: unknown): boolean {
  return (
    isPlain(one) && isPlain(other) && Object.keys({ ...one, ...other }).every((key) => Object.is(one[key], other[key]))
  );
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return value?.constructor === Object || value?.constructor === Array;
}

/**
 * Owns: what a client of a run receives: its groups, and between them the model's text so far, where that is known. Does
 * not own: how it is written.
 *
 * I1 Groups come from the journal alone, and are the same in every process. The text so far is known in the process that
 *    drives the run; a client that misses it misses nothing permanent.
 * I2 A reader that is slow receives the latest text, not every piece of it: nothing is kept for it.
 */
import { type Followed, followRun } from '../../journal/run/follow-run.ts';
import { type DrivenRun, drivenRun } from '../../journal/run/driven-runs.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import { type GroupBatch, followGroups, sleep } from './follow-groups.ts';

/** The root agent's reply so far. */
export interface LiveText {
  /** The number of the event after which this is true: void once there is a later one. */
  readonly seq: number;
  readonly attempt: number;
  readonly thought: string;
  readonly answer: string;
}

/** Why a run cannot go on. */
export interface RunRefused {
  readonly code: string;
  readonly message: string;
}

/** Something that a client receives; `idle`: nothing has happened for a while; `refused`: nothing more will. */
export type RunFed =
  | { readonly kind: 'refused'; readonly refused: RunRefused }
  | { readonly kind: 'batch'; readonly batch: GroupBatch }
  | { readonly kind: 'text'; readonly text: LiveText }
  | { readonly kind: 'idle' };

/** The text so far in one run, for any number of readers. */
class LiveTexts {
  latest: LiveText | null = null;
  #next = Promise.withResolvers<'text'>();

  /** Resolves when there is more. */
  get changed(): Promise<'text'> {
    return this.#next.promise;
  }

  take(event: RunEvent): void {
    if (event.type !== 'model.token' || event.replayed || event.child !== undefined) return;
    const { seq, attempt, thought, answer } = event;
    this.latest = { seq, attempt, thought, answer };
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve('text');
  }
}

const shared = new WeakMap<DrivenRun, LiveTexts>();

/** The events of a run; null if another process drives it. It is read once for all readers, on demand. */
function textsOf(journal: object, runId: string): LiveTexts | null {
  const run = drivenRun(journal, runId);
  if (run === null) return null;
  const known = shared.get(run);
  if (known !== undefined) return known;
  const texts = new LiveTexts();
  shared.set(run, texts);
  const read = async (): Promise<void> => {
    try {
      for await (const event of run) texts.take(event);
    } catch {
      // Its result has the reason.
    }
  };
  void read();
  return texts;
}

/** Waits for the first record of a run, while it may come: until then its journal does not know the run. */
export async function begun(journal: Followed, runId: string, mayCome: () => boolean): Promise<boolean> {
  // It may stand in line for minutes.
  for (let ms = 2; ; ms = Math.min(ms * 1.2, 200)) {
    const isLast = !mayCome();
    if ((await journal.read?.(runId)) != null) return true;
    if (isLast) return false;
    await sleep(ms);
  }
}

/** Milliseconds after which something is sent on an idle connection: Bun's server ends one after ten seconds, proxies after five or more. */
const IDLE_MS = 4000;

/** A run for one reader, from its beginning to its end. Nothing is fetched before it is asked for. */
export async function* runFeed(
  journal: Followed,
  runId: string,
  { signal, everyMs, resumed = null }: FeedOptions,
): AsyncGenerator<RunFed> {
  const batches = followGroups(journal, runId, { signal, ...(everyMs === undefined ? {} : { everyMs }) });
  let coming = batches.next();
  let given: LiveText | null = null;
  let isWhole = false;
  const refusal = resumed?.then((refused) => (refused === null ? new Promise<never>(() => undefined) : { refused }));
  try {
    for (;;) {
      const texts = textsOf(journal, runId);
      const isNew = texts !== null && texts.latest !== given;
      // What is recorded comes first.
      const changes = texts === null ? [] : [isNew ? Promise.resolve('text' as const) : texts.changed];
      const first: IteratorResult<GroupBatch, unknown> | 'text' | 'idle' | { readonly refused: RunRefused } =
        await idled(Promise.race([coming, ...changes, ...(isWhole && refusal !== undefined ? [refusal] : [])]));
      if (first === 'idle') yield { kind: 'idle' };
      else if (first === 'text') {
        given = texts?.latest ?? null;
        if (given !== null) yield { kind: 'text', text: given };
      } else if ('refused' in first) {
        yield { kind: 'refused', refused: first.refused };
        return;
      } else if (first.done === true) return;
      else {
        ({ isWhole } = first.value);
        yield { kind: 'batch', batch: first.value };
        coming = batches.next();
      }
    }
  } finally {
    coming.catch(() => undefined);
    void batches.return(undefined);
  }
}

/** How a run is read. */
export interface FeedOptions {
  /** Ends it: the reader is gone. */
  readonly signal: AbortSignal;
  /** As `followRun` has it. */
  readonly everyMs?: number;
  /** What comes of resuming the run, where that is tried. */
  readonly resumed?: Promise<RunRefused | null> | null;
}

/** What is awaited, or `idle` if it takes so long that a client must be sent something meanwhile. */
export async function idled<T>(awaited: Promise<T>): Promise<T | 'idle'> {
  const { promise, resolve } = Promise.withResolvers<'idle'>();
  const timer = setTimeout(resolve, IDLE_MS, 'idle');
  return Promise.race([awaited, promise]).finally(() => clearTimeout(timer));
}

/** Resolves when the message of this id is among a run's records; never where it does not come. */
export async function recorded(
  journal: Followed,
  runId: string,
  { id, ...how }: { readonly id: string; readonly everyMs: number; readonly signal: AbortSignal },
): Promise<'written'> {
  for await (const lines of followRun(journal, runId, how))
    if (lines.some(({ line }) => line.t === 'event' && line.event.type.startsWith('message.') && line.event.id === id))
      return 'written';
  return new Promise(() => undefined);
}

/** A process that is closed leaves a run to others. */
export function unlessClosed(refused: RunRefused | null): RunRefused | null {
  return refused?.code === 'agent-closed' ? null : refused;
}

/**
 * Owns: where a simulated run is kept, over its crashes; what is written, what is lost, and when a leaf's outcome arrives.
 * Does not own: the order of what arrives (the simulated run's), what the journal does (the real live journal's).
 *
 * I1 Nothing is kept of an append that failed but what its fault says.
 * I2 Once the process has crashed, its journal writes nothing any more.
 */
import type { Effect, Outcome, Perform } from '../../actors/journal.ts';
import { JournalError } from '../../journal/format/journal-error.ts';
import type { RecordLine, RunRecord } from '../../journal/format/record.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { liveJournal } from '../../journal/run/live-journal.ts';
import type { JournalStore, Sink } from '../../journal/run/run-journal.ts';
import { isJsonObject } from '../../json/json.ts';
import type { Draws } from './draws.ts';
import { type FaultName, type FaultRates, performed } from './simulated-faults.ts';

/** An outcome that is known and has not arrived yet. */
export interface HeldOutcome {
  readonly says: string;
  release(): void;
}

/** A store of one run, and what the simulation does with it. */
export interface SimulatedStore extends JournalStore {
  /** What is written so far; null before anything is. */
  recording(): Recording | null;
  /** What could arrive now, oldest first. */
  readonly held: HeldOutcome[];
  /** The leaves that are working in code of the user's, by their effect's id. */
  readonly working: ReadonlyMap<string, Effect>;
  /** The timers of the machines that are open. */
  readonly timers: ReadonlySet<string>;
  /** How often each effect was performed. */
  readonly performances: ReadonlyMap<
    string,
    { readonly effect: Effect; readonly count: number; readonly outcomes: readonly Outcome[] }
  >;
  /** The fault that has ended the process, null while it lives. */
  readonly crash: FaultName | null;
  /** A new process: what the old one was doing is gone. */
  restart(): void;
  /** Whether the next resume is to continue on the journal that the agent itself opens. */
  plain: boolean;
}

/** Thrown out of a simulated journal in the place of a process that ends. */
class SimulatedCrash extends Error {
  override readonly name = 'SimulatedCrash';
  readonly code: string;

  constructor(fault: FaultName, code: string) {
    super(`The journal could not write: ${fault} (simulated).`);
    this.code = code;
  }
}

const CRASHES: readonly (readonly [FaultName, string])[] = [
  ['process.crash', 'crashed'],
  ['journal.full', 'ENOSPC'],
  ['journal.io', 'EIO'],
  ['journal.short', 'EIO'],
  ['journal.lock', 'run-locked'],
];

/** A process crashes at most so often in a run: one more in a row is a crash loop, which the journal ends by itself. */
const MOST_CRASHES = 4;

/** Marks the head of a run that is taken, so that the agent opens its journal here again. */
const FOREIGN = 'simulated';

/** Makes the store of one simulated run. */
export function simulatedStore(draws: Draws, rates: FaultRates, canResume: boolean): SimulatedStore {
  let head: RunRecord | null = null;
  let lines: RecordLine[] | null = null;
  let life = 0;
  let appends = 0;
  let crash: FaultName | null = null;
  const held: HeldOutcome[] = [];
  const working = new Map<string, Effect>();
  const timers = new Set<string>();
  const performances = new Map<string, { effect: Effect; count: number; outcomes: Outcome[] }>();

  const hold = (says: string, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const item = {
        says,
        release: () => {
          const index = held.indexOf(item);
          if (index !== -1) held.splice(index, 1);
          resolve();
        },
      };
      signal?.addEventListener('abort', item.release, { once: true });
      held.push(item);
    });
  const keep = (records: readonly RecordLine[]): void => {
    for (const record of records) {
      // Who takes a run up again begins with all of its past.
      if (record.t === 'run') [head, lines] = [record, []];
      else (lines ??= []).push(record);
    }
  };
  const failWith = (fault: FaultName, code: string, records: readonly RecordLine[]): never => {
    crash = fault;
    if (fault === 'journal.short') keep(records.slice(0, records.length >> 1));
    // A process may end behind a write as well as before it.
    if (fault === 'process.crash' && draws.below(`crash ${appends}`, 2) === 1) keep(records);
    if (fault === 'journal.lock' && head !== null) throw new JournalError('run-locked', head.runId, 'simulated');
    throw new SimulatedCrash(fault, code);
  };
  const sinkOf = (born: number): Sink => ({
    append: (records) => {
      if (crash !== null || born !== life) throw new SimulatedCrash('process.crash', 'crashed');
      const place = `${++appends}`;
      const isRewritten = life > 0 && records[0]?.t === 'run';
      const mayCrash = canResume && !isRewritten && life < MOST_CRASHES;
      for (const [fault, code] of CRASHES) {
        const rate = mayCrash ? rates[fault] : 0;
        if (draws.happens(fault, place, rate, `write ${place}: ${fault}`)) failWith(fault, code, records);
      }
      if (!draws.happens('journal.slow', place, rates['journal.slow'], `write ${place}: slow`)) return keep(records);
      return hold(`write ${place}`).then(() => {
        if (born === life && crash === null) keep(records);
      });
    },
    close: () => undefined,
  });

  const store: SimulatedStore = {
    held,
    working,
    timers,
    performances,
    plain: false,
    get crash() {
      return crash;
    },
    recording: () => (head === null || lines === null ? null : { head, lines: [...lines] }),
    restart: () => {
      life++;
      crash = null;
      held.splice(0);
      working.clear();
      timers.clear();
    },
    open: (run) => {
      const born = life;
      head ??= run.head;
      const inner = liveJournal(run, sinkOf(born));
      return {
        ...inner,
        open: (effect, perform) => {
          if (effect.ms !== undefined) {
            timers.add(effect.id);
            return inner.open(effect, perform);
          }
          const rest = (): void => {
            if (working.get(effect.id) === effect) working.delete(effect.id);
          };
          const really: Perform = (io) => {
            if (effect.name !== 'callLlm') working.set(effect.id, effect);
            io.signal.addEventListener('abort', rest, { once: true });
            return perform(io);
          };
          inner.open(effect, async (io) => {
            const known = performances.get(effect.id) ?? { effect, count: 0, outcomes: [] };
            performances.set(effect.id, known);
            known.count++;
            const place = `${effect.id}${known.count > 1 ? ` time ${known.count}` : ''}`;
            const spec = run.head.toolset.tools.find(
              ({ name }) => isJsonObject(effect.request) && name === effect.request['tool'],
            );
            const out = await performed({ effect, perform: really, io, spec }, draws, rates, place);
            known.outcomes.push(out);
            rest();
            if (!io.signal.aborted && born === life) await hold(effect.id, io.signal);
            return out;
          });
        },
        close: (id) => {
          timers.delete(id);
          inner.close(id);
        },
        next: async () => {
          const entry = await inner.next();
          if (entry?.t === 'timer') timers.delete(entry.id);
          return entry;
        },
      };
    },
    take: async () => {
      if (head === null || lines === null) return null;
      const hash = store.plain ? head.machine.hash : FOREIGN;
      const recording = { head: { ...head, machine: { ...head.machine, hash } }, lines: [...lines] };
      return { recording, sink: store.plain ? sinkOf(life) : { append: () => undefined, close: () => undefined } };
    },
    remove: async () => true,
  };
  return store;
}

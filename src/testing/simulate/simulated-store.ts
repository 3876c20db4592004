/**
 * Owns: where a simulated run is kept, over its crashes; what is written, what is lost, and when a leaf's outcome arrives.
 * Does not own: the order of what arrives (the simulated run's), what the journal does (the real live journal's).
 *
 * I1 Nothing is kept of an append that failed but what its fault says.
 * I2 Once the process has crashed, its journal writes nothing any more.
 */
import type { PerformIo, Effect, Outcome, OutsideEvent, Perform } from '../../actors/journal.ts';
import type { TakenRun, RunHead, RunJournal, JournalStore, Sink } from '../../journal/run/run-journal.ts';
import { JournalError } from '../../journal/format/journal-error.ts';
import type { RecordLine, RunRecord } from '../../journal/format/record.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { liveJournal } from '../../journal/run/live-journal.ts';
import { isJsonObject } from '../../json/json.ts';
import { isOwn, ownerOf, textAt } from '../explore/walk/story.ts';
import type { Draws } from './draws.ts';
import { WatchedWork } from './journal-laws.ts';
import { type FaultName, type FaultRates, performed } from './simulated-faults.ts';

/** Thrown out of a simulated journal in the place of a process that ends. */
function simulatedCrash(fault: FaultName, code: string): Error {
  return Object.assign(new Error(`The journal could not write: ${fault} (simulated).`), {
    name: 'SimulatedCrash',
    code,
  });
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

interface Abilities {
  /** Whether there is somebody who takes a run up again after a crash. */
  readonly canResume: boolean;
  /** Tools of MCP servers never really wait. */
  readonly simulatesServers: boolean;
  /** Whether a tool was removed before this step. */
  readonly isGone: (tool: string) => boolean;
  /** Says what is wrong with the run. */
  readonly wrong: (check: string, says: string) => void;
}

/** A store of one run, and what the simulation does with it. */
export class SimulatedStore implements JournalStore {
  /** What could arrive now, oldest first. */
  readonly held: { readonly says: string; release(): void }[] = [];
  /** The leaves that are working in code of the user's, by their effect's id. */
  readonly working = new Map<string, Effect>();
  /** The timers of the machines that are open. */
  readonly timers = new Set<string>();
  /** How often each effect was performed. */
  readonly performances = new Map<string, { effect: Effect; count: number; outcomes: Outcome[] }>();
  /** When it was resumed: a run that is rewritten for other code forgets it. */
  readonly restarts: number[] = [];
  /** Whether the next resume is to continue on the journal that the agent itself opens. */
  plain = false;
  /** The fault that has ended the process, null while it lives. */
  crash: FaultName | null = null;
  readonly #draws: Draws;
  readonly #rates: FaultRates;
  readonly #abilities: Abilities;
  #head: RunRecord | null = null;
  #lines: RecordLine[] | null = null;
  #live: RunJournal | null = null;
  #isOpen = false;
  /** Whether what is written next must say that the process was started again. */
  #owesRestart = false;
  /** How often the process was started again. */
  #life = 0;
  #appends = 0;

  constructor(draws: Draws, rates: FaultRates, abilities: Abilities) {
    this.#draws = draws;
    this.#rates = rates;
    this.#abilities = abilities;
  }

  /** What is written so far; null before anything is. */
  recording(): Recording | null {
    return this.#head === null || this.#lines === null ? null : { head: this.#head, lines: [...this.#lines] };
  }

  /** How many records are written so far. */
  get records(): number {
    return this.#lines === null ? 0 : this.#lines.length + 1;
  }

  /** A new process: what the old one was doing is gone. */
  restart(): void {
    this.#life++;
    this.#owesRestart = this.#lines !== null;
    this.crash = this.#live = null;
    this.#isOpen = false;
    this.held.splice(0);
    this.working.clear();
    this.timers.clear();
  }

  /** Whether another process may take the run up, without ending it as a crash loop. */
  canRestart(): boolean {
    return this.#abilities.canResume && this.#life < MOST_CRASHES;
  }

  /** Whether the process gives the run up at this step, without a word. */
  abandons(step: number): boolean {
    const rate = this.#isOpen && this.canRestart() ? this.#rates['process.abandon'] : 0;
    const says = `step ${step}: the process gives the run up`;
    if (this.#draws.happens('process.abandon', `${step}`, rate, says)) this.crash = 'process.abandon';
    return this.crash === 'process.abandon';
  }

  /** Sends the run an event; with `callId` to whoever asks about that call. False where that does not take it. */
  async send(event: OutsideEvent, callId?: string): Promise<boolean> {
    const asked = [...this.performances.values()].findLast(
      ({ effect: { name, request } }) => name === 'askApproval' && textAt(request, 'callId') === callId,
    );
    if (this.#live === null || (callId !== undefined && asked === undefined)) return false;
    return this.#live.send(event, asked?.effect.id.slice(0, asked.effect.id.lastIndexOf('/')));
  }

  open(run: RunHead): RunJournal {
    const born = this.#life;
    this.#head ??= run.head;
    // The run after it, which begins with what was queued, is not simulated.
    if (run.head.runId !== this.#head.runId) throw new JournalError('store-unreachable', run.head.runId, 'simulated');
    const work = new WatchedWork((id, says) => this.#abilities.wrong('journal', `${id} ${says}`));
    const { carried } = run;
    // What goes on from before comes when its turn is; nothing more goes wrong with it.
    const open = carried?.open.map((one) => {
      if (one.effect.ms !== undefined) return one;
      const perform: Perform = async (io) => {
        const out = await one.perform(io);
        if (!io.signal.aborted && born === this.#life) await this.#hold(one.effect.id, io.signal);
        return out;
      };
      return { ...one, perform: work.watched(one.effect, perform) };
    });
    const again = carried === undefined || open === undefined ? run : { ...run, carried: { ...carried, open } };
    const inner = liveJournal(again, this.#sink(born));
    this.#live = inner;
    return {
      ...inner,
      open: (effect, perform) => {
        if (effect.ms !== undefined) {
          this.timers.add(effect.id);
          return inner.open(effect, perform);
        }
        const held: Perform = (io) => this.#perform({ effect, perform, io }, run.head, born);
        inner.open(effect, work.watched(effect, held));
      },
      close: (id) => {
        this.timers.delete(id);
        inner.close(id);
        work.closed(id);
      },
      next: async () => {
        const entry = await inner.next();
        if (entry?.t === 'timer') this.timers.delete(entry.id);
        if (entry?.t === 'outcome' || entry?.t === 'timer') work.delivered(entry.id);
        return entry;
      },
    };
  }

  async take(): Promise<TakenRun | null> {
    const recording = this.recording();
    if (recording === null) return null;
    if (this.plain) return { recording, sink: this.#sink(this.#life) };
    const { head } = recording;
    return {
      recording: { ...recording, head: { ...head, machine: { ...head.machine, hash: FOREIGN } } },
      sink: { append: () => undefined, close: () => undefined },
    };
  }

  async remove(): Promise<boolean> {
    return true;
  }

  async #perform(
    { effect, perform, io }: { readonly effect: Effect; readonly perform: Perform; readonly io: PerformIo },
    head: RunRecord,
    born: number,
  ): Promise<Outcome> {
    const rest = (): void => {
      if (this.working.get(effect.id) === effect) this.working.delete(effect.id);
    };
    const { request } = effect;
    const spec = head.toolset.tools.find(({ name }) => isJsonObject(request) && name === request['tool']);
    // An agent below has tools of its own. A request that is repeated, or was made while a write was slow, may have those of before.
    const { tools } = isJsonObject(request) && isOwn(ownerOf(effect)) ? request : {};
    const offered = Array.isArray(tools) ? tools : [];
    const last = this.#lines?.findLast((line) => line.t === 'outcome' && line.id.includes('callLlm#'));
    const isOld = (last?.t === 'outcome' && !last.ok) || this.#draws.drawn.some(({ kind }) => kind === 'journal.slow');
    if (!isOld && offered.some((tool) => this.#abilities.isGone(textAt(tool, 'name'))))
      this.#abilities.wrong('tools', 'the model was offered a tool that had been removed');
    const isSimulated = this.#abilities.simulatesServers && spec?.origin.kind === 'mcp';
    const really: Perform = (given) => {
      if (effect.name !== 'callLlm' && !isSimulated) this.working.set(effect.id, effect);
      given.signal.addEventListener('abort', rest, { once: true });
      return perform(given);
    };
    const known = this.performances.get(effect.id) ?? { effect, count: 0, outcomes: [] };
    this.performances.set(effect.id, known);
    known.count++;
    const place = `${effect.id}${known.count > 1 ? ` time ${known.count}` : ''}`;
    const out = await performed({ effect, perform: really, io, spec }, this.#draws, this.#rates, place);
    known.outcomes.push(out);
    rest();
    if (!io.signal.aborted && born === this.#life) await this.#hold(effect.id, io.signal);
    return out;
  }

  #hold(says: string, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const item = {
        says,
        release: () => {
          const index = this.held.indexOf(item);
          if (index !== -1) this.held.splice(index, 1);
          resolve();
        },
      };
      signal?.addEventListener('abort', item.release, { once: true });
      this.held.push(item);
    });
  }

  #keep(records: readonly RecordLine[]): void {
    for (const record of records) {
      // A run that is resumed begins with all of its past.
      if (record.t === 'run') [this.#head, this.#lines] = [record, []];
      else (this.#lines ??= []).push(record);
    }
  }

  #failWith(fault: FaultName, code: string, records: readonly RecordLine[]): never {
    this.crash = fault;
    if (fault === 'journal.short') this.#keep(records.slice(0, records.length >> 1));
    // A process may end behind a write as well as before it.
    if (fault === 'process.crash' && this.#draws.below(`crash ${this.#appends}`, 2) === 1) this.#keep(records);
    if (fault === 'journal.lock' && this.#head !== null)
      throw new JournalError('run-locked', this.#head.runId, 'simulated');
    throw simulatedCrash(fault, code);
  }

  #sink(born: number): Sink {
    this.#isOpen = true;
    return {
      append: (records) => {
        if (born !== this.#life) throw new JournalError('run-lost', this.#head?.runId ?? null, 'simulated');
        if (this.crash !== null) throw simulatedCrash('process.crash', 'crashed');
        // Whether that is written decides nothing.
        if (records[0]?.t === 'note' && records[0].note['note'] === 'released') return this.#keep(records);
        const place = `${++this.#appends}`;
        const isRewritten = this.#life > 0 && records[0]?.t === 'run';
        const mayCrash = this.canRestart() && !isRewritten;
        const restart = records.findLast(({ t }) => t === 'restart');
        if (restart?.t === 'restart') this.restarts.push(restart.at);
        else if (this.#owesRestart) this.#abilities.wrong('journal', 'a restart was not written');
        this.#owesRestart = false;
        for (const [fault, code] of CRASHES) {
          const rate = mayCrash ? this.#rates[fault] : 0;
          if (this.#draws.happens(fault, place, rate, `write ${place}: ${fault}`)) this.#failWith(fault, code, records);
        }
        const slow = this.#rates['journal.slow'];
        if (!this.#draws.happens('journal.slow', place, slow, `write ${place}: slow`)) return this.#keep(records);
        return this.#hold(`write ${place}`).then(() => {
          if (born === this.#life && this.crash === null) this.#keep(records);
        });
      },
      close: () => undefined,
    };
  }
}

/** A tool by its name; anything else by its leaf. */
export function nameOf({ name, request }: Effect): string {
  return isJsonObject(request) && typeof request['tool'] === 'string' ? request['tool'] : name;
}

import type { InspectionEvent } from 'xstate';
import type { Effect, Entry, Journal } from '../../actors/journal.ts';
import { type Drive, drive } from '../../journal/run/drive.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { Recorder } from '../../journal/format/recorder.ts';
import { ROOT_ID, inputOf } from '../../journal/format/run-input.ts';
import type { JsonObject } from '../../json/json.ts';
import { runEventReader } from '../../machines/events/run-event-reader.ts';
import type { RunEvent, RunEventBody, Transition } from '../../machines/events/run-events.ts';
import { type Microstep, microstepReader } from '../../machines/events/transition-log.ts';
import { EventLog } from './event-log.ts';
import type { RunPlan } from './run-plan.ts';
import { type RunWatch, quietly } from './run-watch.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { eventOfNote, tokenEvents } from '../../machines/events/note-events.ts';

interface ReaderOptions {
  readonly runId: string;
  /** Whether the machine's current event is replayed from a recording. */
  readonly replayed: () => boolean;
  /** Milliseconds since the run began, for durations. */
  readonly now: () => number;
  /** Who listens while it happens. */
  readonly onMicrostep?: (microstep: Microstep) => void;
  readonly onEvent?: (event: RunEvent) => void;
}

/** The events and the transitions of one run, derived from its actor system. */
class RunReader {
  readonly log = new EventLog();
  readonly transitions: Transition[] = [];
  /** Takes the inspection events of the actor system. */
  readonly inspect: (inspected: InspectionEvent) => void;
  readonly #options: ReaderOptions;
  readonly #tokens = tokenEvents();
  #seq = 0;
  /** Whether the root asks its model for replies in pieces. */
  #isStreaming = false;

  constructor(options: ReaderOptions) {
    const { runId, now, onMicrostep } = options;
    this.#options = options;
    const read = runEventReader({ runId, now, emit: (body, agent) => this.emit(body, agent) });
    this.inspect = microstepReader(
      () => true,
      (microstep) => {
        if (microstep.transition !== null) this.transitions.push(microstep.transition);
        if (microstep.path === ROOT_ID) this.#isStreaming = microstep.snapshot.context.settings.streaming === true;
        this.#tokens.follow(microstep);
        onMicrostep?.(microstep);
        read(microstep);
      },
    );
  }

  /** Adds an event of the run, with the next number. */
  emit(body: RunEventBody, agent = ''): void {
    const isReplayed = this.#options.replayed();
    if (body.type === 'model.replied' && this.#isStreaming)
      for (const token of isReplayed ? this.#tokens.whole(body, agent) : this.#tokens.end(agent))
        this.#publish({ ...token, seq: this.#seq, replayed: isReplayed, ...ofAgent(agent) });
    this.#seq += 1;
    this.#publish({ ...body, seq: this.#seq, replayed: isReplayed, ...ofAgent(agent) });
  }

  /** Adds something that is not part of the run itself; it has the number of the event before it. */
  announce(body: RunEventBody, agent = '', replayed = this.#options.replayed()): void {
    this.#publish({ ...body, seq: this.#seq, replayed, ...ofAgent(agent) });
  }

  /** Adds what a leaf remarked while it worked: a token, the progress of a tool, a question of a server. */
  note(effect: Effect, note: JsonObject): void {
    const body = effect.name === 'callTool' ? eventOfNote(effect, note) : null;
    if (body !== null) return this.announce(body, this.#tokens.placeOf(effect.id));
    const token = this.#tokens.event(effect.id, note);
    for (const one of token?.bodies ?? []) this.announce(one, token?.agent);
  }

  #publish(event: RunEvent): void {
    this.log.push(event);
    this.#options.onEvent?.(event);
  }
}

/** How many notes are kept for a late reader; beyond that, the oldest are dropped. */
const MOST_REMARKS = 10_000;

/**
 * Owns: the readers of a run, and when they begin. While there is no listener no event is made, and only what is not recorded
 * is kept. For a late listener a second machine receives everything that the first received, and follows it from then on.
 *
 * I1 A late reader gets the events and transitions that one from the beginning on would have got, in the same order.
 */
export class RunReaders {
  readonly #plan: Pick<RunPlan, 'run' | 'replayed' | 'onEvent'>;
  readonly #watch: RunWatch;
  #reader: RunReader | null = null;
  #recorded: { readonly head: RunRecord; readonly recording: Recorder } | null = null;
  /** What is not an entry, to be read after entry number `after`; -1: before the run began. */
  #remarks: { readonly after: number; readonly replayed: boolean; readonly read: (reader: RunReader) => void }[] = [];
  /** How many entries the machine has received; -1 before it began. */
  #told = -1;
  /** How many of them were played from a recording, with the beginning as the first. */
  #played = 0;
  /** Set if a second machine is read: sends it what the first received. */
  #follow: ((entry: Entry) => void) | null = null;
  #closed: { readonly error: Error | undefined } | null = null;

  constructor(plan: Pick<RunPlan, 'run' | 'replayed' | 'onEvent'>, watch: RunWatch) {
    this.#plan = plan;
    this.#watch = watch;
  }

  /** The machine is about to be created; returns its observer if there already is a listener. */
  begin(head: RunRecord, recording: Recorder): RunReader['inspect'] | undefined {
    this.#recorded = { head, recording };
    return this.#reader?.inspect;
  }

  /** The machine is about to be started. */
  started(): void {
    this.#count();
  }

  /** Sends the machine an entry. */
  tell(entry: Entry, driven: Pick<Drive, 'deliver'>): void {
    this.#count();
    driven.deliver(entry);
    this.#follow?.(entry);
  }

  /** Gives the reader what is not an entry, or keeps it for a late one. */
  remark(read: (reader: RunReader) => void): void {
    if (this.#reader !== null) return read(this.#reader);
    this.#remarks.push({ after: this.#told, replayed: this.#plan.replayed(), read });
    if (this.#remarks.length > MOST_REMARKS * 1.1) this.#remarks = this.#remarks.slice(-MOST_REMARKS);
  }

  /** Nothing more comes. */
  close(error?: Error): void {
    this.#closed = { error };
    this.#reader?.log.close(error);
  }

  /** The reader of this run, created now if there was no listener before. */
  reader(): RunReader {
    if (this.#reader !== null) return this.#reader;
    const isEarly = this.#recorded === null && this.#closed === null;
    this.#reader = isEarly ? this.#early() : this.#late();
    if (this.#closed !== null) this.#reader.log.close(this.#closed.error);
    return this.#reader;
  }

  #count(): void {
    this.#told += 1;
    if (this.#plan.replayed()) this.#played = this.#told + 1;
  }

  #early(): RunReader {
    const { onEvent, run } = this.#plan;
    const reader = new RunReader({
      runId: run.runId,
      replayed: () => this.#plan.replayed(),
      now: () => this.#recorded?.recording.elapsed ?? 0,
      onMicrostep: (microstep) => this.#watch.onMicrostep(microstep),
      onEvent: (event) => quietly(onEvent, event),
    });
    for (const { read } of this.#remarks.splice(0)) read(reader);
    return reader;
  }

  #late(): RunReader {
    const { runId } = this.#plan.run;
    const remarks = this.#remarks.splice(0);
    let at = 0;
    let isReplayed: () => boolean = () => false;
    const reader = new RunReader({ runId, now: () => at, replayed: () => isReplayed() });
    let next = 0;
    const readRemarks = (told: number): void => {
      for (let remark = remarks[next]; remark !== undefined && remark.after <= told; remark = remarks[next]) {
        const was = remark.replayed;
        isReplayed = () => was;
        remark.read(reader);
        next += 1;
      }
    };
    readRemarks(-1);
    if (this.#recorded === null) return reader;
    const { head, recording } = this.#recorded;
    isReplayed = () => this.#played > 0;
    const second = drive({
      logic: runMachine(),
      id: ROOT_ID,
      input: inputOf(head),
      journal: UNWRITTEN,
      recorder: null,
      context: undefined,
      inspect: reader.inspect,
    });
    second.start();
    readRemarks(0);
    for (const [index, record] of recording.entries().entries()) {
      ({ at } = record);
      isReplayed = () => this.#played > index + 1;
      second.deliver(record.entry);
      readRemarks(index + 1);
    }
    isReplayed = () => this.#plan.replayed();
    const follow = (entry: Entry): void => {
      at = recording.elapsed;
      second.deliver(entry);
    };
    this.#follow = follow;
    return reader;
  }
}

/** The journal of a machine that only follows another: it performs nothing. */
const UNWRITTEN: Journal = {
  open: () => undefined,
  close: () => undefined,
  next: () => Promise.resolve(null),
  end: () => undefined,
};

function ofAgent(agent: string): { readonly child?: string } {
  return agent === '' ? {} : { child: agent };
}

const MOST_EFFECTS = 20_000;

let machine: typeof agentMachine = agentMachine;
let effects = 0;

/**
 * The agent machine for a run that begins. XState caches the transitions for each state and event type as long as the
 * machine exists, and the end of each call has its own type: a machine that has seen many is replaced by an equal one.
 */
export function runMachine(): typeof agentMachine {
  if (effects > MOST_EFFECTS) {
    effects = 0;
    machine = agentMachine.provide({});
  }
  return machine;
}

/** To be called for each effect of a run. */
export function countEffect(): void {
  effects += 1;
}

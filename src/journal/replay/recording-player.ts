/**
 * Owns: playing a recording back line by line. Does not own: reading it, or what is made of the moves.
 *
 * I1 Nothing is performed; the machine receives what was recorded, in order, without the agent's code.
 * I2 Lines that come later continue where the earlier ones ended, so a run that is being written can be followed.
 * I3 A recording that this version would play differently ends there; `problem` is the reason.
 */
import type { Effect } from '../../actors/journal.ts';
import { describeThrown } from '../../json/to-json.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { runEventReader } from '../../machines/events/run-event-reader.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import { type Microstep, microstepReader, stateText } from '../../machines/events/transition-log.ts';
import { type RecordLine, type RunRecord, recordedEntry } from '../format/record.ts';
import type { Recording } from '../format/recording.ts';
import { ROOT_ID, inputOf } from '../format/run-input.ts';
import type { Tolerance } from './compare.ts';
import { LIVE_LINES, Playback } from './playback.ts';
import { type Drive, drive, recordedOutput } from '../run/drive.ts';
import { replayJournal } from './replay-journal.ts';

/** Receives what a recording holds. */
export interface PlayerListeners {
  /** One move of one machine, before the events that it means. */
  readonly onMicrostep?: (microstep: Microstep) => void;
  readonly onEvent?: (event: RunEvent) => void;
  /** The root machine itself failed. */
  readonly onFailure?: (error: unknown) => void;
}

/** Plays a recording back as its lines come. The first line must be the run's. */
export class RecordingPlayer {
  readonly #listeners: PlayerListeners;
  readonly #tolerance: Tolerance;
  readonly #lines: RecordLine[] = [];
  #driven: Drive | null = null;
  #past: Playback | null = null;
  #problem: string | null = null;
  #at = 0;
  readonly #open = new Map<string, Effect>();

  constructor(listeners: PlayerListeners, tolerance = LIVE_LINES) {
    this.#listeners = listeners;
    this.#tolerance = tolerance;
  }

  /** Why nothing more can be played; null while it can. */
  get problem(): string | null {
    return this.#problem;
  }

  /** When the latest line was written, in milliseconds from the run's beginning. */
  get at(): number {
    return this.#at;
  }

  /** What the run waits for behind the latest line: leaves that work, and timers. */
  get open(): readonly Effect[] {
    return [...this.#open.values()];
  }

  /** The state of the root machine as a dotted path. */
  get path(): string {
    return stateText(this.#driven?.actor.getSnapshot().value ?? 'PLANNING');
  }

  feed(line: RecordLine): void {
    if (line.t !== 'run') {
      this.#lines.push(line);
      this.#at = line.at;
    }
    if (this.#problem !== null) return;
    try {
      if (line.t === 'run') this.#begin(line);
      else this.#advance(line);
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error);
    }
  }

  #begin(head: RunRecord): void {
    const { onEvent = () => undefined, onMicrostep = () => undefined, onFailure: error } = this.#listeners;
    const past = new Playback({ head, lines: this.#lines }, () => this.path, this.#tolerance);
    this.#past = past;
    let seq = 0;
    const readEvents = runEventReader({
      runId: head.runId,
      now: () => this.#at,
      emit: (body, child) => onEvent({ ...body, seq: ++seq, replayed: false, ...(child === '' ? {} : { child }) }),
    });
    this.#driven = drive({
      logic: agentMachine,
      id: ROOT_ID,
      input: inputOf(head),
      journal: {
        ...replayJournal(past),
        open: (effect, perform) => {
          this.#open.set(effect.id, effect);
          past.open(effect, perform);
        },
        close: (id) => {
          this.#open.delete(id);
          past.close(id);
        },
      },
      recorder: null,
      context: undefined,
      inspect: microstepReader(
        () => true,
        (microstep) => {
          onMicrostep(microstep);
          readEvents(microstep);
        },
      ),
    });
    if (error !== undefined) this.#driven.actor.subscribe({ error });
    this.#driven.start();
  }

  #advance(line: RecordLine): void {
    const [driven, past] = [this.#driven, this.#past];
    if (line.t === 'run' || driven === null || past === null) return;
    if (line.t === 'end') return void past.end(recordedOutput(driven.actor.getSnapshot().output));
    if (recordedEntry(line) === null || !driven.isActive()) return;
    const entry = past.next();
    if (entry === null) return;
    if (entry.t === 'outcome' || entry.t === 'timer') this.#open.delete(entry.id);
    driven.deliver(entry);
  }
}

/**
 * Why the machines cannot continue behind a recording that was cut, as they say themselves; null: they can. What a machine
 * fails with at an outcome that its kind cannot have is an error of JavaScript: recorded failures are plain data.
 */
export function stuckBehind({ head, lines }: Recording): string | null {
  let failure: unknown = null;
  const note = (error: unknown): void => {
    if (error instanceof Error) failure ??= error;
  };
  const listeners = { onMicrostep: ({ event }: Microstep) => note(Reflect.get(event, 'error')), onFailure: note };
  const player = new RecordingPlayer(listeners, { ...LIVE_LINES, anyRequest: true });
  for (const line of [head, ...lines]) player.feed(line);
  const last = lines.at(-1);
  if (failure === null || last?.t !== 'outcome') return null;
  return `The run cannot continue with this outcome of ${last.id}: its machine fails (${describeThrown(failure).message}).`;
}

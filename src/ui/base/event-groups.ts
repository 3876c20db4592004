/**
 * Owns: the events of a run, grouped by the record that they follow from. Does not own: what a protocol makes of them.
 *
 * I1 The same records give the same groups, for every reader at any time.
 * I2 A group's position is the number of its record's line: what follows it can be asked for by that number alone.
 */
import { LONG_TIMER_MS } from '../../actors/journal.ts';
import { isJsonObject } from '../../json/json.ts';
import type { RecordLine, RunRecord } from '../../journal/format/record.ts';
import { RecordingPlayer } from '../../journal/replay/recording-player.ts';
import type { NumberedLine } from '../../journal/run/follow-run.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import { type OpenApproval, OpenApprovals, QUESTION_ENDS, argsDigest } from './open-approvals.ts';

/** The events that follow from one record. */
export interface EventGroup {
  /** The line of the record; 1 is the head. */
  readonly position: number;
  /** When the record was written, in milliseconds from the run's beginning. */
  readonly at: number;
  readonly events: readonly RunEvent[];
}

/** Events that come with a model's reply, before what the reply says. */
const BEFORE_TEXT: ReadonlySet<RunEvent['type']> = new Set(['thought', 'goal', 'warning']);

/** How a run stands behind one of its records. */
export interface GroupStanding {
  /** The first record; null before it. */
  readonly head: RunRecord | null;
  /** The line that was played last; 0 before the first. */
  readonly position: number;
  /** The state of the root machine as a dotted path. */
  readonly path: string;
  /** The run has ended. */
  readonly isOver: boolean;
  /** Nothing is under way but questions to people, their deadlines, and timers that are long. */
  readonly isWaiting: boolean;
  /** Why nothing more can be read of this run: another version recorded it. Null while it can. */
  readonly problem: string | null;
  /** The calls that wait for a person. */
  readonly approvals: readonly OpenApproval[];
  /** The ids of those that are open no more: true, or why they were not let run. */
  readonly answered: ReadonlyMap<string, true | string>;
  /** Of those that were approved with other arguments than were shown, the digests of these; null where they hold a secret. */
  readonly edited: ReadonlyMap<string, string | null>;
  /** For each question, the last line after which the run waited with it: what follows is new to anyone who was shown that. */
  readonly waitedAt: ReadonlyMap<string, number>;
}

/** Makes groups of a run's records as they come. The first must be the head. */
export class GroupPlayer {
  readonly #player: RecordingPlayer;
  /** How long the questions may wait: timers of these milliseconds are deadlines, and nothing that is under way. */
  readonly #limits = new Set<number>();
  readonly #approvals = new OpenApprovals();
  readonly #answered = new Map<string, true | string>();
  readonly #edited = new Map<string, string | null>();
  readonly #waitedAt = new Map<string, number>();
  readonly #events: RunEvent[] = [];
  #isOver = false;
  /** The first record; null before it. */
  head: RunRecord | null = null;
  /** The line that was fed last; 0 before the first. */
  position = 0;

  constructor() {
    this.#player = new RecordingPlayer({
      onEvent: (event) => {
        this.#events.push(event);
        this.#take(event);
      },
    });
  }

  /** The group of a record; null where nothing follows from it. */
  feed({ number, line }: NumberedLine): EventGroup | null {
    if (line.t === 'run') this.head = line;
    if (line.t === 'end') this.#isOver = true;
    this.position = number;
    if (line.t === 'event') this.#readEdit(line);
    this.#player.feed(line);
    const asked = this.#approvals.list;
    if (asked.length > 0 && this.isWaiting) for (const { id } of asked) this.#waitedAt.set(id, number);
    const events = this.#events.splice(0);
    return events.length === 0 ? null : { position: number, at: this.#player.at, events };
  }

  #readEdit({ event, to }: RecordLine & { readonly t: 'event' }): void {
    const { type, args } = event;
    if (type !== 'approval.given' || !isJsonObject(args)) return;
    const asking = this.#player.open.find(({ id, name }) => name === 'askApproval' && id.startsWith(`${to}/${name}#`));
    const callId: unknown = Reflect.get(Object(asking?.request), 'callId');
    const asked = this.#approvals.of(String(callId));
    const hasSecret = JSON.stringify(args).includes('«secret:');
    if (asked !== null) this.#edited.set(asked.id, hasSecret ? null : argsDigest(args));
  }

  #take(event: RunEvent): void {
    if (event.type === 'approval.requested' && event.limitMs !== undefined) this.#limits.add(event.limitMs);
    for (const { id } of this.#approvals.take(event)) this.#answered.set(id, endOf(event));
  }

  /** Nothing is under way but questions to people, their deadlines, and timers that are long. */
  get isWaiting(): boolean {
    const open = this.#player.open;
    const asks = open.some(({ name }) => name === 'askApproval');
    const isLong = (ms: number): boolean => ms >= LONG_TIMER_MS || this.#limits.has(ms);
    return asks && open.every(({ name, ms = 0 }) => name === 'askApproval' || isLong(ms));
  }

  /** How the run stands now; it does not change with what is fed later. */
  get standing(): GroupStanding {
    const { head, position, isWaiting } = this;
    const { path, problem } = this.#player;
    const [answered, edited, waitedAt] = [new Map(this.#answered), new Map(this.#edited), new Map(this.#waitedAt)];
    const approvals = this.#approvals.list;
    return { head, position, path, isOver: this.#isOver, isWaiting, problem, approvals, answered, edited, waitedAt };
  }
}

/** True where an event that ends the waiting of a call follows from a yes, else why it does not run. */
function endOf(event: RunEvent): true | string {
  if (event.type === 'tool.denied') return event.reason;
  if (event.type === 'state.changed') return event.answer === 'yes' || QUESTION_ENDS[event.answer ?? 'none'];
  return event.type === 'tool.started' || event.type === 'tool.finished' || 'the run ended.';
}

/** Turns the events of one run into messages of a protocol, as they come. */
export abstract class EventFold<TMessage> {
  readonly approvals = new OpenApprovals();
  protected runId = '';
  /** The model's text besides its calls, until its turn. */
  protected said = '';
  /** The run has ended. */
  isOver = false;
  seq = 0;

  /** The messages of events that follow from one record. */
  feed(events: Iterable<RunEvent>): readonly TMessage[] {
    const told: TMessage[] = [];
    for (const event of events) {
      if (event.type === 'model.token') continue;
      this.seq = event.seq;
      if (this.said !== '' && !BEFORE_TEXT.has(event.type)) told.push(...this.#speak());
      told.push(...(event.child === undefined ? this.own(event) : this.ofChild(event, event.child)));
      this.approvals.take(event);
    }
    return [...told, ...this.#speak()];
  }

  protected abstract own(event: RunEvent): readonly TMessage[];
  protected abstract ofChild(event: RunEvent, child: string): readonly TMessage[];
  protected abstract speak(text: string): readonly TMessage[];

  #speak(): readonly TMessage[] {
    const { said } = this;
    this.said = '';
    return said === '' ? [] : this.speak(said);
  }
}

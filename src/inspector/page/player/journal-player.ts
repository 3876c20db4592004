/**
 * Owns: what a recording's lines mean: frames as they come, and the details of each step. Does not own: where lines come from.
 *
 * I1 Frames follow from the lines alone, so a run that is watched and one that is loaded again show the same; only what is
 *    not recorded, such as tokens, is seen only by those who watched live.
 * I2 What the latest steps came from is kept; for an earlier one the lines are played again.
 */
import { RecordingPlayer, stuckBehind } from '../../../journal/replay/recording-player.ts';
import { blobReader, HOLDS_KEY } from '../../../journal/format/blobs.ts';
import { cutRecording, writtenOutcome } from '../../../journal/format/cut-recording.ts';
import type { BlobRecord, RecordLine } from '../../../journal/format/record.ts';
import type { RunEventBody } from '../../../machines/events/run-events.ts';
import { eventOfNote, tokenEvents } from '../../../machines/events/note-events.ts';
import type { Json, JsonObject } from '../../../json/json.ts';
import { describeThrown } from '../../../json/to-json.ts';
import { FrameMaker, type FrameOptions } from '../../frames/frame-maker.ts';
import { type StepSource, detailOf } from '../../frames/step-details.ts';
import type { Unrecorded } from '../../frames/run-port.ts';
import type { Frame, StepDetail, StepInfo } from '../../frames/protocol.ts';

/** A line as it is sent: a record, a large payload of it, or what was reported and is not recorded. */
type SentLine = RecordLine | BlobRecord | ({ readonly t: 'said' } & Unrecorded);

interface KeptStep {
  readonly step: StepInfo;
  readonly source: StepSource;
}

/** Some 3 KB each, and in a long run as much as its conversation. */
const MOST_STEPS = 16_384;
/** In a run of so many lines half of them are kept. */
const MANY_LINES = 4000;

/** Plays one session's lines. */
export class JournalPlayer {
  readonly #session: string;
  readonly #emit: (frame: Frame) => void;
  readonly #records: RecordLine[] = [];
  readonly #blobs = blobReader();
  readonly #steps = new KeptSteps(() => this.#room);
  readonly #player: ReturnType<typeof framePlayer>;
  #problem: string | null = null;

  constructor(session: string, emit: (frame: Frame) => void) {
    this.#session = session;
    this.#emit = emit;
    this.#player = framePlayer({ session, emit, onStep: this.#steps.note });
  }

  /** How many lines of the recording it has. */
  get count(): number {
    return this.#records.length;
  }

  /** How many steps are kept: each refers to the messages of its time, a list that is as long as the run. */
  get #room(): number {
    return Math.ceil(MOST_STEPS / (1 + (this.count / MANY_LINES) ** 2));
  }

  /** Takes the next line. The first must be the run's. */
  take(text: string): void {
    const line = this.count + 1;
    try {
      this.#takeLine(JSON.parse(text), HOLDS_KEY.test(text));
    } catch (error) {
      this.#report(`Line ${line} cannot be read: ${describeThrown(error).message}`);
    }
  }

  /** Null: there is no such step. */
  detail(n: number): StepDetail | null {
    const known = this.#steps.find(n) ?? this.#playedAgain(n);
    return known === null ? null : detailOf(known.step, known.source);
  }

  /** Why the run cannot continue from an entry with another outcome, as its machine says; null: it can. */
  refusal(entry: number, outcome: Json): string | null {
    const [head, ...lines] = this.#records;
    if (head?.t !== 'run') return null;
    try {
      return stuckBehind(cutRecording({ head, lines }, entry, writtenOutcome(outcome, lines[entry - 2])).past);
    } catch (error) {
      return describeThrown(error).message;
    }
  }

  /** Drops what steps came from, until one is requested. */
  rest(): void {
    this.#steps.clear();
  }

  #takeLine(line: SentLine, isShort: boolean): void {
    if (line.t === 'said') return this.#player.say(line);
    if (line.t === 'blob') return void this.#blobs.blob(line);
    if (line.t === 'run') this.#blobs.head(line);
    const record = isShort && line.t !== 'run' ? wholeRecord(this.#blobs.restore(line)) : line;
    this.#records.push(record);
    this.#player.feed(record);
    const problem = this.#player.problem();
    if (problem !== null) this.#report(problem);
  }

  #report(problem: string): void {
    if (this.#problem !== null) return;
    this.#problem = problem;
    this.#emit({ t: 'problem', session: this.#session, problem });
  }

  #playedAgain(n: number): KeptStep | null {
    const half = this.#room / 2;
    const steps = new KeptSteps(
      () => Infinity,
      (one) => Math.abs(one - n) < half,
    );
    const player = framePlayer({ session: this.#session, emit: () => undefined, onStep: steps.note });
    for (const record of this.#records) {
      player.feed(record);
      if (steps.last > n + half) break;
    }
    this.#steps.adopt(steps);
    return this.#steps.find(n);
  }
}

function wholeRecord(record: object | null): RecordLine {
  if (record === null || !isRecord(record)) throw new Error('it refers to a payload that is missing.');
  return record;
}

function isRecord(record: object): record is RecordLine {
  return 't' in record;
}

/** What steps came from, the oldest dropped first. */
class KeptSteps {
  readonly #room: () => number;
  readonly #wanted: (n: number) => boolean;
  #steps = new Map<number, KeptStep>();
  /** The number of the latest step that came by. */
  last = 0;

  constructor(room: () => number, wanted: (n: number) => boolean = () => true) {
    this.#room = room;
    this.#wanted = wanted;
  }

  readonly note = (step: StepInfo, source: StepSource): void => {
    this.last = step.n;
    if (!this.#wanted(step.n)) return;
    this.#steps.set(step.n, { step, source });
    const room = this.#room();
    for (const oldest of this.#steps.keys()) {
      if (this.#steps.size <= room) return;
      this.#steps.delete(oldest);
    }
  };

  find(n: number): KeptStep | null {
    return this.#steps.get(n) ?? null;
  }

  adopt(other: KeptSteps): void {
    this.#steps = other.#steps;
  }

  clear(): void {
    this.#steps.clear();
  }
}

/** A recording on its way through the machines, with its frames. */
function framePlayer(options: FrameOptions) {
  const maker = new FrameMaker(options);
  const tokens = tokenEvents();
  let seq = 0;
  const player = new RecordingPlayer({
    onMicrostep: (microstep) => {
      tokens.follow(microstep);
      maker.microstep(microstep);
    },
    onEvent: (event) => {
      ({ seq } = event);
      maker.event(event);
    },
  });
  const add = (body: RunEventBody, agent = ''): void =>
    maker.event({ ...body, seq, replayed: false, ...(agent === '' ? {} : { child: agent }) });
  const note = (id: string, remark: JsonObject): void => {
    const effect = player.open.find((one) => one.id === id);
    const body = effect?.name === 'callTool' ? eventOfNote(effect, remark) : null;
    if (body !== null) return add(body, tokens.placeOf(id));
    const token = tokens.event(id, remark);
    for (const one of token?.bodies ?? []) add(one, token?.agent);
  };
  return {
    /** Why there are records without moves from some line on: this version would play them differently. */
    problem: () => player.problem,
    feed: (line: RecordLine) => {
      maker.record(line);
      player.feed(line);
      if (line.t === 'note' && line.id !== undefined) note(line.id, line.note);
    },
    /** Takes what is not recorded. */
    say: (what: Unrecorded) => ('event' in what ? add(what.event) : note(what.id, what.note)),
  };
}

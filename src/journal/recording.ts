import type { Effect, Entry } from '../actors/journal.ts';
import type { Json } from '../parsing/json.ts';
import { deltaWriter } from './deltas.ts';
import { FORMAT, type RecordLine, type RunRecord, entryRecord, startRecord } from './record.ts';

/** Keeps what crosses the boundary, by reference: nothing is written out unless somebody asks for the lines. */
export interface Recorder {
  start(effect: Effect): void;
  entry(entry: Entry): void;
  end(output: Json): void;
  /** The recording so far, as JSON lines. */
  text(): string;
  /** Milliseconds from the beginning to the latest record: a clock that a replay can read too. */
  readonly elapsed: number;
  /** Reads the records one after the other, null when there are no more yet. */
  reader(): () => RecordLine | null;
  /** Called after each record, for the one who watches the run. One that throws is ignored. */
  watch(listener: (() => void) | null): void;
}

type Kept =
  | { readonly kind: 'start'; readonly at: number; readonly effect: Effect }
  | { readonly kind: 'entry'; readonly at: number; readonly entry: Entry }
  | { readonly kind: 'end'; readonly at: number; readonly output: Json };

/** Records one run from its head on. */
export function recorder(head: RunRecord): Recorder {
  const began = performance.now();
  const kept: Kept[] = [];
  let watching: (() => void) | null = null;
  const at = (): number => Math.round(performance.now() - began);
  const keep = (item: Kept): void => {
    kept.push(item);
    if (watching !== null) tell(watching);
  };
  return {
    start: (effect) => keep({ kind: 'start', at: at(), effect }),
    entry: (entry) => keep({ kind: 'entry', at: at(), entry }),
    end: (output) => keep({ kind: 'end', at: at(), output }),
    get elapsed() {
      return kept.at(-1)?.at ?? 0;
    },
    reader: () => {
      const write = deltaWriter();
      let begun = false;
      let next = 0;
      return () => {
        if (!begun) {
          begun = true;
          return head;
        }
        const item = kept[next];
        if (item === undefined) return null;
        next += 1;
        return lineOf(item, write);
      };
    },
    watch: (listener) => {
      watching = listener;
    },
    text: () => {
      const write = deltaWriter();
      const lines = kept.map((item) => JSON.stringify(lineOf(item, write)));
      return `${[JSON.stringify(head), ...lines].join('\n')}\n`;
    },
  };
}

function tell(listener: () => void): void {
  try {
    listener();
  } catch {
    // Whoever watches must not stop what it watches.
  }
}

function lineOf(item: Kept, write: (effect: Effect) => Json): RecordLine {
  switch (item.kind) {
    case 'start':
      return startRecord(item.effect, item.at, item.effect.ms === undefined ? write(item.effect) : null);
    case 'entry':
      return entryRecord(item.entry, item.at);
    case 'end':
      return { t: 'end', at: item.at, output: item.output };
  }
}

/** A recording that was read: its head, and the lines after it. */
export interface Recording {
  readonly head: RunRecord;
  readonly lines: readonly RecordLine[];
}

/** The recording cannot be read; `line` counts from 1. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
  readonly code = 'bad-recording';
  readonly line: number;

  constructor(line: number, message: string) {
    super(`Line ${line} of the recording ${message}`);
    this.line = line;
  }
}

const KINDS: ReadonlySet<unknown> = new Set(['run', 'start', 'outcome', 'timer', 'event', 'end', 'note', 'restart']);

/**
 * Reads a recording: JSON lines as one text, as a list of lines, or as records that were parsed already. A torn last line
 * is dropped, records of unknown kinds are skipped. Throws a {@link RecordingError} for anything else that is wrong.
 */
export function readRecording(recording: string | readonly (string | object)[]): Recording {
  const items = typeof recording === 'string' ? recording.split('\n') : recording;
  const lines: RecordLine[] = [];
  items.forEach((item, index) => {
    const record = readLine(item, index, items.length);
    if (record !== null) lines.push(record);
  });
  const [head, ...rest] = lines;
  if (head?.t !== 'run') throw new RecordingError(1, 'is no run record: a recording begins with one ("t": "run").');
  if (head.format > FORMAT)
    throw new RecordingError(
      1,
      `has format ${head.format}, and this version of Signalbox reads up to ${FORMAT}. Update signalbox.`,
    );
  return { head, lines: rest };
}

function readLine(item: string | object, index: number, count: number): RecordLine | null {
  if (typeof item !== 'string') return isRecord(item) ? item : null;
  if (item.trim() === '') return null;
  try {
    const parsed: unknown = JSON.parse(item);
    return isRecord(parsed) ? parsed : null;
  } catch {
    if (index === count - 1) return null;
    throw new RecordingError(index + 1, 'is no JSON. The file is damaged there; only its last line may be torn.');
  }
}

function isRecord(value: unknown): value is RecordLine {
  return typeof value === 'object' && value !== null && KINDS.has(Reflect.get(value, 't'));
}

import { type Effect, type Entry, effectKey } from '../../actors/journal.ts';
import { digest } from '../../json/digest.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { Effects } from '../../tools/spec.ts';
import { lineWriter } from './blobs.ts';
import { deltaWriter, wholeRequest } from './deltas.ts';
import { type RecordLine, type RunRecord, type StartRecord, entryRecord, startRecord } from './record.ts';

/**
 * Keeps what crosses the boundary: requests against the one before, so that a long run holds each message once, and all
 * else by reference. Nothing is serialized unless the lines are requested.
 */
export interface Recorder {
  start(effect: Effect): void;
  entry(entry: Entry): void;
  end(output: Json): void;
  /** The recording so far, as JSON lines. */
  text(): string;
  /** Milliseconds from the beginning to the latest record: a clock that a replay can read too. */
  readonly elapsed: number;
  /**
   * Reads the records one after the other, null when there are no more yet; for replaying only, without the digests of
   * requests, which cost more than the rest of a line.
   */
  reader(digests: 'digests' | 'no digests'): () => RecordLine | null;
  /** The entries that the machine has received so far, in order, with their times. */
  entries(): readonly { readonly at: number; readonly entry: Entry }[];
  /** Called after each record, for the run's watcher. What it throws is ignored. */
  watch(listener: (() => void) | null): void;
}

type Kept = KeptStart | { readonly at: number; readonly entry: Entry } | (RecordLine & { readonly t: 'end' | 'start' });

/** A leaf's start, without the request that it began with: that would be the whole conversation in each turn. */
class KeptStart implements Pick<StartRecord, 'at' | 'id' | 'name' | 'effects' | 'request'> {
  readonly at: number;
  readonly id: string;
  readonly name: string;
  readonly effects: Effects;
  /** Against the one before of this name. */
  readonly request: Json;
  /** Made of the whole request when the first reader asks for it. */
  #digest: string | undefined;

  constructor(at: number, { id, name, effects }: Effect, request: Json) {
    this.at = at;
    this.id = id;
    this.name = name;
    this.effects = effects;
    this.request = request;
  }

  /** `asked` returns the whole request, and is called if the digest is not known; null: it is not needed. */
  record(asked: (() => Json) | null): StartRecord {
    const { id, name, effects } = this;
    const sum = asked === null ? '' : (this.#digest ??= digest(asked()));
    const key = asked === null ? '' : effectKey(id, sum);
    return startRecord({ id, name, effects, digest: sum, key }, this.at, this.request);
  }
}

/** Records one run from its head on; `at` returns the milliseconds since it began. */
export function recorder(head: RunRecord, at: () => number = stopwatch()): Recorder {
  return new RunRecorder(head, at);
}

class RunRecorder implements Recorder {
  readonly #head: RunRecord;
  readonly #at: () => number;
  readonly #shorten: (effect: Effect) => Json;
  readonly #kept: Kept[] = [];
  #watching: (() => void) | null = null;

  constructor(head: RunRecord, at: () => number) {
    this.#head = head;
    this.#at = at;
    this.#shorten = deltaWriter(head);
  }

  start(effect: Effect): void {
    const at = this.#at();
    this.#keep(
      effect.ms === undefined ? new KeptStart(at, effect, this.#shorten(effect)) : startRecord(effect, at, null),
    );
  }

  entry(entry: Entry): void {
    this.#keep({ at: this.#at(), entry });
  }

  end(output: Json): void {
    this.#keep({ t: 'end', at: this.#at(), output });
  }

  #keep(item: Kept): void {
    this.#kept.push(item);
    if (this.#watching !== null) tell(this.#watching);
  }

  get elapsed(): number {
    return this.#kept.at(-1)?.at ?? 0;
  }

  reader(digests: 'digests' | 'no digests'): () => RecordLine | null {
    const lineOf = lineReader(this.#head, digests);
    let begun = false;
    let next = 0;
    return () => {
      if (!begun) {
        begun = true;
        return this.#head;
      }
      const item = this.#kept[next];
      if (item === undefined) return null;
      next += 1;
      return lineOf(item);
    };
  }

  entries(): readonly { readonly at: number; readonly entry: Entry }[] {
    return this.#kept.flatMap((item) => ('entry' in item ? [item] : []));
  }

  watch(listener: (() => void) | null): void {
    this.#watching = listener;
  }

  text(): string {
    const [lineOf, write] = [lineReader(this.#head, 'digests'), lineWriter()];
    return write(this.#head) + this.#kept.map((item) => write(lineOf(item))).join('');
  }
}

/** Makes records from what was kept, in order. */
function lineReader({ history }: RunRecord, digests: 'digests' | 'no digests'): (item: Kept) => RecordLine {
  /** The latest request of each name, whole: only against that one is the next written. */
  const latest = new Map<string, JsonObject>();
  /** Those after it, as they are written: they are assembled only on demand. */
  const unread = new Map<string, Json[]>();
  const whole = (name: string): Json => {
    let request: Json = null;
    for (const written of unread.get(name) ?? []) {
      request = shallowlyFrozen(wholeRequest(written, history, () => latest.get(name)));
      if (isJsonObject(request)) latest.set(name, request);
    }
    unread.delete(name);
    return request;
  };
  return (item) => {
    if ('entry' in item) return entryRecord(item.entry, item.at);
    if (!(item instanceof KeptStart)) return item;
    if (digests === 'no digests') return item.record(null);
    const { name, request } = item;
    const waiting = unread.get(name);
    if (waiting === undefined) unread.set(name, [request]);
    else waiting.push(request);
    return item.record(() => whole(name));
  };
}

/** So that the digest of a list that grew from another begins where that one's ended. */
function shallowlyFrozen(request: Json): Json {
  if (isJsonObject(request)) for (const member of Object.values(request)) Object.freeze(member);
  return Object.freeze(request);
}

/** Counts the milliseconds from now on. */
export function stopwatch(): () => number {
  const began = performance.now();
  return () => Math.round(performance.now() - began);
}

function tell(listener: () => void): void {
  try {
    listener();
  } catch {
    // A watcher must not stop what it watches.
  }
}

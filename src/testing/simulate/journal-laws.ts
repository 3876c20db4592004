import type { Effect, Perform } from '../../actors/journal.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { isJsonObject, memberOf } from '../../json/json.ts';
import { describeThrown } from '../../json/to-json.ts';
import type { Drawn } from './draws.ts';
import { reallyWait } from './virtual-time.ts';

/** Something that is wrong: which check says so, and what. */
export interface Problem {
  readonly check: string;
  readonly message: string;
}

/** What makes the timers of a run late: the clock was set, or time passed while something was written. */
const MAKES_LATE = /^(?:clock|journal\.slow)/;
const SLACK_MS = 1000;

/** What is wrong with the records of a run, whatever its machine made of them; null for nothing. */
export function recordsWrong(
  recording: Recording,
  drawn: readonly Drawn[],
  restarts: readonly number[],
): Problem | null {
  return sharedKey(recording) ?? wrongTimer(recording, drawn, restarts) ?? wrongUsage(recording);
}

/** What is repeated has the same key; nothing else has. */
function sharedKey({ lines }: Recording): Problem | null {
  const owners = new Map<string, string>();
  for (const line of lines) {
    if (line.t !== 'start') continue;
    const path = line.id.slice(0, line.id.lastIndexOf('#'));
    const owner = owners.get(line.key) ?? path;
    if (owner !== path && line.ms === undefined)
      return { check: 'keys', message: `${owner} and ${path} have the same idempotency key` };
    owners.set(line.key, owner);
  }
  return null;
}

/** A timer waits for its time, over restarts too, and not longer. */
function wrongTimer({ lines }: Recording, drawn: readonly Drawn[], restarts: readonly number[]): Problem | null {
  const due = new Map<string, number>();
  const isPunctual = !drawn.some(({ kind }) => MAKES_LATE.test(kind));
  for (const line of lines) {
    if (line.t === 'start' && line.ms !== undefined) due.set(line.id, line.at + line.ms);
    const then = line.t === 'timer' ? due.get(line.id) : undefined;
    if (line.t !== 'timer' || then === undefined) continue;
    if (line.at < then - 1) return { check: 'timers', message: `${line.id} fired ${then - line.at} ms too early` };
    const late = line.at - Math.max(then, ...restarts.filter((at) => at <= line.at));
    if (isPunctual && late > SLACK_MS) return { check: 'timers', message: `${line.id} fired ${late} ms too late` };
  }
  return null;
}

/** What a run has used are counts, whatever its model says. */
function wrongUsage({ lines }: Recording): Problem | null {
  const last = lines.at(-1);
  const usage = last?.t === 'end' && isJsonObject(last.output) ? last.output['usage'] : null;
  const wrong = isJsonObject(usage)
    ? Object.entries(usage).find(([, count]) => typeof count === 'number' && !(Number.isInteger(count) && count >= 0))
    : undefined;
  return wrong === undefined ? null : { check: 'usage', message: `${wrong[0]} of the result is not a count` };
}

/** Watches that the journal performs what is open, stops what is closed, and delivers what has ended, each once. */
export class WatchedWork {
  readonly #wrong: (id: string, says: string) => void;
  readonly #begun = new Map<string, { readonly signal: AbortSignal; isDone: boolean }>();
  readonly #over = new Set<string>();

  constructor(wrong: (id: string, says: string) => void) {
    this.#wrong = wrong;
  }

  watched({ id }: Effect, perform: Perform): Perform {
    return async (io) => {
      if (this.#over.has(id)) this.#wrong(id, 'was closed, and began all the same');
      const begun = { signal: io.signal, isDone: false };
      this.#begun.set(id, begun);
      const out = await perform(io);
      begun.isDone = true;
      return out;
    };
  }

  closed(id: string): void {
    const begun = this.#begun.get(id);
    if (begun !== undefined && !begun.isDone && !begun.signal.aborted)
      this.#wrong(id, 'was closed, and not told to stop');
    this.#over.add(id);
  }

  delivered(id: string): void {
    if (this.#over.has(id)) this.#wrong(id, 'was over, and something of it was delivered');
    this.#begun.get(id)?.signal.addEventListener('abort', () => this.#wrong(id, 'was told to stop when it had ended'));
    this.#over.add(id);
  }
}

/** A check of one's own that takes longer has hung: timers stand still. */
const CHECK_MS = 1_000;

/** What a check of one's own finds wrong with a run that is over, for which it may wait. */
export async function waitsWrong(check: string, ask: () => unknown): Promise<Problem | null> {
  try {
    const asked = ask();
    const isLate = isPromise(asked) ? reallyWait(CHECK_MS).then(() => `it had not settled after ${CHECK_MS} ms`) : null;
    return problemIn(check, isLate === null ? asked : await Promise.race([asked, isLate]));
  } catch (error) {
    return { check, message: describeThrown(error).message };
  }
}

/** What a check of one's own finds wrong with a state, which does not wait for it. */
export function saysWrong(check: string, ask: () => unknown): Problem | null {
  try {
    const said = ask();
    if (!isPromise(said)) return problemIn(check, said);
    said.then(undefined, () => undefined);
    return { check, message: 'it gives a promise, and no state waits for that' };
  } catch (error) {
    return { check, message: describeThrown(error).message };
  }
}

function problemIn(check: string, said: unknown): Problem | null {
  if (said === false) return { check, message: 'it is false' };
  return typeof said === 'string' && said !== '' ? { check, message: said } : null;
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof memberOf(value, 'then') === 'function';
}

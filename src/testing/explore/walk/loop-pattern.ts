import type { LoopContext } from '../../../machines/tool-call/loop-detection.ts';
import type { Json } from '../../../json/json.ts';

const LONGEST_CYCLE = 3;

/** How much can still come: turns of the model, and calls in them. */
export interface Ahead {
  readonly turns: number;
  readonly calls: number;
}

/**
 * Where a loop detection stands, up to renaming the calls: how the latest calls repeat each other, how long each cycle has
 * lasted, how often calls have failed alike. What cannot lead to a refusal any more in what is ahead is left out, so two
 * memories with the same pattern judge all that follows alike.
 */
export function loopPattern({ recent, failures, limit }: LoopContext, ahead: Ahead): Json {
  const latest = recent.slice(-LONGEST_CYCLE).toReversed();
  const nameOf = (key: string): number => latest.indexOf(key);
  const runs = Array.from({ length: LONGEST_CYCLE }, (_, index) => {
    const period = index + 1;
    const run = Math.min(repeats(recent, period), period * limit);
    return run + ahead.calls > period * (limit - 2) ? run : null;
  });
  const errors = [...new Set(Object.values(failures).map(({ error }) => error))];
  const failed = Object.entries(failures)
    .filter(([, { rounds }]) => rounds + ahead.turns >= limit)
    .map(([key, { error, rounds }]) => `${nameOf(key)}:${errors.indexOf(error)}:${Math.min(rounds, limit)}`)
    .sort();
  const matters = failed.length > 0 || runs.some((run) => run !== null);
  return matters ? [latest.map(nameOf), runs, failed] : null;
}

/** How many of the latest calls equal the call `period` before them. */
function repeats(keys: readonly string[], period: number): number {
  let same = 0;
  for (let at = keys.length - 1; at - period >= 0 && keys[at] === keys[at - period]; at--) same++;
  return same;
}

import { optionsOf, wrongOption } from '../../json/known-options.ts';
import type { JournalStore } from '../run/run-journal.ts';
import type { JournalConformanceOptions } from './sample-run.ts';
import type { TestedEngine } from './tested-engine.ts';

/** Which rules a store keeps, and which could not be checked because it lacks an optional method or an option was not given. */
export interface ConformanceReport {
  readonly kept: readonly string[];
  readonly skipped: readonly string[];
}

/** A store or an engine breaks a rule of its port; `rule` names it, as docs/journal-port.md does. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError';
  readonly code = 'not-conformant';
  readonly rule: string;

  constructor(rule: string, message: string, cause?: unknown) {
    super(`The rule '${rule}' is broken: ${message}`, cause === undefined ? undefined : { cause });
    this.rule = rule;
  }
}

const checkOptions = optionsOf<JournalConformanceOptions>('assertJournalConformance', 'docs/journal-port.md', {
  reopen: true,
  loseLock: true,
  tear: true,
  writers: true,
  timeoutMs: true,
});

/**
 * Checks that a store keeps the rules of `JournalStore`, one after the other, each on a new store that a function makes, or
 * on an empty one, which is emptied before each. Rejects with a {@link ConformanceError} for the first rule that is broken.
 *
 * @example test('my store keeps the rules', () => assertJournalConformance(() => myStore()));
 */
export async function assertJournalConformance(
  given: JournalStore | (() => JournalStore | Promise<JournalStore>),
  options: JournalConformanceOptions = {},
): Promise<ConformanceReport> {
  checkOptions(options);
  if (typeof given !== 'function' && (!given.remove || (await given.list?.())?.length !== 0))
    throw wrongOption('A store must be empty and have list and remove. Else give a function that makes one.');
  const { journalRules } = await import('./journal-rules.ts');
  const [kept, skipped]: [string[], string[]] = [[], []];
  for (const [rule, check] of Object.entries(journalRules)) {
    const isChecked = await inTime(rule, options.timeoutMs, async () => check({ store: await fresh(given), options }));
    (isChecked ? kept : skipped).push(rule);
  }
  return { kept, skipped };
}

async function fresh(given: JournalStore | (() => JournalStore | Promise<JournalStore>)): Promise<JournalStore> {
  if (typeof given === 'function') return given();
  await Promise.all(((await given.list?.()) ?? []).map(async ({ runId }) => given.remove?.(runId)));
  return given;
}

/** How the rules of an engine are checked. */
export interface EngineConformanceOptions {
  /** How long one rule may take, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

const checkEngineOptions = optionsOf<EngineConformanceOptions>('assertEngineConformance', 'docs/journal-port.md', {
  timeoutMs: true,
});

/**
 * Checks that the journal of an engine keeps the rules of the port, one after the other, each on its own runs: order,
 * timers, events from outside, cancel, `once`, large results, each across a lost attempt. Rejects with a
 * `ConformanceError` for the first rule that is broken. Works without a test framework.
 *
 * @example test('my engine keeps the rules', () => assertEngineConformance(myEngine));
 */
export async function assertEngineConformance(
  engine: TestedEngine,
  options: EngineConformanceOptions = {},
): Promise<ConformanceReport> {
  checkEngineOptions(options);
  const { engineRules } = await import('./engine-rules.ts');
  const [kept, skipped]: [string[], string[]] = [[], []];
  for (const [rule, check] of Object.entries(engineRules)) {
    const runId = `${rule}-${crypto.randomUUID()}`;
    const isChecked = await inTime(rule, options.timeoutMs, () => check(engine, runId));
    (isChecked ? kept : skipped).push(rule);
  }
  return { kept, skipped };
}

/** Turns what a check throws, or its timeout, into the error of its rule. */
export async function inTime<T>(rule: string, timeoutMs = 60_000, check: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it was not done after ${timeoutMs} ms.`)), timeoutMs);
  try {
    return await Promise.race([check(), late.promise]);
  } catch (error) {
    throw new ConformanceError(rule, error instanceof Error ? error.message : String(error), error);
  } finally {
    clearTimeout(timer);
  }
}

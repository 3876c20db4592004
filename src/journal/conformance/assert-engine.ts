import { optionsOf } from '../../json/known-options.ts';
import { type ConformanceReport, inTime } from './assert-conformance.ts';
import type { TestedEngine } from './tested-engine.ts';

/** How the rules of an engine are checked. */
export interface EngineConformanceOptions {
  /** How long one rule may take, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

const checkOptions = optionsOf<EngineConformanceOptions>('assertEngineConformance', 'docs/journal-port.md', {
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
  checkOptions(options);
  const { engineRules } = await import('./engine-rules.ts');
  const [kept, skipped]: [string[], string[]] = [[], []];
  for (const [rule, check] of Object.entries(engineRules)) {
    const runId = `${rule}-${crypto.randomUUID()}`;
    const isChecked = await inTime(rule, options.timeoutMs, () => check(engine, runId));
    (isChecked ? kept : skipped).push(rule);
  }
  return { kept, skipped };
}

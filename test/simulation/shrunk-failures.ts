import type { SimulateOptions, SimulatedAgent } from '../../src/testing/index.ts';
import { simulate } from '../../src/testing/index.ts';
import type { AgentOptions } from '../../src/index.ts';

/** What a failure was shrunk to. */
export interface ShrunkFailure {
  readonly name: string;
  readonly seed: number;
  readonly check: string;
  readonly reason: string;
  /** How many records there were when it was found, and how many are left. */
  readonly found: number;
  readonly left: number;
  readonly only: readonly string[];
  /** Whether the shrunk run is the same again when it is repeated, and fails for the same reason. */
  readonly isKept: boolean;
}

/** Simulates an agent until something fails, and repeats what that was shrunk to; null where nothing does. */
export async function shrunkFailure(
  name: string,
  agent: (options: AgentOptions) => SimulatedAgent,
  options: SimulateOptions,
): Promise<ShrunkFailure | null> {
  const { failures } = await simulate(agent, { ...options, maxFailures: 1 });
  const [failure] = failures;
  if (failure === undefined) return null;
  const { seed, check, reason, records, only } = failure;
  const { budgetMs: _budgetMs, ...rest } = options;
  const again = await simulate(agent, { ...rest, seeds: [seed], only });
  const [same] = again.failures.filter((one) => one.check === check && one.reason === reason);
  const isKept = same?.records.found === records.left;
  return { name, seed, check, reason: reason.slice(0, 100), ...records, only, isKept };
}

/** The share of the records that is gone in the median of failures, and the share that kept its reason. */
export function sharesOf(failures: readonly ShrunkFailure[]): { readonly gone: number; readonly kept: number } {
  const gone = failures.map(({ found, left }) => 1 - left / found).toSorted((a, b) => a - b);
  return {
    gone: gone[gone.length >> 1] ?? 0,
    kept: failures.filter(({ isKept }) => isKept).length / Math.max(1, failures.length),
  };
}

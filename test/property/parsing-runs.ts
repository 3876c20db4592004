import { SOAKING, seedOr } from '../support/soak.ts';

/**
 * How many cases a law is tried on. Fixed seeds and small numbers in the suite, so that CI is quick and repeatable: a
 * part of what the law names; a soak tries 20 times as many as it names, or `SIGNALBOX_FACTOR` times.
 */
const FACTOR = SOAKING ? Number(process.env['SIGNALBOX_FACTOR'] ?? '20') : 0.6;
const SEED = seedOr(20_240_917);

/** Parameters for fast-check. */
export function runs(cases: number): { readonly numRuns: number; readonly seed: number } {
  return { numRuns: Math.max(1, Math.round(cases * (Number.isFinite(FACTOR) ? FACTOR : 1))), seed: SEED };
}

/** Long proofs take their time. */
export const PATIENCE = 3_600_000;

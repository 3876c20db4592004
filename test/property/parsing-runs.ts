/**
 * How many cases a law is tried on. Fixed seeds and small numbers by default, so that CI is quick and repeatable;
 * `SIGNALBOX_NIGHTLY=<factor>` multiplies the numbers and takes a seed of its own from `SIGNALBOX_SEED`.
 */
const FACTOR = Number(process.env['SIGNALBOX_NIGHTLY'] ?? '1');
const SEED = Number(process.env['SIGNALBOX_SEED'] ?? '20240917');

/** Parameters for fast-check. */
export function runs(cases: number): { readonly numRuns: number; readonly seed: number } {
  return { numRuns: Math.max(1, Math.round(cases * (Number.isFinite(FACTOR) ? FACTOR : 1))), seed: SEED };
}

/** Nightly runs take their time. */
export const PATIENCE = 3_600_000;

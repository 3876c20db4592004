/**
 * The long proofs: the same tests run a seeded sample in `npm test`, and everything under `npm run soak`, which sets
 * `SIGNALBOX_SOAK`. `SIGNALBOX_SEED` chooses another seed.
 */
export const SOAKING = process.env['SIGNALBOX_SOAK'] !== undefined;

/** The seed that was asked for, or the usual one of a test: fixed, so that every run of the suite does the same. */
export function seedOr(usual: number): number {
  return Number(process.env['SIGNALBOX_SEED'] ?? usual);
}

/** A number of cases: the first in the suite, the second in a soak. */
export function cases(short: number, long: number): number {
  return SOAKING ? long : short;
}

/** Every row in every form in a soak; in the suite every row once, and each form in its turn. */
export function eachForm<Form, Row extends readonly unknown[]>(
  forms: readonly Form[],
  rows: readonly Row[],
): readonly (readonly [Form, ...Row])[] {
  return rows.flatMap((row, at) =>
    forms
      .filter((_form, place) => SOAKING || place === at % forms.length)
      .map((form): readonly [Form, ...Row] => [form, ...row]),
  );
}

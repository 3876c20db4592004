import type { Severity } from '../json/errors.ts';

/** All severities, from the mildest on. */
export const SEVERITIES: readonly Severity[] = ['low', 'medium', 'high', 'critical'];

/** Reads a severity that a model wrote, whatever its case; what is none counts as high. */
export function readSeverity(given: unknown): Severity {
  return known(given) ?? 'high';
}

/** Reads a severity that a program gave, whatever its case. Throws a `TypeError` that names `owner` for anything else. */
export function checkSeverity(owner: string, given: unknown): Severity {
  const severity = known(given);
  if (severity !== undefined) return severity;
  throw new TypeError(`${owner}: severity must be ${SEVERITIES.join(', ')}, and is ${JSON.stringify(given)}.`);
}

/** The worse of two severities. */
export function higher(a: Severity, b: Severity): Severity {
  return SEVERITIES.indexOf(a) >= SEVERITIES.indexOf(b) ? a : b;
}

function known(given: unknown): Severity | undefined {
  const lower = typeof given === 'string' ? given.toLowerCase() : '';
  return SEVERITIES.find((severity) => severity === lower);
}

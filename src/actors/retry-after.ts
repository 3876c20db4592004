/** The part of `Headers` that is needed here. */
interface HeaderReader {
  get(name: string): string | null;
}

/** How long a server asks to wait, in milliseconds: from `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function readRetryAfter(headers: HeaderReader | undefined, now: number): number | undefined {
  const exact = amount(headers?.get('retry-after-ms'));
  if (exact !== undefined) return exact;
  const text = headers?.get('retry-after');
  const seconds = amount(text);
  if (seconds !== undefined) return Math.round(seconds * 1000);
  const date = Date.parse(text ?? '');
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function amount(text: string | null | undefined): number | undefined {
  const value = text === null || text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}

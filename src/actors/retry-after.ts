import { memberOf } from '../json/json.ts';

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

/**
 * How long an error asks to wait before another attempt, in milliseconds: from its own `retryAfterMs` or `retryAfter`
 * (seconds or a date), from those of its `data`, or from the headers that it or its `response` carries. Never throws.
 */
export function retryHint(thrown: unknown, now: number): number | undefined {
  try {
    for (const place of [thrown, memberOf(thrown, 'data'), memberOf(thrown, 'response')]) {
      const hint = hintOf(place, now);
      if (hint !== undefined) return hint;
    }
    return undefined;
  } catch {
    return undefined;
  }
}

const MEMBERS: { readonly [header: string]: string } = {
  'retry-after-ms': 'retryAfterMs',
  'retry-after': 'retryAfter',
};

function hintOf(place: unknown, now: number): number | undefined {
  const own = { get: (header: string) => textOf(memberOf(place, MEMBERS[header] ?? header)) };
  return readRetryAfter(own, now) ?? readRetryAfter(headersOf(place), now);
}

/** Headers as `fetch` gives them, or as a plain object of lower-case names. */
function headersOf(place: unknown): { get(header: string): string | null } {
  const headers = memberOf(place, 'headers');
  const get = memberOf(headers, 'get');
  return {
    get: (header) =>
      textOf(typeof get === 'function' ? Reflect.apply(get, headers, [header]) : memberOf(headers, header)),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

import { type Json, isJsonObject } from '../../json/json.ts';

/**
 * Says how a text breaks the `format` of its schema, for the four formats that elicitation knows: `email`, `uri`, `date`,
 * `date-time`. Null when it does not, and for formats that are not known.
 */
export function formatProblem(value: Json, schema: Json | undefined): string | null {
  if (typeof value !== 'string' || !isJsonObject(schema)) return null;
  switch (schema.format) {
    case 'email':
      return /^[^\s@]+@[^\s@]+$/.test(value) ? null : 'expected an e-mail address';
    case 'uri':
      return URL.canParse(value) ? null : 'expected an address such as https://example.com';
    case 'date':
      return isDate(value) ? null : 'expected a date such as 2026-01-31';
    case 'date-time':
      return isDateTime(value) ? null : 'expected a time such as 2026-01-31T09:00:00Z';
    default:
      return null;
  }
}

/** `2026-02-30` has the form of a date and is none. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.split(/[Tt ]/);
  return isDate(date) && /^\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(time);
}

import { isJsonObject } from '../../json/json.ts';

/**
 * Data as people read it, at most about so many characters of it: text as it is, anything else as JSON on one line. A
 * result that holds nothing but its data is shown as the data, and data that is nothing but a text as the text.
 */
export function dataText(data: unknown, limit: number): string {
  const shown = bareData(data);
  if (typeof shown === 'string') return shown.length > limit ? `${shown.slice(0, limit)}…` : shown;
  const writer = jsonWriter(limit);
  writer.write(shown, 0);
  return writer.text();
}

function bareData(data: unknown): unknown {
  if (!isJsonObject(data) || data.status !== 'success') return data;
  const rest = Object.entries(data).filter(([key, value]) => key !== 'status' && value !== undefined);
  const [only] = rest;
  if (only === undefined) return 'done';
  if (rest.length > 1) return Object.fromEntries(rest);
  return only[0] === 'data' || only[0] === 'message' ? bareContent(only[1]) : Object.fromEntries(rest);
}

/** Servers of the Model Context Protocol like to put a lone text into an object. */
function bareContent(data: unknown): unknown {
  return isJsonObject(data) && typeof data.content === 'string' && Object.keys(data).length === 1 ? data.content : data;
}

const MAX_DEPTH = 20;

/** Writes JSON until the limit is reached, so that a large value costs no more than what is shown of it. */
function jsonWriter(limit: number) {
  let text = '';
  const full = (): boolean => text.length >= limit;
  const list = (open: string, items: Iterable<() => void>, close: string): void => {
    text += open;
    let separator = '';
    for (const item of items) {
      if (full()) {
        text += `${separator}…`;
        break;
      }
      text += separator;
      item();
      separator = ', ';
    }
    text += close;
  };
  const write = (value: unknown, depth: number): void => {
    if (depth > MAX_DEPTH) text += '…';
    else if (Array.isArray(value))
      list(
        '[',
        members(value, (item) => write(item, depth + 1)),
        ']',
      );
    else if (isJsonObject(value))
      list(
        '{',
        members(Object.keys(value), (key) => entry(key, value[key], depth)),
        '}',
      );
    else if (typeof value === 'string') text += quoted(value, limit - text.length);
    else text += String(value);
  };
  const entry = (key: string, value: unknown, depth: number): void => {
    text += `${quoted(key, limit)}: `;
    write(value, depth + 1);
  };
  return { write, text: () => text };
}

function* members<T>(items: readonly T[], write: (item: T) => void): Iterable<() => void> {
  for (const item of items) yield () => write(item);
}

function quoted(text: string, limit: number): string {
  return text.length > limit
    ? `${JSON.stringify(text.slice(0, Math.max(limit, 0))).slice(0, -1)}…"`
    : JSON.stringify(text);
}

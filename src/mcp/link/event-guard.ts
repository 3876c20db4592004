import { isJsonObject } from '../../json/json.ts';
import { createLineReader } from '../stdio/line-reader.ts';
import { type McpLimits, pastLimit, tooIntricate } from '../config/server-limits.ts';
import type { WireMessage } from './wire.ts';

/** Bounds of what a server may say about when to come back, in milliseconds: neither in a tight loop nor never. */
const RETRY_MS = { least: 10, most: 30_000 };

/**
 * Reads an event stream before the SDK does: feed it the bytes, and it gives back the events that are whole, as text. An
 * event that is larger than a message may be is a `LinkFault` that is thrown as soon as it is, so that nobody keeps it.
 * `isRefused` sees each message and says whether it is to be left out. Lines may end in any way, and a byte order mark
 * may come first.
 */
export function createEventGuard(
  limits: McpLimits,
  isRefused: (message: WireMessage) => boolean,
): (chunk: Uint8Array) => string {
  let fields = new Map<string, string>();
  let data: string[] = [];
  let size = 0;
  let first = true;
  let whole = '';

  const tooLarge = (): never => {
    throw pastLimit('messageBytes', 'one of its events is larger', limits);
  };
  const dispatch = (): void => {
    const lines = [...fields].map(([field, value]) => `${field}: ${value}\n`);
    const refused = data.length > 0 && isMessage(fields.get('event')) && isRefusedText(data.join('\n'), isRefused);
    if (!refused && lines.length + data.length > 0)
      whole += `${lines.join('')}${data.map((line) => `data: ${line}\n`).join('')}\n`;
    [fields, data, size] = [new Map(), [], 0];
  };
  const take = (line: string): void => {
    if (line === '') return dispatch();
    const [, field = '', value = ''] = FIELD.exec(line) ?? [];
    if (field === '') return;
    size += Buffer.byteLength(line);
    if (size > limits.messageBytes) tooLarge();
    if (field === 'data') data.push(value);
    else if (field === 'retry') {
      if (/^\d+$/.test(value)) fields.set(field, String(bounded(Number(value))));
    } else if (field === 'id' || field === 'event') fields.set(field, value);
  };
  const read = createLineReader(
    limits.messageBytes,
    (line) => {
      if (!line.ok) return tooLarge();
      take(first ? line.text.replace(/^\uFEFF/, '') : line.text);
      first = false;
    },
    { returns: true, onTooLong: tooLarge },
  );
  return (chunk) => {
    whole = '';
    read(chunk);
    return whole;
  };
}

/** A comment has no name before its colon. */
const FIELD = /^([^:]*)(?:: ?(.*))?$/s;

function isMessage(event: string | undefined): boolean {
  return event === undefined || event === '' || event === 'message';
}

function isRefusedText(text: string, isRefused: (message: WireMessage) => boolean): boolean {
  const fault = tooIntricate(text);
  if (fault !== null) throw fault;
  try {
    const message: unknown = JSON.parse(text);
    return isJsonObject(message) && isRefused(message);
  } catch {
    // The SDK says what is wrong with it.
    return false;
  }
}

function bounded(ms: number): number {
  return Math.min(RETRY_MS.most, Math.max(RETRY_MS.least, ms));
}

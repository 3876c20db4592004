import type { McpLimits } from '../config/server-limits.ts';
import { LinkFault, pastLimit, tooIntricate } from '../wire/faults.ts';
import { type WireMessage, badAnswer, strangeAnswer, onlyProtocol } from '../wire/pending-requests.ts';
import { isJsonObject, parsedText } from '../../json/json.ts';
import { createByteBuffer, createLineReader } from '../wire/lines.ts';

/** How much is kept of the body of a refusal. */
const REFUSAL_BYTES = 2000;

interface AskedRequest {
  readonly requestId: unknown;
  readonly limits: McpLimits;
  readonly wanted: () => boolean;
  readonly onTraffic: () => void;
}

/** Reads the answer to a request from a body that holds nothing else; anything that is not an answer is a fault. */
export async function answerIn(
  response: Response,
  { requestId, limits, wanted, onTraffic }: AskedRequest,
): Promise<string> {
  const bad = (what: string): LinkFault => new LinkFault('answer', what, { delivered: true });
  const { status, headers } = response;
  const taken = `it answered the request with HTTP ${status}`;
  const goOn = (): boolean => {
    onTraffic();
    return wanted();
  };
  const text = status === 202 ? '' : await readText(response, limits.messageBytes, goOn);
  if (status === 202) void response.body?.cancel().catch(() => undefined);
  if (text === null) throw pastLimit('messageBytes', 'its answer is larger', limits);
  if (status === 202) throw bad(`${taken}, which promises no answer`);
  if (text.trim() === '') throw bad(`${taken} and an empty body`);
  const type = headers.get('content-type');
  if (type?.toLowerCase().includes('json') !== true)
    throw bad(`${taken} and ${type ?? 'no type of content'} in place of JSON`);
  const fault = tooIntricate(text);
  if (fault !== null) throw fault;
  const written = jsonIn(text);
  if (written === null) throw bad(`${taken} and a body that is not JSON`);
  const messages = written.map(onlyProtocol);
  const answers = (id: unknown): boolean => id === requestId || Number(id) === requestId;
  const answer = messages.find(({ method, id }) => method === undefined && answers(id));
  const [other] = messages.filter((message) => message.method === undefined);
  if (answer === undefined)
    throw bad(other === undefined ? `${taken} and a body without an answer` : strangeAnswer(other));
  const why = badAnswer(answer);
  if (why !== null) throw bad(why);
  return messages.every((message, index) => message === written[index]) ? text : JSON.stringify(messages);
}

function jsonIn(text: string): readonly WireMessage[] | null {
  const value = parsedText(text);
  return value === undefined ? null : [value].flat().filter(isJsonObject);
}

/** The text of a body; null, and nothing is kept of it, if it is too large or no longer wanted. */
async function readText({ body }: Response, bytes: number, goOn: () => boolean): Promise<string | null> {
  const held = createByteBuffer();
  for await (const chunk of body ?? []) {
    if (held.size() + chunk.length > bytes || !goOn()) return null;
    held.push(chunk);
  }
  return new TextDecoder().decode(held.take());
}

/** The same response with another body, of another type if that is given. */
export function withBody(response: Response, body: BodyInit | null, type?: string): Response {
  const { status, statusText, headers } = response;
  const kept = new Headers(headers);
  // What was decoded has neither any more.
  for (const name of ['content-length', 'content-encoding']) kept.delete(name);
  if (type !== undefined) kept.set('content-type', type);
  return new Response(body, { status, statusText, headers: kept });
}

/** The first bytes of a body. One that stalls before they are complete ends with the connection. */
export async function beginning({ body }: Response): Promise<string> {
  const held = createByteBuffer();
  try {
    for await (const chunk of body ?? []) {
      held.push(chunk.subarray(0, REFUSAL_BYTES - held.size()));
      if (held.size() >= REFUSAL_BYTES) break;
    }
  } catch {
    // What came before it broke is enough.
  }
  return new TextDecoder().decode(held.take());
}

/** Tells messages that have no news. */
export type IsKnown = (message: WireMessage) => boolean;

/** Bounds for a server's retry delay, in milliseconds: neither a tight loop nor never. */
const RETRY_MS = { least: 10, most: 30_000 };

/**
 * Reads an event stream before the SDK does: feed it the bytes, and it returns the complete events, as text. An event
 * beyond the size limit of a message throws a `LinkFault` at once, so that it is not buffered. `isRefused` receives each
 * message and decides whether to leave it out; of one that `isKnown`, only its place in the stream is left. Lines may end in
 * any way, and a byte order mark may come first.
 */
export function createEventGuard(
  limits: McpLimits,
  isRefused: (message: WireMessage) => boolean,
  isKnown: IsKnown = () => false,
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
    const isRead = data.length > 0 && isMessage(fields.get('event'));
    const kept = isRead ? readableText(data.join('\n'), isRefused, isKnown)?.split('\n') : data;
    if (kept !== undefined && lines.length + kept.length > 0)
      whole += `${lines.join('')}${kept.map((line) => `data: ${line}\n`).join('')}\n`;
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

/** A message as the SDK can read it; undefined where it is refused. */
function readableText(
  text: string,
  isRefused: (message: WireMessage) => boolean,
  isKnown: IsKnown,
): string | undefined {
  const fault = tooIntricate(text);
  if (fault !== null) throw fault;
  const written = parsedText(text);
  // The SDK reports what is wrong with anything else.
  if (!isJsonObject(written)) return text;
  const message = onlyProtocol(written);
  if (isKnown(message)) return '';
  if (isRefused(message)) return undefined;
  return message === written ? text : JSON.stringify(message);
}

function bounded(ms: number): number {
  return Math.min(RETRY_MS.most, Math.max(RETRY_MS.least, ms));
}

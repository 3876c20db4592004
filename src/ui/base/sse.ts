/**
 * Owns: groups as server-sent events, and requests that continue such a stream. Does not own: what the groups hold.
 *
 * I1 A client that names the last id received gets exactly what follows: an id includes how much of its group came before.
 * I2 Nothing is made before a client reads: one that is slow costs what its connection buffers, one that is gone costs nothing.
 */
import { isTextWithinDepth } from '../../json/depth.ts';
import type { Json } from '../../json/json.ts';
import { describeThrown } from '../../json/to-json.ts';

/** Messages that are sent together; one that is null is not sent. `position` null: they are not recorded, and have no id. */
export interface SseGroup {
  readonly position: number | null;
  readonly data: readonly (object | null)[];
}

/** How far a client is: behind the line of this number, or behind some of the messages of its group. */
export interface SsePosition {
  readonly line: number;
  /** Messages of the line's group that it has; null: all. */
  readonly messages: number | null;
}

/** Before everything. */
export const FROM_START: SsePosition = { line: 0, messages: null };

/** Text that a client ignores, to keep a connection open. */
export const SSE_PING = ': \n\n';

/** A group as text. Its last message has the position as id, those before it also say which they are: `12.1`, `12.2`, `12`. */
export function sseText({ position, data }: SseGroup): string {
  const idOf = (index: number): string => {
    if (position === null) return '';
    return `id: ${position}${index === data.length - 1 ? '' : `.${index + 1}`}\n`;
  };
  return data
    .map((message, index) => (message === null ? '' : `${idOf(index)}data: ${JSON.stringify(message)}\n\n`))
    .join('');
}

/** Messages that are not recorded, as text. */
export function unrecorded(data: readonly object[]): string {
  return sseText({ position: null, data });
}

/** What is left of a group for a client that is at `after`, as text; empty where it has it all. */
export function sseTextAfter(group: SseGroup, { line, messages }: SsePosition): string {
  if (group.position === null || group.position > line) return sseText(group);
  if (group.position < line || messages === null) return '';
  const all = sseText(group).split('\n\n');
  return all.slice(messages).join('\n\n');
}

/** Where a client says it is, in the header `Last-Event-ID` or the query `after`; from the start if it does not say. */
export function positionOf(request: Request): SsePosition {
  const said = request.headers.get('last-event-id') ?? new URL(request.url).searchParams.get('after') ?? '';
  return readPosition(said) ?? FROM_START;
}

/** Reads an id of a message; null for any other text. */
export function readPosition(id: string): SsePosition | null {
  const found = /^(\d{1,12})(?:\.(\d{1,6}))?$/.exec(id);
  if (found === null) return null;
  return { line: Number(found[1]), messages: found[2] === undefined ? null : Number(found[2]) };
}

/**
 * A response that sends texts as they are made. They are asked for one at a time, when the client has room; `onGone` is
 * called when it is gone.
 */
export function sseResponse(
  texts: AsyncIterator<string>,
  { headers = {}, onGone }: { readonly headers?: Readonly<Record<string, string>>; readonly onGone: () => void },
): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        let next = await texts.next();
        // A pull that gives nothing is not repeated by the stream.
        while (next.done !== true && next.value === '') next = await texts.next();
        if (next.done === true) controller.close();
        else controller.enqueue(encoder.encode(next.value));
      },
      cancel: () => {
        onGone();
        void texts.return?.();
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    },
  });
}

/** A chat posts all its messages, with their images: more than these bytes are not read, unless the app allows them. */
const MAX_REQUEST_BYTES = 16_000_000;

const NO_BODY =
  'The request has no body. If it was sent with one, the server has read it before, as express.json() does.';

const FORGED =
  'A page on another site sent this without asking first: send it with the header content-type: application/json.';

/** A page of any site can send a request of another type than JSON, with the user's cookies, without this server being asked. */
function isForged({ headers }: Request): boolean {
  const site = headers.get('sec-fetch-site');
  // What stands behind the type is the page's to choose: `text/plain; json` is text.
  const isJson = /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(headers.get('content-type') ?? '');
  return (site === 'cross-site' || site === 'same-site') && !isJson;
}

/** No value of a run may be nested deeper. */
const DEEPEST = 500;

/** A request's body as JSON, null if it is not; or a refusal: of one that is forged, too large (no more is read), or too deep. */
export async function jsonOf(
  request: Request,
  maxRequestBytes = MAX_REQUEST_BYTES,
): Promise<{ readonly json: unknown; readonly refused?: Response }> {
  const tooLarge = (): Response =>
    refusal(413, 'request-too-large', `The request has more than ${maxRequestBytes} bytes (option maxRequestBytes).`);
  if (isForged(request)) return { json: null, refused: refusal(403, 'forged-request', FORGED) };
  if (Number(request.headers.get('content-length')) > maxRequestBytes) return { json: null, refused: tooLarge() };
  const decoder = new TextDecoder();
  let [text, size] = ['', 0];
  try {
    for await (const piece of (!request.bodyUsed && request.body) || []) {
      size += piece.byteLength;
      if (size > maxRequestBytes) return { json: null, refused: tooLarge() };
      text += decoder.decode(piece, { stream: true });
    }
    text += decoder.decode();
    if (text === '') return { json: null, refused: refusal(400, 'bad-request', NO_BODY) };
    if (!isTextWithinDepth(text, DEEPEST))
      return { json: null, refused: refusal(400, 'bad-request', `It is nested deeper than ${DEEPEST} levels.`) };
    const json: Json = JSON.parse(text);
    return { json };
  } catch (error) {
    if (error instanceof SyntaxError) return { json: null };
    // A server may have a limit of its own, such as SvelteKit's of 512 kB.
    const why = describeThrown(error).message;
    return { json: null, refused: refusal(400, 'bad-request', `The request could not be read: ${why}`) };
  }
}

/** A cache may keep an answer that does not say otherwise for minutes, and give it to others. */
const NOT_KEPT = { 'cache-control': 'no-store' };

/** An answer that is data. */
export function jsonAnswer(data: unknown, status = 200, headers = {}): Response {
  return Response.json(data, { status, headers: { ...NOT_KEPT, ...headers } });
}

/** The answer where nothing is new, or live. */
export function nothingNew(): Response {
  return new Response(null, { status: 204, headers: NOT_KEPT });
}

/** A refusal with its reason. What a process that stops refuses, the next one takes: 503. */
export function refusal(status: number, code: string, message: string, headers = {}): Response {
  return jsonAnswer({ error: { code, message } }, code === 'agent-closed' ? 503 : status, headers);
}

/** The answer to an id that is not there, and to one of another owner: they are the same. */
export function unknownId(): Response {
  return refusal(404, 'not-found', 'There is nothing with this id.');
}

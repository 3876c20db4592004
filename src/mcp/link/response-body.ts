import { isJsonObject } from '../../json/json.ts';
import { createByteBuffer } from '../stdio/line-reader.ts';
import { LinkFault } from './link.ts';
import { type McpLimits, pastLimit, tooIntricate } from '../config/server-limits.ts';
import { badAnswer, strangeAnswer } from './tickets.ts';
import type { WireMessage } from './wire.ts';

/** How much is kept of the body of a refusal. */
const REFUSAL_BYTES = 2000;

/** Reads the answer to a request from a body that holds nothing else; whatever is no answer is a fault that says so. */
export async function answerIn(
  response: Response,
  {
    requestId,
    limits,
    wanted,
    onTraffic,
  }: {
    readonly requestId: unknown;
    readonly limits: McpLimits;
    readonly wanted: () => boolean;
    readonly onTraffic: () => void;
  },
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
  const messages = jsonIn(text);
  if (messages === null) throw bad(`${taken} and a body that is no JSON`);
  const answer = messages.find((message) => message.method === undefined && Number(message.id) === requestId);
  const [other] = messages.filter((message) => message.method === undefined);
  if (answer === undefined)
    throw bad(other === undefined ? `${taken} and a body without an answer` : strangeAnswer(other));
  const why = badAnswer(answer);
  if (why !== null) throw bad(why);
  return text;
}

function jsonIn(text: string): readonly WireMessage[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return (Array.isArray(value) ? value : [value]).filter(isJsonObject);
  } catch {
    return null;
  }
}

/** The text of a body; null, and nothing is kept of it, when it is larger or nobody wants it any more. */
async function readText({ body }: Response, bytes: number, goOn: () => boolean): Promise<string | null> {
  const held = createByteBuffer();
  for await (const chunk of body ?? []) {
    if (held.size() + chunk.length > bytes || !goOn()) return null;
    held.push(chunk);
  }
  return new TextDecoder().decode(held.take());
}

/** The same response with another body. */
export function withBody(response: Response, body: BodyInit | null): Response {
  const { status, statusText, headers } = response;
  const kept = new Headers(headers);
  // What was decoded has neither any more.
  for (const name of ['content-length', 'content-encoding']) kept.delete(name);
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

import { runsOnNode, type Environment } from '../endpoint/environment.ts';
import type { Fetch } from '../endpoint/endpoint.ts';

/** The HTTP client for a platform: the lean one on Node, the platform's own `fetch` elsewhere. */
export async function loadFetch(connectMs: number, env: Environment): Promise<Fetch> {
  if (!runsOnNode()) return globalThis.fetch.bind(globalThis);
  const { createNodeFetch } = await import('./node-fetch.ts');
  return createNodeFetch({ connectMs, env });
}

/** A response whose body comes as text without a web stream in between. */
interface TextSource {
  readText(onText: (text: string) => void): Promise<void>;
  discard(): void;
}

/** A body that is being read. */
export interface BodyReading {
  /** Settles when the body has ended, or rejects when it broke off. */
  readonly ended: Promise<void>;
  /** Stops reading and closes the connection. */
  stop(): void;
}

/** Reads a response's body piece by piece as text, from our own HTTP client or any platform's `fetch`. */
export function readBody(response: Response, onText: (text: string) => void): BodyReading {
  if (isTextSource(response)) return { ended: response.readText(onText), stop: () => response.discard() };
  const { body } = response;
  if (body === null) return { ended: Promise.resolve(), stop: () => undefined };
  const reader = body.getReader();
  return { ended: readAll(reader, onText), stop: () => void reader.cancel().catch(() => undefined) };
}

/** What is no reply is read so far: a server that never stops cannot fill the memory. */
const MOST_CHARS = 16_000_000;

/** Reads the body of an error or a list, and rejects where it breaks off. One that is too long is stopped. */
export async function readBeside(response: Response, onText: (text: string) => void): Promise<void> {
  let left = MOST_CHARS;
  const reading = readBody(response, (text) => {
    left -= text.length;
    if (left < 0) reading.stop();
    else onText(text);
  });
  await reading.ended;
}

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>, onText: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    onText(decoder.decode(value, { stream: true }));
  }
  onText(decoder.decode());
}

function isTextSource(response: Response): response is Response & TextSource {
  return 'readText' in response && 'discard' in response;
}

/**
 * Waits for a promise, but no longer than until the signal aborts; then it rejects with the signal's reason. For work
 * that is done by functions of others, which may pay no attention to a signal.
 */
export async function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

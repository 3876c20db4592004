import type { IncomingMessage } from 'node:http';

const stream = process.getBuiltinModule('node:stream');

/**
 * A `Response` over Node's own message. `readText` is the cheap way to its body; `body`, `text` and `json` are there
 * for clients that expect a platform response. The body can be read once, in one of these ways.
 */
export class NodeResponse extends Response {
  readonly #message: IncomingMessage;
  #web: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;

  constructor(message: IncomingMessage) {
    super(null, { status: message.statusCode ?? 0, statusText: message.statusMessage ?? '', headers: pairs(message) });
    this.#message = message;
  }

  /** Hands over the body piece by piece, as text. Rejects when the connection breaks off. */
  readText(onText: (text: string) => void): Promise<void> {
    const message = this.#message;
    message.setEncoding('utf8');
    return new Promise((resolve, reject) => {
      message.on('data', onText);
      message.once('end', resolve);
      message.once('error', reject);
      message.once('close', () => {
        if (!message.complete) reject(new Error('the connection was closed before the reply was complete'));
      });
    });
  }

  /** Stops reading and closes the connection. */
  discard(): void {
    this.#message.destroy();
  }

  override get body(): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.#web ??= new ReadableStream(sourceOf(this.#message));
    return this.#web;
  }

  override async text(): Promise<string> {
    const pieces: string[] = [];
    await this.readText((text) => pieces.push(text));
    return pieces.join('');
  }

  override async json(): Promise<unknown> {
    const value: unknown = JSON.parse(await this.text());
    return value;
  }
}

function pairs(message: IncomingMessage): Headers {
  const headers = new Headers();
  const raw = message.rawHeaders;
  for (let at = 0; at + 1 < raw.length; at += 2) headers.append(raw[at] ?? '', raw[at + 1] ?? '');
  return headers;
}

function sourceOf(message: IncomingMessage): UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> {
  const reader = stream.Readable.toWeb(message).getReader();
  return {
    async pull(controller) {
      const next = await reader.read();
      if (next.done) controller.close();
      else controller.enqueue(Uint8Array.from(next.value));
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

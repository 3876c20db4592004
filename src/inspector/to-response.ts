import { abortable } from './abortable.ts';
import type { RunEvent } from '../machines/run-events.ts';
import { eventStream, lastNumber } from './event-stream.ts';
import { eventText } from './event-text.ts';

/** How a run is sent. */
export interface ToResponseOptions {
  /** The header `Last-Event-ID` of a client that reconnects: it is sent what came after that event. */
  readonly lastEventId?: string | null;
  /** Headers beside those of the stream, such as CORS ones. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Events that are sent at once, when they are there already. */
const BATCH = 100;

/**
 * A run's events as server-sent events, in a Web `Response` for any HTTP framework. The id of each is its `seq`, so a
 * browser's `EventSource` that loses the connection goes on where it was; tokens have none, and those of the reply under
 * way are sent again. A client that goes away does not end the run. The last event is named `end`.
 *
 * @example
 * app.get('/runs/:id', (c) => toResponse(runs.get(c.req.param('id')), { lastEventId: c.req.header('last-event-id') }));
 */
export function toResponse(run: AsyncIterable<RunEvent>, options: ToResponseOptions = {}): Response {
  const after = lastNumber(options.lastEventId);
  return eventStream(
    (signal) => batches(run, after, signal),
    options.headers === undefined ? {} : { headers: options.headers },
  );
}

async function* batches(
  run: AsyncIterable<RunEvent>,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const events = run[Symbol.asyncIterator]();
  const unlessLeft = abortable(signal);
  let next = events.next();
  for (;;) {
    const texts: string[] = [];
    let patience: Promise<undefined> | null = null;
    for (let waits = false; !waits && texts.length < BATCH;) {
      const event = await unlessLeft(patience === null ? next : Promise.race([next, patience]));
      if (event === null || (event !== undefined && event.done === true)) {
        if (texts.length > 0) yield encoder.encode(texts.join(''));
        return;
      }
      waits = event === undefined;
      if (event === undefined) continue;
      next = events.next();
      const { value } = event;
      patience ??= soon();
      if (value.seq > after || (value.seq === after && value.type === 'model.token'))
        texts.push(eventText(value.type === 'model.token' ? null : value.seq, JSON.stringify(value)));
    }
    if (texts.length > 0) yield encoder.encode(texts.join(''));
  }
}

const encoder = new TextEncoder();

/** Resolves once everything that is there already could be read. */
function soon(): Promise<undefined> {
  return new Promise((resolve) => void setTimeout(resolve, 0));
}

/** A client that receives nothing for this long is sent a sign that the connection stands: Bun's server waits ten seconds, some proxies five. */
const HEARTBEAT_MS = 4000;

/**
 * Server-sent events, written already, as a Web `Response` for any HTTP framework. Nothing is read ahead: a batch is taken when
 * the client has room for it, so a slow one holds up no other. When it goes away, `signal` aborts. An event `end` is the last.
 */
export function eventStream(
  batches: (signal: AbortSignal) => AsyncIterator<Uint8Array, unknown>,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const gone = new AbortController();
  const iterator = batches(gone.signal);
  const encoder = new TextEncoder();
  let pending: Promise<IteratorResult<Uint8Array, unknown>> | null = null;
  let greeted = false;

  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (!greeted) {
          greeted = true;
          controller.enqueue(encoder.encode('retry: 1000\n\n'));
          return;
        }
        pending ??= iterator.next();
        const next = await orHeartbeat(pending);
        if (next === 'heartbeat') return controller.enqueue(encoder.encode(':\n\n'));
        pending = null;
        if (next.done !== true) return controller.enqueue(next.value);
        controller.enqueue(encoder.encode('event: end\ndata:\n\n'));
        controller.close();
      },
      cancel: async () => {
        gone.abort();
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    },
  });
}

async function orHeartbeat<T>(next: Promise<T>): Promise<T | 'heartbeat'> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const beat = new Promise<'heartbeat'>((resolve) => {
    timer = setTimeout(() => resolve('heartbeat'), HEARTBEAT_MS);
    timer.unref?.();
  });
  try {
    return await Promise.race([next, beat]);
  } finally {
    clearTimeout(timer);
  }
}

/** The last number that a client reports as received, in `Last-Event-ID` or otherwise; 0 for none. */
export function lastNumber(text: string | null | undefined): number {
  return text !== null && text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

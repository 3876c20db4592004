import type { ServerResponse } from 'node:http';

/** Sends a Web `Response` over Node's HTTP. What the client does not take is not read: it waits in the source. */
export async function sendResponse(response: Response, to: ServerResponse): Promise<void> {
  to.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return void to.end();
  to.flushHeaders();
  const reader = response.body.getReader();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  to.once('close', leave);
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (to.destroyed) return;
      if (!to.write(part.value)) await roomOrEnd(to);
    }
    to.end();
  } catch {
    to.destroy();
  } finally {
    to.off('close', leave);
  }
}

/** Resolves when there is room for more, or nobody to write to. */
function roomOrEnd(to: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      to.off('drain', done).off('close', done);
      resolve();
    };
    to.on('drain', done).on('close', done);
  });
}

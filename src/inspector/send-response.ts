import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/** Sends a Web `Response` over Node's HTTP. What the client does not take is not read: it waits in the source. */
export async function sendResponse(response: Response, to: ServerResponse): Promise<void> {
  to.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return void to.end();
  to.flushHeaders();
  const reader = response.body.getReader();
  const closed = once(to, 'close').then(() => null);
  const leave = (): void => void reader.cancel().catch(() => undefined);
  to.once('close', leave);
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (to.destroyed) return;
      if (!to.write(part.value)) await Promise.race([once(to, 'drain'), closed]);
    }
    to.end();
  } catch {
    to.destroy();
  } finally {
    to.off('close', leave);
  }
}

import { once } from 'node:events';
import { createAdaptorServer } from '@hono/node-server';

/** A handler of web requests on a real port. */
export interface Served {
  readonly url: string;
  readonly close: () => void;
}

/** Serves web requests over HTTP. */
export async function serveWeb(handle: (request: Request) => Promise<Response>): Promise<Served> {
  const server = createAdaptorServer({ fetch: handle, overrideGlobalObjects: false });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const close = (): void => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

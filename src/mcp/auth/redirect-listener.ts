import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Where the browser of a person who signs in comes back to. */
export interface RedirectListener {
  /** The address to be registered and sent along. */
  readonly redirectUrl: string;
  close(): void;
}

/** What a redirect turned out to be: it ends the waiting, or is none of ours. */
export type TakeRedirect = (address: URL) => 'taken' | 'foreign' | 'refused';

const PAGES: Readonly<Record<ReturnType<TakeRedirect>, readonly [status: number, text: string]>> = {
  taken: [200, 'Thank you: the program goes on. You can close this page.'],
  refused: [400, 'The sign-in failed; the program says why. You can close this page.'],
  foreign: [400, 'This answer belongs to no sign-in that is waited for.'],
};

/**
 * Listens on 127.0.0.1 for one redirect. `port` 0: any that is free; where the wanted one is taken, any that is free too.
 * What does not belong to this sign-in is answered with 400 and changes nothing; what does closes the listener.
 */
export async function listenForRedirect(
  {
    host,
    port,
    path,
    exact,
  }: { readonly host: string; readonly port: number; readonly path: string; readonly exact: boolean },
  take: TakeRedirect,
): Promise<RedirectListener> {
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    const address = new URL(request.url ?? '/', origin());
    const isOurs = request.method === 'GET' && address.pathname === path;
    const [status, text] = isOurs ? PAGES[take(address)] : [404, 'Nothing is here.'];
    const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close' };
    response.writeHead(status, { ...headers, 'referrer-policy': 'no-referrer' }).end(`${text}\n`);
  });
  const origin = (): string => `http://${host}:${portOf(server.address())}`;
  const listen = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(at, host === 'localhost' ? '127.0.0.1' : host.replaceAll(/[[\]]/g, ''), () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(port).catch((error: unknown) => {
    if (exact || port === 0) throw error;
    return listen(0);
  });
  // A login that nobody makes keeps no program alive.
  server.unref();
  return {
    redirectUrl: `${origin()}${path}`,
    close: () => {
      server.close();
    },
  };
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { onTestFinished } from 'vitest';

/** Serves a script of `children/` as a page of another origin than the inspector's, and gives its address. */
export async function pageOfOthers(script: string): Promise<string> {
  const input = fileURLToPath(new URL(`children/${script}`, import.meta.url));
  const { output } = await build({ input, platform: 'browser', write: false, logLevel: 'warn' });
  const server = createServer(({ url }, response) => {
    const isScript = url === '/main.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(
      isScript
        ? output[0].code
        : '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/main.js"></script>',
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return `http://localhost:${port}/`;
}

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { realServer } from '../support/mcp/real-servers.ts';
import { withFile } from './mcp-folder.ts';

const NETWORK = {
  HTTP_PROXY: 'http://proxy.example:3128',
  https_proxy: 'http://proxy.example:3128',
  NO_PROXY: 'localhost,.example',
  NODE_EXTRA_CA_CERTS: '/etc/ssl/own.pem',
  npm_config_registry: 'https://npm.example/',
};

test('a server behind a proxy gets what it needs to reach the network, and no key of ours', async () => {
  const { withEnv } = await withFile({ every: realServer('everything') });
  const { stdout } = await withEnv({ ...NETWORK, API_KEY: 'sk-secret' }, 'call', 'every', 'get-env');
  const text = stdout.replaceAll('\\', '');
  for (const [name, value] of Object.entries(NETWORK))
    expect(text).toContain(`"${name}": "${value}"`.replaceAll('\\', ''));
  expect(text).not.toContain('sk-secret');
});

test('a proxy with a password is kept back, and the doctor names it where the server ends', async () => {
  const proxied = { HTTPS_PROXY: 'http://ada:secret@proxy.example:3128' };
  const { withEnv } = await withFile({ every: realServer('everything') });
  expect((await withEnv(proxied, 'call', 'every', 'get-env')).stdout).not.toContain('secret');
  const dead = await withFile({ dead: hostileEntry('dies-at-start') });
  const { stdout } = await dead.withEnv(proxied, 'doctor');
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('Not passed on, because a password stands in it: HTTPS_PROXY.');
  expect(stdout).not.toContain('secret');
  const own = await withFile({ dead: { ...hostileEntry('dies-at-start'), env: { HTTPS_PROXY: '${HTTPS_PROXY}' } } });
  expect((await own.withEnv(proxied, 'doctor')).stdout).not.toContain('Not passed on');
});

test("VS Code's file is read, and one that names no server is wrong usage", async () => {
  const { folder, mcp } = await withFile({});
  const file = (name: string, content: object) => writeFile(join(folder, name), JSON.stringify(content));
  await file('code.json', { inputs: [], servers: { off: { type: 'stdio', command: 'x', disabled: true } } });
  expect(await mcp('list', '--mcp', 'code.json')).toMatchObject({ code: 0, stdout: 'off  DISABLED\n' });
  for (const content of [{ mcpServers: {} }, { servers: {} }, { mcpServers: {}, servers: {} }]) {
    await file('none.json', content);
    const ended = await mcp('list', '--mcp', 'none.json');
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('none.json: it names no server') });
  }
});

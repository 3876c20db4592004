import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agree, guarded } from '../support/mcp/signing-in.ts';
import { withFile } from './mcp-folder.ts';
import { type RunningCli, startCli } from './spawn-cli.ts';

async function addressIn(login: RunningCli): Promise<string> {
  await login.until('press Enter');
  const [address = ''] = /http:\/\/\S+\/authorize\S*/.exec(login.printed()) ?? [];
  return address;
}

test('login shows the address and waits for the browser; then every command uses the login, until logout', async () => {
  const { server, auth } = await guarded();
  const { folder, mcp } = await withFile({ desk: { url: server.url, auth: 'oauth' } });
  expect(await mcp('doctor')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/Nobody is signed in[\s\S]*signalbox mcp login desk/),
  });
  await writeFile(join(folder, 'my servers.json'), await readFile(join(folder, 'mcp.json')));
  const elsewhere = ['--mcp', 'my servers.json'];
  const hint = "signalbox mcp login desk --mcp 'my servers.json'";
  expect((await mcp('list', ...elsewhere)).stdout).toContain(`Nobody is signed in at 'desk': ${hint}\n`);
  expect((await mcp('tools', ...elsewhere)).stderr).toContain(hint);
  for (const action of ['doctor', 'status']) expect((await mcp(action, ...elsewhere)).stdout).toContain(`${hint}\n`);
  expect(auth.count('POST /register')).toBe(0);
  const login = startCli(['mcp', 'login', 'desk'], { cwd: folder });
  await fetch(await agree(await addressIn(login)));
  expect(await login.ended).toMatchObject({ code: 0, stdout: "Signed in at 'desk'.\n" });
  expect((await mcp('status')).stdout).toMatch(/^desk +signed in +http:.*; read; renewed automatically/m);
  expect((await mcp('list')).stdout).toMatch(/^desk +READY +3 tools/m);
  expect(await mcp('call', 'desk', 'read')).toMatchObject({ code: 0, stdout: 'read done\n' });
  expect(await mcp('doctor')).toMatchObject({ code: 0 });
  const deleted = "The tokens for 'desk' were deleted here. They were not revoked at the server.\n";
  expect(await mcp('logout', 'desk')).toMatchObject({ code: 0, stdout: deleted });
  expect(await mcp('logout', 'desk')).toMatchObject({ code: 0, stdout: "Nobody was signed in at 'desk'.\n" });
  expect((await mcp('status')).stdout).toMatch(/^desk +signed out +signalbox mcp login desk/m);
  const kept = await readFile(join(folder, '.signalbox/mcp/tokens.json'), 'utf8');
  const printed = login.printed();
  for (const secret of auth.secrets) expect(kept + printed).not.toContain(secret);
});

test('status shows servers that are switched off, and fails for those whose entry is wrong', async () => {
  const wrong = { url: 'https://a.example/mcp', auth: 'oath' };
  const { mcp } = await withFile({ wrong, off: { url: 'https://b.example/mcp', auth: 'oauth', disabled: true } });
  const all = await mcp('status');
  expect(all).toMatchObject({ code: 1, stderr: expect.stringMatching(/^MCP server 'wrong': 'auth' must be 'oauth'/) });
  expect(all.stdout).toBe('off  DISABLED\n');
  expect(await mcp('status', 'off')).toMatchObject({ code: 0, stdout: 'off  DISABLED\n' });
  expect(await mcp('status', 'wrong', '--json')).toMatchObject({ code: 1, stdout: '[]\n' });
});

test('commands that are suggested are what a shell takes, whatever the name of a server', async () => {
  const names = ['$HOME', '{a,b}', '$(id)', '`id`', "bob's desk", '~', 'desk-1'];
  const { mcp } = await withFile(
    Object.fromEntries(names.map((name) => [name, { url: 'http://127.0.0.1:9/mcp', auth: 'oauth' }])),
  );
  const { stdout } = await mcp('status');
  const words = [...stdout.matchAll(/signalbox mcp login (.*)$/gm)].map(([, word]) => word);
  const read = execFileSync('/bin/bash', ['-c', `printf '%s\\n' ${words.join(' ')}`], { encoding: 'utf8' });
  expect(read.trimEnd().split('\n')).toEqual(names);
});

test('login takes the address on which a browser ended elsewhere, after one that is none', async () => {
  const { server } = await guarded();
  const auth = { type: 'oauth', redirect: 'https://app.example/back' };
  const { folder } = await withFile({ desk: { url: server.url, auth } });
  const login = startCli(['mcp', 'login', 'desk', '--json', '--no-browser'], { cwd: folder });
  const address = await addressIn(login);
  login.child.stdin.write('https://app.example/back?code=a&state=b\n');
  await login.until('No sign-in waits for this address');
  login.child.stdin.write(`${await agree(address)}\n`);
  const { code, stdout } = await login.ended;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ server: 'desk', signedIn: true, scopes: ['read'], renews: true });
});

test('a login that is refused says why, exit code 1; one where nobody signs in is wrong usage', async () => {
  const { server } = await guarded({ denies: true });
  const { folder, mcp } = await withFile({ desk: { url: server.url, auth: 'oauth' }, open: { url: server.url } });
  const login = startCli(['mcp', 'login', 'desk'], { cwd: folder });
  await fetch(await agree(await addressIn(login)));
  expect(await login.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('access_denied') });
  expect(await mcp('login', 'open')).toMatchObject({ code: 2, stderr: expect.stringContaining('"auth": "oauth"') });
  expect(await mcp('login')).toMatchObject({ code: 2, stderr: expect.stringContaining("'login' needs <server>.") });
  expect((await mcp('doctor', 'open')).stdout).toContain('"auth": "oauth"');
});

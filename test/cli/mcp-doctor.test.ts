import { spawn } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startHostileHttp } from '../support/mcp/hostile-http.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { realServer } from '../support/mcp/real-servers.ts';
import { withFile } from './mcp-folder.ts';
import { processesNaming } from './processes.ts';
import type { CliEnd } from './spawn-cli.ts';
import { freePort } from '../support/free-port.ts';

async function doctor(config: object, env: Readonly<Record<string, string>> = {}): Promise<CliEnd> {
  const { withEnv } = await withFile({ it: config });
  return withEnv(env, 'doctor');
}

/** A server that answers everything with an error. */
const REFUSING = `
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const error = { code: -32000, message: 'the licence has expired' };
    console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, error }));
  });`;

describe('signalbox mcp doctor', () => {
  test('finds nothing wrong with good servers, exit code 0, and leaves no process', async () => {
    const { folder, mcp } = await withFile((path) => ({
      files: { ...realServer('filesystem', [path]), exclude: ['write_file'] },
      off: { command: 'x', disabled: true },
    }));
    const ended = await mcp('doctor');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(
      /^ok +files: connected in [\d.]+ s: secure-filesystem-server .* over stdio, 14 tools$/m,
    );
    expect(processesNaming(folder)).toEqual([]);
  });

  test('names a breach of the protocol once, though it lists the tools twice', async () => {
    const { mcp } = await withFile({ it: hostileEntry('bad-tools') });
    const { code, stdout } = await mcp('doctor');
    expect(code).toBe(0);
    expect(stdout.split('{"name":7}')).toHaveLength(2);
  });

  test('says what a server itself says, and what to do about a list that is too long; one of which a few are wanted is not', async () => {
    const { mcp } = await withFile({
      refusing: { command: process.execPath, args: ['-e', REFUSING] },
      listless: hostileEntry('no-list'),
      long: hostileEntry('many-tools'),
      shorter: hostileEntry('many-tools', { exclude: ['tool_1'] }),
      chosen: hostileEntry('many-tools', { tools: ['tool_7'] }),
    });
    const { code, stdout } = await mcp('doctor');
    const about = Object.groupBy(stdout.split(/^(?=ok |WRONG )/m), (text) => /^\w+ +(\w+)/.exec(text)?.[1] ?? '');
    expect(code).toBe(1);
    expect(about.refusing?.[0]).toMatch(
      /it refused `initialize`: the licence has expired\.\n.*It speaks MCP, but refuses/,
    );
    expect(about.listless?.[0]).toMatch(/the disk is gone\.\n.*It speaks MCP, but refuses/);
    expect(about.long?.[0]).toMatch(/allows \(1000\)\.\n.*Name those that you need with "tools"/);
    expect(about.shorter?.[0]).toMatch(/1199 of its tools are wanted.*\n.*Name those that you need with "tools"/);
    expect(about.chosen?.[0]).toMatch(/^ok .*1200 tools/);
  });

  // All in one run, as they would stand in one file: what is wrong with one disturbs no other. Those that never answer have
  // a limit of their own, which is not that of others that start slowly on a busy machine.
  const cases: readonly (readonly [title: string, config: object, parts: readonly string[]])[] = [
    [
      'a command that is not installed',
      { command: 'no-such-program' },
      ["'no-such-program' was not found in PATH", 'PATH: /'],
    ],
    [
      'a whole command line as command',
      { command: 'npx -y thing' },
      ['Write "command": "npx", "args": ["-y","thing"]'],
    ],
    ['a home folder that is not expanded', { command: '~/server' }, ['Write "command": "${HOME}/server"']],
    ['a path where nothing is', { command: './server.sh' }, ["There is no file '", "server.sh'"]],
    [
      'a file that is no program',
      { command: './small.txt' },
      ['could not be started (EACCES)', 'chmod +x ./small.txt'],
    ],
    [
      'arguments that a shell would change',
      { command: 'sh', args: ['-c', 'exit 3', '$HOME', '${HOME}', '{a,b}'] },
      ["by hand to see more: sh -c 'exit 3' '$HOME' ${HOME} '{a,b}'."],
    ],
    ['a folder that is not there', { command: 'cat', cwd: '/no/folder' }, ['does not exist: /no/folder']],
    [
      'a program that dies at its start',
      hostileEntry('dies-at-start'),
      ['exit code 3', 'stderr: cannot open database'],
    ],
    [
      'a program that dies after its list',
      hostileEntry('dies-after-listing'),
      ['exit code 5', 'wrote nothing to stderr'],
    ],
    ['a program that is no server and ends', { command: 'true' }, ['exit code 0', 'may not be a server']],
    [
      'a program that is no server and stays',
      { command: 'cat' },
      ['did not answer `initialize` as an MCP server does'],
    ],
    [
      'noise on stdout',
      { command: 'sh', args: ['-c', 'echo "<html>not a server</html>"; cat > /dev/null'], connectTimeoutMs: 5000 },
      ['is not an MCP message', 'stdout: <html>not a server</html>', 'log to stderr'],
    ],
    [
      'a server that says nothing',
      hostileEntry('silent', { connectTimeoutMs: 5000 }),
      ['gave no answer in time', '(now 5000)'],
    ],
    [
      'another version',
      hostileEntry('old-version'),
      ['It speaks MCP version 1999-01-01; spoken here are 2026-07-28, 2025-11-25'],
    ],
    [
      'an answer without the name of the server',
      hostileEntry('nameless'),
      ['its answer to `initialize` lacks serverInfo'],
    ],
    [
      'variables that are not set',
      { command: 'cat', env: { A: '${ONE_THING}', B: '${OTHER_THING:-x}', C: '${THIRD_THING}' } },
      ['needs the environment variables ONE_THING, THIRD_THING, which are not set', 'export ONE_THING=…'],
    ],
    ['a misspelt key', { command: 'cat', polcy: 'allow' }, ["'polcy' is not a known key"]],
    ['a host that there is not', { url: 'http://nowhere.invalid/mcp' }, ['The host name nowhere.invalid is not known']],
  ];
  const servers = Object.fromEntries(cases.map(([title, config]) => [title, config]));
  let examined: Promise<CliEnd> | null = null;

  test.each(cases)('explains %s, exit code 1', async (title, _config, parts) => {
    examined ??= withFile(servers).then(({ mcp }) => mcp('doctor'));
    const { code, stdout, stderr } = await examined;
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    const about = stdout.split(/^(?=ok |WRONG )/m).find((text) => text.startsWith(`WRONG ${title}: `));
    for (const part of parts) expect(about).toContain(part);
  });

  test('suggests no command of which a shell would run a part', async () => {
    const { folder, mcp } = await withFile({ it: { command: './a "$(id)"; b' } });
    await writeFile(join(folder, 'a "$(id)"; b'), '');
    const { stdout } = await mcp('doctor');
    expect(stdout).toContain(`chmod +x './a "$(id)"; b'.`);
    expect(stdout).toContain(String.raw`"args": ["./a \"$(id)\"; b"].`);
  });

  test('tells a script whose interpreter is missing from a script that is missing', async () => {
    const { folder, mcp } = await withFile({ it: { command: './server.sh' } });
    await writeFile(join(folder, 'server.sh'), '#!/no/interpreter\n');
    await chmod(join(folder, 'server.sh'), 0o755);
    expect((await mcp('doctor')).stdout).toContain(
      "The file './server.sh' is there, but the program that its first line",
    );
  });

  test('explains an address where nothing listens, and a proxy that is used or not', async () => {
    const config = { url: `http://me:hush-hush-7@127.0.0.1:${await freePort()}/mcp` };
    const { code, stdout, stderr } = await doctor(config, { HTTPS_PROXY: 'http://proxy.invalid' });
    expect(code).toBe(1);
    expect(stdout + stderr).not.toContain('hush-hush-7');
    expect(stdout).toContain(`Nothing listens at ${new URL(config.url).origin} (ECONNREFUSED)`);
    expect(stdout).toContain('NODE_USE_ENV_PROXY=1');
    const used = await doctor(config, { HTTPS_PROXY: 'http://ann:hush-hush-8@proxy.invalid', NODE_USE_ENV_PROXY: '1' });
    expect(used.stdout).toContain('It may be the proxy of HTTPS_PROXY that failed.');
    expect(used.stdout + used.stderr).not.toContain('hush-hush');
    expect((await doctor(config)).stdout).not.toContain('PROXY');
  });

  test.each([401, 403])('explains what to set where authorization is required (HTTP %s)', async (status) => {
    const server = await startHostileHttp();
    server.refuse(status);
    const { url } = server;
    const without = await doctor({ url });
    expect(without.code).toBe(1);
    expect(without.stdout).toContain(`It asks for authorization (HTTP ${status})`);
    expect(without.stdout).toContain('"headers": { "Authorization": "Bearer ${TOKEN}" }');
    const headers = { Authorization: 'Bearer ${MY_TOKEN}' };
    expect((await doctor({ url, headers }, { MY_TOKEN: '' })).stdout).toContain('Set MY_TOKEN: it is empty.');
    const refused = await doctor({ url, headers }, { MY_TOKEN: 'sesame' });
    expect(refused.stdout).toContain('It refuses the Authorization header of the entry');
    expect(refused.stdout).not.toContain('sesame');
  });

  test('explains a web page, a wrong path and a server that fails', async () => {
    const page = await startHostileHttp({ page: true });
    expect((await doctor({ url: page.url })).stdout).toMatch(
      /not that of an MCP server\.\n.*and not that of a web page/,
    );
    const server = await startHostileHttp();
    server.refuse(404);
    expect((await doctor({ url: server.url })).stdout).toMatch(/HTTP 404\.[^]*Is the path right\?/);
    server.refuse(500);
    expect((await doctor({ url: server.url })).stdout).toContain('look into its log');
    // As a server that takes only a newer version of the protocol does.
    server.refuse(400);
    const newer = await doctor({ url: server.url });
    expect(newer.stdout).toMatch(
      /HTTP 400: Unsupported protocol version: 2025-11-25\.\n.*It speaks MCP, but refuses\. Signalbox speaks the protocol's versions up to 2026-07-28:/,
    );
  });

  test('finds a misspelt name of a tool, and tells programs so', async () => {
    const { mcp } = await withFile({ every: { ...realServer('everything'), exclude: ['ecko'] } });
    const ended = await mcp('doctor', 'every', '--json');
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.stdout)).toMatchObject([
      {
        server: 'every',
        ok: false,
        findings: [{ kind: 'unknown-tool', what: expect.stringContaining("'ecko'"), fix: "Did you mean 'echo'?" }],
      },
    ]);
  });

  test('is content with a server over HTTP', async () => {
    const port = await freePort();
    const { command, args = [] } = realServer('everything', ['streamableHttp']);
    const server = spawn(command, args, { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' });
    onTestFinished(() => void server.kill('SIGKILL'));
    const url = `http://127.0.0.1:${port}/mcp`;
    await vi.waitUntil(
      () =>
        fetch(url).then(
          ({ status }) => status === 400,
          () => false,
        ),
      { timeout: 45_000 },
    );
    const { code, stdout } = await doctor({ url });
    expect(stdout).toMatch(/^ok +it: connected .* over streamable, 13 tools$/m);
    expect(code).toBe(0);
  });
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readMcpConfigFile } from '../../src/mcp/config/config-file.ts';
import { McpConfigError } from '../../src/mcp/config/config.ts';
import { findJsonError } from '../../src/mcp/config/config-file.ts';
import { readMcpServer, readMcpServers } from '../../src/mcp/config/read-config.ts';
import { testFolder } from '../support/test-folder.ts';

function errorOf(read: () => unknown): McpConfigError {
  try {
    read();
  } catch (error) {
    if (error instanceof McpConfigError) return error;
  }
  throw new Error('no McpConfigError was thrown');
}

describe('the mcpServers object', () => {
  test('reads what every client writes, with the defaults filled in', () => {
    const [files, remote] = readMcpServers(
      {
        files: { command: 'npx', args: ['-y', 'pkg', '.'], env: { A: 'b' } },
        remote: { url: 'https://example.com/mcp', headers: { X: 'y' } },
      },
      {},
    );
    expect(files?.target).toEqual({
      kind: 'stdio',
      command: 'npx',
      args: ['-y', 'pkg', '.'],
      env: { A: 'b' },
      killTree: true,
    });
    expect(remote?.target).toEqual({
      kind: 'http',
      url: 'https://example.com/mcp',
      headers: { X: 'y' },
      transport: 'auto',
    });
    expect(files?.settings).toMatchObject({
      required: false,
      connectTimeoutMs: 30_000,
      timeoutMs: 180_000,
      retryAfterLoss: 'unless-destructive',
    });
    expect(files?.settings.policy).toBeUndefined();
  });

  test('replaces variables everywhere, with defaults where they are unset or empty', () => {
    const env = { TOKEN: 't0ken', EMPTY: '', HOST: 'h.example' };
    const server = readMcpServer(
      'a',
      { command: '${CMD:-node}', args: ['${EMPTY:-x}', '$TOKEN'], env: { T: 'Bearer ${TOKEN}' }, cwd: '/${HOST}' },
      env,
    );
    expect(server.target).toMatchObject({
      command: 'node',
      args: ['x', '$TOKEN'],
      env: { T: 'Bearer t0ken' },
      cwd: '/h.example',
    });
    const http = readMcpServer('b', { url: 'https://${HOST}/mcp', headers: { Authorization: '${env:TOKEN}' } }, env);
    expect(http.target).toMatchObject({ url: 'https://h.example/mcp', headers: { Authorization: 't0ken' } });
  });

  test('what a variable holds is not expanded again', () => {
    expect(readMcpServer('a', { command: '${A}' }, { A: '${B}', B: 'evil' }).target).toMatchObject({ command: '${B}' });
  });

  test('leaves out servers that are switched off, even when a variable of theirs is missing', () => {
    expect(readMcpServers({ off: { command: '${NOPE}', disabled: true } }, {})).toEqual([]);
  });

  test('takes entries of other clients, whose own keys grant nothing', () => {
    const server = readMcpServer(
      'a',
      { type: 'stdio', command: 'x', autoApprove: ['rm'], alwaysAllow: true, description: 'mine' },
      {},
    );
    expect(server.settings.policy).toBeUndefined();
  });
});

describe('a wrong entry is refused with the name of the server and the key', () => {
  test.each([
    [{ command: 'x', polcy: 'deny' }, 'polcy', 'not a known key'],
    [{ command: 'x', url: 'http://a' }, 'url', 'both'],
    [{}, 'command', 'neither'],
    [{ command: '' }, 'command', 'empty'],
    [{ command: 'x', policy: 'ask' }, 'policy', 'by-annotations'],
    [{ command: 'x', env: { A: null } }, 'env.A', ''],
    [{ command: 'x', timeoutMs: 0 }, 'timeoutMs', 'more than 0'],
    [{ command: 'x', overrides: { t: { effects: 'twice' } } }, 'overrides.t.effects', 'idempotent'],
    [{ command: 'x', overrides: { t: { needsApproval: true } } }, 'overrides.t.needsApproval', 'must be a function'],
    [{ command: 'x', overrides: { t: { validateArgs: 'path' } } }, 'overrides.t.validateArgs', 'must be a function'],
    [
      { command: 'x', overrides: { t: { policy: 'allow', needsApproval: () => true } } },
      'overrides.t.policy',
      "must be 'confirm'",
    ],
    [{ command: 'x', overrides: { t: { polcy: 'deny' } } }, 'overrides.t.polcy', 'Known are: policy, needsApproval,'],
    [{ url: 'ftp://a' }, 'url', 'http or https'],
    [{ url: '${BASE}/mcp' }, 'url', 'BASE'],
    [
      { url: 'http://a', headers: { Authorization: 'Bearer ${input:api-key}' } },
      'headers.Authorization',
      'input:api-key',
    ],
    [{ headers: {}, serverUrl: 'http://a' }, 'command', "'serverUrl' is not a known key"],
    [{ command: 'x', args: 'one' }, 'args', ''],
  ])('%j', (entry, key, words) => {
    const error = errorOf(() => readMcpServer('files', entry, {}));
    expect(error).toMatchObject({ server: 'files', key, code: 'mcp-config' });
    expect(error.message).toContain("'files'");
    expect(error.message).toContain(words);
  });

  test.each([null, [], 'npx', 7])('%j in place of an entry', (entry) => {
    expect(errorOf(() => readMcpServer('files', entry, {}))).toMatchObject({ server: 'files' });
    expect(errorOf(() => readMcpServers(entry === null ? null : [entry], {})).message).toContain('mcpServers');
  });
});

describe('a configuration file', () => {
  const write = async (text: string): Promise<string> => {
    const path = join(testFolder(), 'mcp.json');
    await writeFile(path, text);
    return path;
  };

  test('is read with either of its usual keys, a byte order mark included', async () => {
    expect(await readMcpConfigFile(await write('\ufeff{"mcpServers":{"a":{"command":"x"}}}'), {})).toHaveLength(1);
    expect(await readMcpConfigFile(await write('{"servers":{"a":{"command":"x"}}}'), {})).toHaveLength(1);
  });

  test('that is not JSON is refused with file, line and column', async () => {
    const path = await write('{\n  "mcpServers": { /* mine */\n    "a": { "command": "x" "args": [] }\n  }\n}');
    await expect(readMcpConfigFile(path, {})).rejects.toThrow(
      `${path}:3:27: not valid JSON: unexpected "\\"", expected a comma or }`,
    );
    await expect(readMcpConfigFile(await write('{"mcpServers": {"a": "// }'), {})).rejects.toThrow(':1:22: not valid');
  });

  test('may have comments, and commas at the end of lists, as in VS Code', async () => {
    const text = `// Ours
      { "servers": { /* two
        lines */ "a": { "command": "x", "args": ["http://a/*b*/", ",]", "\\"//",], }, // the end
      }, }`;
    const [server] = await readMcpConfigFile(await write(text), {});
    expect(server?.target).toMatchObject({ args: ['http://a/*b*/', ',]', '"//'] });
  });

  test('that is missing, or has no servers, is refused with its name', async () => {
    await expect(readMcpConfigFile('/nowhere/mcp.json', {})).rejects.toThrow(
      '/nowhere/mcp.json: the MCP configuration cannot be read (ENOENT)',
    );
    const path = await write('{}');
    await expect(readMcpConfigFile(path, {})).rejects.toThrow(`${path}: there is no 'mcpServers'`);
  });

  test('with a wrong entry is refused with file, server and key', async () => {
    const path = await write('{"mcpServers":{"files":{"command":1}}}');
    await expect(readMcpConfigFile(path, {})).rejects.toMatchObject({
      server: 'files',
      key: 'command',
      message: expect.stringContaining(path),
    });
  });
});

test('the place of a JSON error is found exactly where the text stops being JSON', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.constantFrom('', ',', '}', '"', 'x', '1', ':', ' '), (json, at, noise) => {
      const place = at % (json.length + 1);
      const text = json.slice(0, place) + noise + json.slice(place + (at % 3));
      expect(findJsonError(text) === null).toBe(isJson(text));
    }),
    { numRuns: 1000 },
  );
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

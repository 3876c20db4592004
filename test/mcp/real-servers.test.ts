import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type McpConnection, createMcpConnection } from '../../src/mcp/index.ts';
import type { McpServerConfig } from '../../src/mcp/config/config.ts';
import type { McpConnectionOptions } from '../../src/mcp/connection-types.ts';
import { realServer } from '../support/mcp/real-servers.ts';
import { testFolder } from '../support/test-folder.ts';

async function connected(
  name: string,
  config: McpServerConfig,
  options?: McpConnectionOptions,
): Promise<McpConnection> {
  const connection = createMcpConnection(name, config, options);
  onTestFinished(() => connection.disconnect());
  expect(await connection.connect()).toBe(true);
  return connection;
}

describe('the filesystem server', () => {
  test('lists its tools with their annotations, writes and reads', async () => {
    const folder = testFolder();
    const files = await connected('files', realServer('filesystem', [folder]));
    const tools = await files.listTools();
    expect(tools.find(({ name }) => name === 'read_text_file')?.annotations?.readOnlyHint).toBe(true);
    const path = join(folder, 'a.txt');
    expect(await files.callTool('write_file', { path, content: 'hello' })).toMatchObject({ status: 'success' });
    expect(await readFile(path, 'utf8')).toBe('hello');
    expect(await files.callTool('read_text_file', { path })).toEqual({ status: 'success', data: { content: 'hello' } });
  });

  test('refuses in its own words, which are an error result', async () => {
    const files = await connected('files', realServer('filesystem', [tmpdir()]));
    const result = await files.callTool('read_text_file', { path: '/etc/hostname' });
    expect(result.status).toBe('error');
    expect(result.error).toContain('Access denied');
  });

  test('asks for the roots that it was given', async () => {
    const folder = testFolder();
    const files = await connected('files', realServer('filesystem', [tmpdir()]), {
      roots: () => [{ uri: `file://${folder}` }],
    });
    await expect
      .poll(async () => (await files.callTool('list_allowed_directories')).data)
      .toEqual({
        content: `Allowed directories:\n${folder}`,
      });
  });
});

test('the memory server keeps what it is told', async () => {
  const file = join(testFolder(), 'memory.jsonl');
  const memory = await connected('memory', { ...realServer('memory'), env: { MEMORY_FILE_PATH: file } });
  const entity = { name: 'Ada', entityType: 'person', observations: ['likes engines'] };
  expect(await memory.callTool('create_entities', { entities: [entity] })).toMatchObject({ status: 'success' });
  expect(await memory.callTool('read_graph')).toMatchObject({ data: { entities: [entity] } });
});

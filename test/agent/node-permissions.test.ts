import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { freePort } from '../support/free-port.ts';

const CHILD = fileURLToPath(new URL('children/ask-under-permission.ts', import.meta.url));

/** Older ones leave the network open. */
const guardsNetwork = process.allowedNodeEnvironmentFlags.has('--allow-net');

/** What an agent with an MCP server of its own, one over HTTP, and a model says: none of them is there. */
async function saidUnder(...flags: readonly string[]): Promise<readonly string[]> {
  const origin = `http://127.0.0.1:${await freePort()}`;
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, ...BUNDLED, CHILD, origin]);
  return stdout.trim().replaceAll(origin, 'ORIGIN').split('\n');
}

test("without Node's permission to start programs, the error names the option of Node that gives it", async () => {
  const [program] = await saidUnder('--permission', '--allow-fs-read=*');
  expect(program).toContain('could not be started (ERR_ACCESS_DENIED); start Node with --allow-child-process');
});

test.skipIf(!guardsNetwork)(
  "without Node's permission to connect, the error names the option that gives it",
  async () => {
    const [, server, model] = await saidUnder('--permission', '--allow-fs-read=*');
    // Nothing was sent: its calls may be made again.
    expect(server).toContain('ORIGIN cannot be reached (ERR_ACCESS_DENIED)');
    expect(model).toContain('Cannot reach ORIGIN/v1 (ERR_ACCESS_DENIED): start Node with --allow-net');
  },
);

test('where Node permits it, neither option is named', async () => {
  const said = await saidUnder();
  expect(said).toHaveLength(3);
  expect(said.join('\n')).not.toMatch(/--allow|ERR_ACCESS_DENIED/);
  expect(said[2]).toContain('Cannot reach ORIGIN/v1 (ECONNREFUSED): check that it is running');
});

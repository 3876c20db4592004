import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import { startInTerminal, temporaryFolder } from './spawn-cli.ts';

const onLinux = process.platform === 'linux';
const WRITE = { name: 'files_write_file', arguments: { path: 'new.txt', content: 'hello' } };
const [CTRL_C, CTRL_D] = ['\u0003', '\u0004'];

test.skipIf(!onLinux)('run: Ctrl-C at a question denies the call and cancels the run, exit code 130', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer([{ toolCalls: [WRITE] }]);
  const cli = startInTerminal(['run', 'Write it', '--base-url', server.baseURL], {
    cwd: folder.path,
    fileServer: true,
  });
  await cli.until('Allow? [');
  cli.child.stdin.write(CTRL_C);
  expect((await cli.ended).code).toBe(130);
  expect(cli.printed()).toMatch(/Denied\.[^]*\[Cancelled after 1 step\(s\)\]/);
  expect(server.requests).toHaveLength(1);
  expect(existsSync(join(folder.path, 'new.txt'))).toBe(false);
});

test.skipIf(!onLinux)('run: Ctrl-D at a question denies the call, and the run goes on', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer([{ toolCalls: [WRITE] }, 'Then not.']);
  const cli = startInTerminal(['run', 'Write it', '--base-url', server.baseURL], {
    cwd: folder.path,
    fileServer: true,
  });
  await cli.until('Allow? [');
  cli.child.stdin.write(CTRL_D);
  expect((await cli.ended).code).toBe(0);
  expect(cli.printed()).toMatch(/Denied[^]*Then not\./);
  expect(existsSync(join(folder.path, 'new.txt'))).toBe(false);
});

test.skipIf(!onLinux)(
  'chat: Ctrl-C at a question cancels the answer, the prompt comes back, and the next one leaves',
  async () => {
    await using folder = await temporaryFolder();
    await using server = await startModelServer([{ toolCalls: [WRITE, WRITE] }]);
    const cli = startInTerminal(['chat', 'Write it', '--base-url', server.baseURL], {
      cwd: folder.path,
      fileServer: true,
    });
    await cli.until('Allow? [');
    const back = cli.until('Ctrl-D quits.\r\n› ');
    cli.child.stdin.write(CTRL_C);
    await back;
    expect(cli.printed()).toMatch(/Denied\.[^]*\[Cancelled after 1 step\(s\)\]/);
    expect(cli.printed().split('Allow? ')).toHaveLength(2);
    cli.child.stdin.write(CTRL_C);
    expect((await cli.ended).code).toBe(0);
    expect(server.requests).toHaveLength(1);
  },
);

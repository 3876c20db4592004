import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import { NO_SERVERS, type RunningCli, startInTerminal, temporaryFolder } from './spawn-cli.ts';

const hasTerminal = process.platform === 'linux' && existsSync('/usr/bin/script');
const ENTER = '\r';
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const BACKSPACE = '\u007f';
const FIRST_PROMPT = 'Ctrl-D quits.\r\n› ';
const WRITE = { name: 'files_write_file', arguments: { path: 'new.txt', content: 'new' } };

/** Types, and waits until something is printed. */
async function typed(cli: RunningCli, keys: string, reply: string): Promise<void> {
  const replied = cli.until(reply);
  cli.child.stdin.write(keys);
  await replied;
}

type Server = Awaited<ReturnType<typeof startModelServer>>;

/** What the model was sent as the words of the person, in one request. */
function asked({ requests }: Server, request: number): readonly unknown[] {
  const messages = requests[request]?.body.messages ?? [];
  return messages.filter(({ role }) => role === 'user').map(({ content }) => content);
}

async function left(cli: RunningCli): Promise<void> {
  cli.child.stdin.write(CTRL_D);
  expect((await cli.ended).code).toBe(0);
}

test.skipIf(!hasTerminal)('a line that is typed while a tool runs reaches the model with its next step', async () => {
  await using folder = await temporaryFolder();
  const until = join(folder.path, 'let-go');
  const slow = { name: 'asking_hold', arguments: { until } };
  await using server = await startModelServer([{ toolCalls: [slow] }, 'Briefly: done.']);
  const program = join(import.meta.dirname, '../support/mcp/asking-server.ts');
  const asking = { command: process.execPath, args: [program], policy: 'allow' };
  await writeFile(join(folder.path, 'mcp.json'), JSON.stringify({ mcpServers: { asking } }));
  const args = ['chat', 'Go.', '--mcp', 'mcp.json', '--base-url', server.baseURL];
  const cli = startInTerminal(args, { cwd: folder.path });
  await cli.until('Running asking_hold');
  const prompted = cli.until(FIRST_PROMPT);
  await typed(cli, `Be loud${BACKSPACE.repeat(4)}日${BACKSPACE}brief.${ENTER}`, 'Message for the next step: Be brief.');
  expect(cli.printed()).toContain('日\b \b\b \bbrief.');
  expect(server.requests).toHaveLength(1);
  await writeFile(until, '');
  await prompted;
  expect(asked(server, 1)[0]).toBe('Go.');
  expect(asked(server, 1).at(-1)).toContain('Be brief.');
  expect(cli.printed()).toContain('Briefly: done.');
  await left(cli);
  expect(server.requests).toHaveLength(2);
  const runs = (await readdir(join(folder.path, '.signalbox/runs'))).filter((name) => name.endsWith('.jsonl'));
  expect(runs).toHaveLength(1);
});

test.skipIf(!hasTerminal)('a line without Enter holds the screen, and stands at the prompt after the run', async () => {
  await using folder = await temporaryFolder();
  const held = Promise.withResolvers<string>();
  await using server = await startModelServer([() => held.promise, 'Second.', { hang: true }]);
  const args = ['chat', 'Go.', '--base-url', server.baseURL, ...NO_SERVERS];
  const cli = startInTerminal(args, { cwd: folder.path });
  await server.received(1);
  await typed(cli, 'Half', '› Half');
  const prompted = cli.until('Ctrl-D quits.\r\n› Half');
  held.resolve('First.');
  await prompted;
  expect(server.requests).toHaveLength(1);
  const again = cli.until('.jsonl\r\n› ');
  cli.child.stdin.write(` a line${ENTER}`);
  await again;
  expect(asked(server, 1)).toEqual(['Go.', 'Half a line']);

  cli.child.stdin.write(`More${ENTER}`);
  await server.received(3);
  await typed(cli, `Sent${ENTER}`, 'Message for the next step: Sent');
  await typed(cli, 'Kept', '› Kept');
  const [cancelled, said] = [cli.until('[Cancelled after 1 step(s)]'), cli.until('came too late for the model')];
  await typed(cli, CTRL_C, '.jsonl\r\n› Sent Kept');
  await Promise.all([cancelled, said]);
  await typed(cli, CTRL_C, '› ');
  await left(cli);
  expect(server.requests).toHaveLength(3);
});

test.skipIf(!hasTerminal)(
  'a command that is typed while the model works is no message, and stands at the prompt after it',
  async () => {
    await using folder = await temporaryFolder();
    const held = Promise.withResolvers<string>();
    await using server = await startModelServer([() => held.promise, 'Second.']);
    const args = ['chat', 'Go.', '--base-url', server.baseURL, ...NO_SERVERS];
    const cli = startInTerminal(args, { cwd: folder.path });
    await server.received(1);
    await typed(cli, `/exit${ENTER}`, '› /exit');
    const [told, prompted] = [
      cli.until('not sent to the model. It is back at the prompt'),
      cli.until('Ctrl-D quits.\r\n› /exit'),
    ];
    held.resolve('First.');
    await Promise.all([told, prompted]);
    cli.child.stdin.write(ENTER);
    expect((await cli.ended).code).toBe(0);
    expect(server.requests).toHaveLength(1);
    expect(cli.printed()).not.toContain('Message for the next step');
  },
);

test.skipIf(!hasTerminal)('a line while a call waits for approval answers that, and is no message', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer([{ toolCalls: [WRITE] }, 'Not written.']);
  const cli = startInTerminal(['chat', 'Write it.', '--base-url', server.baseURL], {
    cwd: folder.path,
    fileServer: true,
  });
  await cli.until('Allow? [');
  const prompted = cli.until(FIRST_PROMPT);
  await typed(cli, `Tell me more${ENTER}`, 'Denied.');
  await prompted;
  expect(asked(server, 1)).toEqual(['Write it.']);
  expect(cli.printed()).not.toMatch(/Message for the next step|› Tell/);
  await left(cli);
});

test.skipIf(!hasTerminal)(
  'a line that was begun before a call is asked about is a message, and no answer',
  async () => {
    await using folder = await temporaryFolder();
    const held = Promise.withResolvers<undefined>();
    const call = async () => {
      await held.promise;
      return { toolCalls: [WRITE] };
    };
    await using server = await startModelServer([call, 'Not written.']);
    const cli = startInTerminal(['chat', 'Write it.', '--base-url', server.baseURL], {
      cwd: folder.path,
      fileServer: true,
    });
    await server.received(1);
    await typed(cli, 'y', '› y');
    held.resolve(undefined);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(cli.printed()).not.toMatch(/Allow\? \[|model\.replied/);
    await typed(cli, ENTER, 'Allow? [');
    expect(existsSync(join(folder.path, 'new.txt'))).toBe(false);
    const prompted = cli.until(FIRST_PROMPT);
    await typed(cli, `n${ENTER}`, 'Denied.');
    await prompted;
    expect(asked(server, 1).at(-1)).toContain('y');
    expect(asked(server, 1)).toHaveLength(2);
    expect(existsSync(join(folder.path, 'new.txt'))).toBe(false);
    await left(cli);
  },
);

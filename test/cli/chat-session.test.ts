import { existsSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { startModelServer } from '../support/model-server.ts';
import { NO_SERVERS, runCli, runCliProcess, startInTerminal, temporaryFolder } from './spawn-cli.ts';

const hasTerminal = process.platform === 'linux' && existsSync('/usr/bin/script');
const ENTER = '\r';
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const FIRST_PROMPT = 'Ctrl-D quits.\r\n› ';
const NEXT_PROMPT = '.jsonl\r\n› ';

/** What the model was sent in one request, but for the system prompt. */
function sent(server: Awaited<ReturnType<typeof startModelServer>>, request: number): readonly unknown[] {
  return server.requests[request]?.body.messages.slice(1).map(({ content }) => content) ?? [];
}

test('a session is the conversation of that id, and each process has the history of those before it', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['One.', 'Two.', 'Three.', 'Four.']);
  const args = ['--session', 'trip', '--base-url', server.baseURL, ...NO_SERVERS];
  const chat = (question: string) => runCli(['chat', question, ...args], { cwd: folder.path });
  await runCliProcess(['chat', 'First?', ...args], { cwd: folder.path });
  expect((await chat('Second?')).stderr).toContain("Conversation 'trip': 2 messages so far.");
  expect(sent(server, 1)).toEqual(['First?', 'One.', 'Second?']);

  const journal = fileJournal(join(folder.path, '.signalbox/runs'));
  const agent = createAgent({ name: 'a', model: scriptedModel(['From elsewhere.']), silent: true, journal });
  expect(await agent.conversation('trip').runs()).toHaveLength(2);
  await agent.conversation('trip').run('Third?');
  await chat('Fourth?');
  expect(sent(server, 2).slice(4)).toEqual(['Third?', 'From elsewhere.', 'Fourth?']);

  const other = ['--session', 'other', '--base-url', server.baseURL, ...NO_SERVERS];
  await runCli(['chat', 'Mine?', ...other], { cwd: folder.path });
  expect(sent(server, 3)).toEqual(['Mine?']);
  expect((await runCli(['chat', 'Hi', '--session', ' ', ...NO_SERVERS], { cwd: folder.path })).code).toBe(2);
});

test('a session that goes on needs a question where none can be typed', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['One.']);
  const args = ['--session', 'trip', '--base-url', server.baseURL, ...NO_SERVERS];
  await runCli(['chat', 'First?', ...args], { cwd: folder.path });
  expect(await runCli(['chat', ...args], { cwd: folder.path })).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('the question is missing. Put it in quotation marks.'),
  });
  expect(server.requests).toHaveLength(1);
});

test('runs of earlier versions, which name their session in another way, are continued', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['New.', 'Newer.', 'Other.']);
  const journal = fileJournal(join(folder.path, '.signalbox/runs'));
  const agent = createAgent({ name: 'signalbox', model: scriptedModel(['Old.']), silent: true, journal });
  await agent.run('Before?', { metadata: { session: 'trip' } });
  const chat = (question: string, name: string) =>
    runCli(['chat', question, '--session', name, '--base-url', server.baseURL, ...NO_SERVERS], { cwd: folder.path });
  expect((await chat('After?', 'trip')).stderr).toContain("Conversation 'trip': 2 messages so far.");
  await chat('And now?', 'trip');
  await chat('Else?', 'else');
  expect(sent(server, 0)).toEqual(['Before?', 'Old.', 'After?']);
  expect(sent(server, 1)).toEqual(['Before?', 'Old.', 'After?', 'New.', 'And now?']);
  expect(sent(server, 2)).toEqual(['Else?']);
});

test.skipIf(!hasTerminal)('one process at a time: another is told so, and has the history afterwards', async () => {
  await using folder = await temporaryFolder();
  const held = Promise.withResolvers<string>();
  await using server = await startModelServer(['First.', () => held.promise, 'Third.']);
  const here = { cwd: folder.path };
  const args = ['--session', 'trip', '--base-url', server.baseURL, ...NO_SERVERS];
  const waiting = startInTerminal(['chat', 'One?', ...args], here);
  await waiting.until(FIRST_PROMPT);
  const busy = runCliProcess(['chat', 'Two?', ...args], here);
  await server.received(2);

  const refused = waiting.until("The conversation 'trip' is in use by another");
  const promptedAgain = waiting.until('steps taken.\r\n› ');
  waiting.child.stdin.write(`Three?${ENTER}`);
  await Promise.all([refused, promptedAgain]);
  const begun = await runCli(['chat', 'Four?', ...args], here);
  expect(begun).toMatchObject({ code: 1, stdout: '' });
  expect(begun.stderr).toContain("The conversation 'trip' is in use by another process");

  held.resolve('Second.');
  expect(await busy).toMatchObject({ code: 0 });
  const answered = waiting.until('Third.');
  const prompted = waiting.until(NEXT_PROMPT);
  waiting.child.stdin.write(`Three again?${ENTER}`);
  await Promise.all([answered, prompted]);
  expect(sent(server, 2)).toEqual(['One?', 'First.', 'Two?', 'Second.', 'Three again?']);
  waiting.child.stdin.write(CTRL_D);
  expect((await waiting.ended).code).toBe(0);
});

test.skipIf(!hasTerminal)('/history and /clear are those of the session, also for later processes', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['One.', 'Two.', 'Three.']);
  const args = ['--session', 'trip', '--base-url', server.baseURL, ...NO_SERVERS];
  const cli = startInTerminal(['chat', 'First?', ...args], { cwd: folder.path });
  await cli.until(FIRST_PROMPT);
  const type = async (line: string, reply: string): Promise<void> => {
    const replied = cli.until(reply);
    cli.child.stdin.write(line + ENTER);
    await replied;
  };
  await type('/history', 'agent  One.');
  await type('/clear', 'The conversation is forgotten.');
  await type('/history', 'Nothing has been said yet.');
  await type('Second?', NEXT_PROMPT);
  cli.child.stdin.write(CTRL_D);
  await cli.ended;
  await runCli(['chat', 'Third?', ...args], { cwd: folder.path });
  expect(sent(server, 1)).toEqual(['Second?']);
  expect(sent(server, 2)).toEqual(['Second?', 'Two.', 'Third?']);
});

test.skipIf(!hasTerminal)('a call that waits is asked about before anything new is', async () => {
  await using folder = await temporaryFolder();
  await using later = await temporaryFolder();
  const file = { path: 'new.txt', content: 'new' };
  const call = { toolCalls: [{ name: 'files_write_file', arguments: file }] };
  await using server = await startModelServer([call, 'Not written.', 'Something new.']);
  const args = (question: string) => ['chat', question, '--session', 'trip', '--base-url', server.baseURL];
  const first = startInTerminal(args('Write it.'), { cwd: folder.path, fileServer: true });
  await first.until('Allow?');
  // As if the process had been killed here.
  await mkdir(join(later.path, '.signalbox'), { recursive: true });
  await cp(join(folder.path, '.signalbox/runs'), join(later.path, '.signalbox/runs'), {
    recursive: true,
    filter: (path) => !path.includes('lock'),
  });
  const denied = first.until(FIRST_PROMPT);
  first.child.stdin.write(CTRL_C);
  await denied;
  first.child.stdin.write(CTRL_D);
  await first.ended;

  const cli = startInTerminal(args('And now?'), { cwd: later.path, fileServer: true });
  await cli.until('Allow?');
  expect(cli.printed()).toContain("Conversation 'trip': first the interrupted answer to: Write it.");
  expect(server.requests).toHaveLength(1);
  const prompted = cli.until(FIRST_PROMPT);
  cli.child.stdin.write(`n${ENTER}`);
  await prompted;
  expect(sent(server, 2).slice(-2)).toEqual(['Not written.', 'And now?']);
  expect(existsSync(join(later.path, 'new.txt'))).toBe(false);
  cli.child.stdin.write(CTRL_D);
  expect((await cli.ended).code).toBe(0);
});

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { discoverEndpoint } from '../../src/models/discovery/discover-endpoint.ts';
import { startModelServer } from '../support/model-server.ts';
import { processesNaming } from './processes.ts';
import { NO_SERVERS, runCli, startInTerminal, temporaryFolder } from './spawn-cli.ts';

const hasTerminal = process.platform === 'linux' && existsSync('/usr/bin/script');
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

/** A model server that happens to run on this machine would be taken. */
async function findsServer(): Promise<boolean> {
  return (await discoverEndpoint({ env: {} })).kind === 'found';
}

/** What is typed while nobody reads is the terminal's affair, so the tests wait for the prompt. */
const FIRST_PROMPT = 'Ctrl-D quits.\r\n› ';
const NEXT_PROMPT = '.jsonl\r\n› ';

/** What a terminal sends for Enter. */
const ENTER = '\r';

test('without a terminal: one run with real tools, the answer, the path of the recording, exit code 0', async () => {
  await using folder = await temporaryFolder();
  const ended = await runCli(['--model', 'practice'], { cwd: folder.path });
  expect(ended.code).toBe(0);
  expect(ended.stdout).toContain('The largest file is large.log');
  const recording = /^Recorded in (\S+\.jsonl)$/m.exec(ended.stdout)?.[1] ?? '';
  expect(recording).toContain(join('.signalbox', 'runs'));
  expect(readFileSync(join(folder.path, recording), 'utf8')).toContain('"t":"end"');
  expect(ended.stderr).toContain('What is in this folder, and which file is the largest?');
  expect(ended.stderr).toContain('files_list_directory_with_sizes');
  expect(ended.stderr).toContain('It is not an LLM');
  if (process.platform === 'linux') expect(processesNaming(folder.path)).toEqual([]);
});

test.skipIf(await findsServer())('without any model server it says where it looked and what would help', async () => {
  await using folder = await temporaryFolder();
  const ended = await runCli([], { cwd: folder.path });
  expect(ended.code).toBe(0);
  expect(ended.stderr).toContain('No model server was found. Looked at:');
  expect(ended.stderr).toMatch(/ollama +http:\/\/localhost:11434\/v1 +no answer/);
  expect(ended.stderr).toContain('`ollama serve`');
});

test('the first question may be another one', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Hello yourself.']);
  const ended = await runCli(['chat', 'Hello?', '--base-url', server.baseURL, ...NO_SERVERS], { cwd: folder.path });
  expect(ended).toMatchObject({ code: 0 });
  expect(ended.stdout).toContain('Hello yourself.\n');
  expect(server.requests[0]?.body.messages.at(-1)).toMatchObject({ role: 'user', content: 'Hello?' });
});

test('a first run that fails without a terminal ends with exit code 1', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(() => ({ status: 400, body: { error: { message: 'no' } } }));
  const ended = await runCli(['chat', '--base-url', server.baseURL, ...NO_SERVERS], { cwd: folder.path });
  expect(ended.code).toBe(1);
});

test.skipIf(!hasTerminal)('in a terminal it takes further questions, of one conversation, until Ctrl-D', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Two files.', 'As I said, two.']);
  const args = ['chat', '--base-url', server.baseURL, '--record', 'run.jsonl'];
  const cli = startInTerminal(args, { cwd: folder.path, fileServer: true });
  await cli.until(FIRST_PROMPT);
  const answered = cli.until('As I said, two.');
  const asked = cli.until('Recorded in run-2.jsonl\r\n› ');
  cli.child.stdin.write(`And how many?${ENTER}`);
  await answered;
  await asked;
  const roles = server.requests[1]?.body.messages.map(({ role }) => role);
  expect(roles).toEqual(['system', 'user', 'assistant', 'user']);
  expect(readFileSync(join(folder.path, 'run.jsonl'), 'utf8')).toContain('Two files.');
  // What was typed stands there already; only the first question, which nobody typed, is shown.
  expect(cli.printed().split('up to 20 steps')).toHaveLength(2);
  cli.child.stdin.write(CTRL_D);
  expect((await cli.ended).code).toBe(0);
  expect(processesNaming(folder.path)).toEqual([]);
});

test.skipIf(!hasTerminal)('the answer appears once in a terminal', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Two files.']);
  const cli = startInTerminal(['chat', '--base-url', server.baseURL, ...NO_SERVERS], { cwd: folder.path });
  await cli.until(FIRST_PROMPT);
  cli.child.stdin.write(CTRL_D);
  await cli.ended;
  expect(cli.printed().split('Two files.')).toHaveLength(2);
});

test.skipIf(!hasTerminal)('Ctrl-C cancels the answer that is being worked on, and the next one leaves', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Two files.', { hang: true }]);
  const cli = startInTerminal(['chat', '--base-url', server.baseURL], { cwd: folder.path, fileServer: true });
  await cli.until(FIRST_PROMPT);
  const cancelled = cli.until('[Cancelled after 1 step(s)]');
  const recorded = cli.until(NEXT_PROMPT);
  cli.child.stdin.write(`Go on${ENTER}`);
  await server.received(2);
  cli.child.stdin.write(CTRL_C);
  await cancelled;
  await recorded;
  cli.child.stdin.write(CTRL_C);
  expect((await cli.ended).code).toBe(0);
  expect(processesNaming(folder.path)).toEqual([]);
});

test.skipIf(!hasTerminal)('Ctrl-C at the prompt asks once more before it leaves', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Two files.']);
  const cli = startInTerminal(['chat', '--base-url', server.baseURL, ...NO_SERVERS], { cwd: folder.path });
  await cli.until(FIRST_PROMPT);
  const hint = cli.until('Press Ctrl-C again');
  cli.child.stdin.write(CTRL_C);
  await hint;
  cli.child.stdin.write(CTRL_C);
  expect((await cli.ended).code).toBe(0);
});

test.skipIf(!hasTerminal)('pasted lines are one question', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Two files.', 'I see three lines.']);
  const cli = startInTerminal(['chat', '--base-url', server.baseURL, ...NO_SERVERS], { cwd: folder.path });
  await cli.until(FIRST_PROMPT);
  const answered = cli.until(NEXT_PROMPT);
  cli.child.stdin.write(`first${ENTER}second${ENTER}third${ENTER}`);
  await answered;
  expect(server.requests[1]?.body.messages.at(-1)?.content).toBe('first\nsecond\nthird');
  expect(cli.printed()).toContain('I see three lines.');
  cli.child.stdin.write(CTRL_D);
  await cli.ended;
});

test.skipIf(!hasTerminal)('slash commands list tools and conversation, forget it, and leave', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Two files.', 'Who are you?']);
  const cli = startInTerminal(['chat', '--base-url', server.baseURL], { cwd: folder.path, fileServer: true });
  await cli.until(FIRST_PROMPT);
  const type = async (line: string, reply: string): Promise<void> => {
    const replied = cli.until(reply);
    cli.child.stdin.write(line + ENTER);
    await replied;
  };
  await type('/help', 'Forget the conversation.');
  await type('/tools', '(List Allowed Directories)');
  await type('/hsitory', "Did you mean '/history'?");
  await type('/history', 'agent  Two files.');
  await type('/clear', 'The conversation is forgotten.');
  await type('/etc/hosts is a path', 'Who are you?');
  expect(server.requests[1]?.body.messages.map(({ role }) => role)).toEqual(['system', 'user']);
  cli.child.stdin.write(`/exit${ENTER}`);
  expect((await cli.ended).code).toBe(0);
  expect(cli.printed()).toMatch(/files_write_file +asks first/);
});

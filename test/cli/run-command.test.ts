import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { startModelServer } from '../support/model-server.ts';
import { processesNaming } from './processes.ts';
import { MAIN, NO_SERVERS, runCli, runCliProcess, startCli, startInTerminal, temporaryFolder } from './spawn-cli.ts';

const LIST = { name: 'files_list_directory_with_sizes', arguments: { path: '.' } };
const onLinux = process.platform === 'linux';

test('an answered question: the answer on standard output, the rest on standard error, exit code 0', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer([{ toolCalls: [LIST] }, 'large.log is the largest.']);
  const ended = await runCliProcess(['run', 'Which file is the largest?', '--base-url', server.baseURL], {
    cwd: folder.path,
    fileServer: true,
  });
  expect(ended).toMatchObject({ code: 0, stdout: 'large.log is the largest.\n' });
  expect(ended.stderr).toContain('[FILE] large.log');
  expect(ended.stderr).not.toContain('is the largest.');
  const recording = /Recorded in (\S+\.jsonl)/.exec(ended.stderr)?.[1] ?? '';
  expect(await readFile(join(folder.path, recording), 'utf8')).toContain('"t":"end"');
});

test("'-' reads the question from standard input, which is otherwise left alone", async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(() => ({ content: 'Four.' }));
  const ask = (question: string, input: string) =>
    runCli(['run', question, '--base-url', server.baseURL, ...NO_SERVERS], { cwd: folder.path }, input);
  const lines = 'Sum these up:\n2\n\n2';

  expect(await ask('-', `${lines}\n`)).toMatchObject({ code: 0, stdout: 'Four.\n' });
  expect(await ask('Minus - or plus?', 'Not this.')).toMatchObject({ code: 0 });
  const asked = server.requests.map(({ body }) => body.messages?.at(-1)?.content);
  expect(asked).toEqual([lines, 'Minus - or plus?']);
  const nothing = await ask('-', ' \n');
  expect(nothing).toMatchObject({ code: 2, stdout: '' });
  expect(nothing.stderr).toContain('the question is missing');
});

test('--json prints the whole result as one object and nothing else', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer([{ toolCalls: [LIST] }, 'Two files.']);
  const ended = await runCli(['run', 'How many files?', '--json', '--base-url', server.baseURL], {
    cwd: folder.path,
  });
  expect(JSON.parse(ended.stdout)).toMatchObject({
    success: true,
    status: 'answered',
    reason: 'answer',
    result: 'Two files.',
    toolsUsed: ['files_list_directory_with_sizes'],
    stepsTaken: 2,
  });
  expect(ended.stdout.trim().split('\n')).toHaveLength(1);
});

test('a model that fails: the reason on standard error, exit code 1', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(() => ({ status: 401, body: { error: { message: 'wrong key' } } }));
  const ended = await runCliProcess(['run', 'Hello?', '--base-url', server.baseURL, ...NO_SERVERS], {
    cwd: folder.path,
  });
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('Unable to complete task due to LLM error:');
  expect(ended.stderr).toContain('wrong key');
});

test('an endpoint that nobody listens at is named, exit code 1, and --json still prints a result', async () => {
  await using folder = await temporaryFolder();
  const gone = await startModelServer([]);
  await gone.close();
  const ended = await runCli(['run', 'Hello?', '--json', '--base-url', gone.baseURL, ...NO_SERVERS], {
    cwd: folder.path,
  });
  expect(ended.code).toBe(1);
  expect(JSON.parse(ended.stdout)).toMatchObject({ success: false, status: 'failed', reason: 'llm-error' });
  expect(ended.stderr).toContain(`Cannot reach ${gone.baseURL}`);
});

test('a run that reaches --max-steps is stopped with exit code 3', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(({ body }) => ({
    toolCalls: [{ name: 'files_get_file_info', arguments: { path: `${body.messages.length}.txt` } }],
  }));
  const ended = await runCli(['run', 'Go on', '--max-steps', '2', '--base-url', server.baseURL], {
    cwd: folder.path,
  });
  expect(ended).toMatchObject({ code: 3, stdout: '' });
  expect(ended.stderr).toContain('Reached maximum steps limit (2 steps).');
});

test.each([
  [3, 'length', 'The answer was cut off by the length limit: set maxTokens, which is left to the server.'],
  [1, 'refusal', 'The model refused to answer.'],
  [1, 'content_filter', "A content filter stopped the model's reply."],
])('exit code %i for a reply that ends by %s: why, and what there is of it', async (code, finishReason, why) => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(() => ({ content: 'It is qui', finishReason }));
  const shown = await runCli(['run', 'Hello?', '--base-url', server.baseURL, ...NO_SERVERS], { cwd: folder.path });
  expect(shown).toMatchObject({ code, stdout: '' });
  expect(shown.stderr).toContain(why);
  expect(shown.stderr).toContain('It is qui');
  const silent = await runCli(['run', 'Hello?', '--silent', '--base-url', server.baseURL, ...NO_SERVERS], {
    cwd: folder.path,
  });
  expect(silent).toEqual({ code, stdout: '', stderr: `${why}\nIt is qui\n` });
});

test('what a model says cannot move the cursor of a silent command, and comes as it is to another program', async () => {
  await using folder = await temporaryFolder();
  const evil = 'Gone.\u001b[2J';
  await using cut = await startModelServer(() => ({ content: evil, finishReason: 'length' }));
  const silent = (server: string) => ['run', 'Hello?', '--silent', '--base-url', server, ...NO_SERVERS];
  const failed = await runCli(silent(cut.baseURL), { cwd: folder.path });
  expect(failed).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('Gone.␛[2J\n') });
  await using server = await startModelServer(() => evil);
  expect(await runCli(silent(server.baseURL), { cwd: folder.path })).toEqual({
    code: 0,
    stdout: `${evil}\n`,
    stderr: '',
  });
  if (!onLinux || !existsSync('/usr/bin/script')) return;
  const shown = startInTerminal(silent(server.baseURL), { cwd: folder.path });
  expect((await shown.ended).code).toBe(0);
  expect(shown.printed()).toBe('Gone.␛[2J\r\n');
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s in the middle of a run cancels it: a result that says so, exit code 130, no process left',
  async (signal) => {
    await using folder = await temporaryFolder();
    await using server = await startModelServer(() => ({ hang: true }));
    const cli = startCli(['run', 'Hello?', '--json', '--base-url', server.baseURL], {
      cwd: folder.path,
      fileServer: true,
    });
    await server.received(1);
    if (onLinux) expect(processesNaming(folder.path)).toHaveLength(1);
    cli.child.kill(signal);
    const ended = await cli.ended;
    expect(ended.code).toBe(130);
    expect(JSON.parse(ended.stdout)).toMatchObject({ status: 'cancelled', result: '[Cancelled after 1 step(s)]' });
    await server.abandoned();
    if (onLinux) expect(processesNaming(folder.path)).toEqual([]);
  },
);

test('a cancelled run without --json says so on standard error', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(() => ({ hang: true }));
  const cli = startCli(['run', 'Hello?', '--base-url', server.baseURL, ...NO_SERVERS], { cwd: folder.path });
  await server.received(1);
  cli.child.kill('SIGINT');
  const ended = await cli.ended;
  expect(ended).toMatchObject({ code: 130, stdout: '' });
  expect(ended.stderr).toContain('[Cancelled after 1 step(s)]');
});

test('--silent prints the answer and nothing else', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer([{ toolCalls: [LIST] }, 'Done.']);
  const ended = await runCli(['run', 'Hello?', '--silent', '--base-url', server.baseURL], { cwd: folder.path });
  expect(ended).toEqual({ code: 0, stdout: 'Done.\n', stderr: '' });
});

test('--silent still says in one line why there is no answer', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer([{ toolCalls: [LIST] }]);
  const ended = await runCli(['run', 'Hello?', '--silent', '--max-steps', '1', '--base-url', server.baseURL], {
    cwd: folder.path,
  });
  expect(ended).toEqual({ code: 3, stdout: '', stderr: 'Reached maximum steps limit (1 steps).\n' });
});

test('what is said of the model has lines of at most 100 columns, each of whole words', async () => {
  await using folder = await temporaryFolder();
  const { stderr } = await runCli(['run', 'Hello?', '--model', 'practice', ...NO_SERVERS], { cwd: folder.path });
  const [said = ''] = stderr.split('\n\n');
  expect(said.split('\n').filter((line) => line.length > 100 || line.length < 40)).toEqual([]);
  expect(said.replaceAll('\n', ' ')).toContain('For a real model start a local server, such as `ollama serve`');
});

test('--record names the file of the recording', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Hello.']);
  const ended = await runCli(['run', 'Hello?', '--record', 'run.jsonl', '--base-url', server.baseURL, ...NO_SERVERS], {
    cwd: folder.path,
  });
  expect(ended.stderr).toContain('Recorded in run.jsonl');
  const lines = (await readFile(join(folder.path, 'run.jsonl'), 'utf8')).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).t)).toEqual(expect.arrayContaining(['run', 'start', 'outcome', 'end']));
  expect(existsSync(join(folder.path, '.signalbox'))).toBe(false);
});

test.skipIf(process.platform === 'win32')(
  'of a recording that could not be written to its end it says so',
  async () => {
    await using folder = await temporaryFolder();
    await using server = await startModelServer(() => `${'Hello '.repeat(1000)}.`);
    const run = async (blocks: number) => {
      const args = ['run', 'Hello?', '--record', 'run.jsonl', '--base-url', server.baseURL, ...NO_SERVERS];
      const limited = ['-c', `ulimit -f ${blocks}; exec "$0" "$@"`, process.execPath, ...BUNDLED, MAIN, ...args];
      const ended = promisify(execFile)('bash', limited, { cwd: folder.path }).then(() => null);
      const failed = await ended.catch((error: { readonly code: number; readonly stderr: string }) => error);
      return { code: failed?.code, said: failed?.stderr.trimEnd().split('\n').at(-1) };
    };
    expect(await run(0)).toEqual({ code: 1, said: 'Not recorded: run.jsonl could not be written.' });
    expect(await readFile(join(folder.path, 'run.jsonl'), 'utf8')).toBe('');
    const said = 'Recorded in run.jsonl, without its end: it could not be written.';
    expect(await run(6)).toEqual({ code: 1, said });
    expect(await readFile(join(folder.path, 'run.jsonl'), 'utf8')).toMatch(/^\{"t":"run"/);
  },
);

test.skipIf(process.getuid?.() === 0)(
  'in a folder that cannot be written to it runs all the same, and says so',
  async () => {
    await using folder = await temporaryFolder();
    await using server = await startModelServer(['Hello.']);
    await chmod(folder.path, 0o555);
    const ended = await runCli(['run', 'Hello?', '--base-url', server.baseURL, ...NO_SERVERS], { cwd: folder.path });
    await chmod(folder.path, 0o755);
    expect(ended).toMatchObject({ code: 0, stdout: 'Hello.\n' });
    expect(ended.stderr).toContain('Not recorded: this folder cannot be written to.');
  },
);

test('a file in the place of the folder of recordings is no reason not to run', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Hello.']);
  await writeFile(join(folder.path, '.signalbox'), '');
  const ended = await runCli(['run', 'Hello?', '--base-url', server.baseURL, ...NO_SERVERS], { cwd: folder.path });
  expect(ended).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  expect(ended.stderr).toContain('Not recorded: this folder cannot be written to.');
});

test('--model and --api-key-env reach the server', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Hello.']);
  const args = ['run', 'Hello?', '--base-url', server.baseURL, '-m', 'qwen3', '--api-key-env', 'MY_KEY', ...NO_SERVERS];
  await runCli(args, { cwd: folder.path, env: { MY_KEY: 'sesame' } });
  expect(server.requests[0]?.body.model).toBe('qwen3');
  expect(server.requests[0]?.headers.authorization).toBe('Bearer sesame');
});

test.each(['OPENAI_BASE_URL', 'LEMONADE_BASE_URL'])('%s is used and named', async (variable) => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Hello.']);
  const ended = await runCli(['run', 'Hello?', ...NO_SERVERS], {
    cwd: folder.path,
    env: { [variable]: server.baseURL },
  });
  expect(ended).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  expect(ended.stderr).toContain(`${server.baseURL} (${variable}).`);
});

test('--show-prompts and --show-stats show the prompt and the figures', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(['Hello.']);
  const args = ['run', 'Hello?', '--base-url', server.baseURL, '--show-prompts', '--show-stats', ...NO_SERVERS];
  const { stderr } = await runCli(args, { cwd: folder.path });
  expect(stderr).toContain('You are a helpful assistant.');
  expect(stderr).toContain('12 tokens in, 7 out');
});

test.each([
  ['mcpServers', (memory: object) => ({ mcpServers: { memory } })],
  ['servers beside an empty mcpServers', (memory: object) => ({ mcpServers: {}, servers: { memory } })],
])(
  'the tools of --mcp (%s) replace the file tools, and those that change something are denied where nobody can be asked',
  async (_, file) => {
    await using folder = await temporaryFolder();
    const entry = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/server-memory/dist/index.js');
    const memory = {
      command: process.execPath,
      args: [entry],
      env: { MEMORY_FILE_PATH: join(folder.path, 'memory.jsonl') },
    };
    await writeFile(join(folder.path, 'mcp.json'), JSON.stringify(file(memory)));
    const create = { name: 'memory_create_entities', arguments: { entities: [] } };
    await using server = await startModelServer([{ toolCalls: [create] }, 'It was denied.']);
    const ended = await runCli(['run', 'Remember me', '--mcp', 'mcp.json', '--base-url', server.baseURL], {
      cwd: folder.path,
    });
    expect(ended.code).toBe(0);
    const names = server.requests[0]?.body.tools?.map((tool) => tool.function.name) ?? [];
    expect(names).toContain('memory_read_graph');
    expect(names.filter((name) => name.startsWith('files_'))).toEqual([]);
    expect(ended.stderr).toContain("Tool 'memory_create_entities' requires confirmation but no callback is set");
  },
);

test('a reader that has gone does not make the command fail noisily', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer([{ toolCalls: [LIST] }, 'Hello.']);
  const cli = startCli(['run', 'Hello?', '--base-url', server.baseURL], { cwd: folder.path });
  cli.child.stderr.destroy();
  cli.child.stdout.destroy();
  expect((await cli.ended).code).toBe(0);
});

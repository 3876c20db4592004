import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { parseReply } from '../../src/parsing/index.ts';
import { type CliEnd, runCli, startCli, startInTerminal, temporaryFolder } from './spawn-cli.ts';

/** Parses what is written to the command's standard input. */
async function parse(reply: string | Buffer, ...args: readonly string[]): Promise<CliEnd> {
  await using folder = await temporaryFolder();
  return await runCli(['parse', ...args], { cwd: folder.path }, reply);
}

const BROKEN = `Sure!\n{'thought': "Add", "tool": "add", "tool_args": {"a": 1, "b": 2,}}\n`;
const HERMES = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>';

test('a broken reply in a file: how it was read, what it wants, and each repair below its line, exit code 0', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'reply.txt'), BROKEN);
  const ended = await runCli(['parse', 'reply.txt'], { cwd: folder.path });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout).toBe(
    [
      'Strategy    repaired',
      'Complete    yes',
      'Thought     Add',
      'Call        add {"a":1,"b":2}',
      'Repairs     2',
      '',
      `    2 | {'thought': "Add", "tool": "add", "tool_args": {"a": 1, "b": 2,}}`,
      '      |  ^                                                            ^',
      '  2:2   quotes           a string was not in double quotes',
      '  2:63  extra-comma      an extra comma was removed',
      '',
    ].join('\n'),
  );
});

test('--json prints exactly what parseReply gives, as one line, from a file and from standard input', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'reply.txt'), BROKEN);
  const ended = await runCli(['parse', '--json', 'reply.txt'], { cwd: folder.path });
  expect(ended.stdout.match(/\n/g)).toHaveLength(1);
  expect(JSON.parse(ended.stdout)).toEqual(parseReply(BROKEN));
  expect(await parse(BROKEN, '--json', '-')).toEqual(ended);
});

test('--tools makes calls in the format of a model count, and without it a hint says so', async () => {
  const known = await parse(HERMES, '--tools', 'subtract, add');
  expect(known.stdout).toContain('Strategy    dialect (hermes)\n');
  expect(known.stdout).toContain('Call        add {"a":1}\n');
  expect(known.stdout).not.toContain('Hint');
  const unknown = await parse(HERMES);
  expect(unknown).toMatchObject({ code: 0 });
  expect(unknown.stdout).toContain(`Answer      ${HERMES}\n`);
  expect(unknown.stdout).toContain('Hint        If this is a call');
});

test.each([
  ['an answer', '{"thought": "", "goal": "Greet", "answer": "Hi\\nthere"}', 'Goal        Greet\nAnswer      Hi\n'],
  ['prose', 'It is noon.', 'Answer      It is noon.\n'],
  [
    'a plan',
    '{"plan": [{"tool": "a", "tool_args": {"n": 1}}, {"tool": "b"}]}',
    'Step 1      a {"n":1}\nStep 2      b {}\n',
  ],
  ['a call that is cut off', '{"tool": "add", "tool_args": {"a": 12', 'Complete    no, the text was cut off\n'],
  ['a call that is cut off', '{"tool": "add", "tool_args": {"a": 12', '(cut off: is never run)\n'],
])('%s was recovered: exit code 0', async (_title, reply, shown) => {
  const ended = await parse(reply);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout).toContain(shown);
});

test.each([
  ['an empty text', '', 'Nothing     the text is empty\n'],
  ['white space', ' \n\t\n', 'Nothing     the text is empty\n'],
  ['a thought alone', '{"thought": "Hm."}', 'Nothing     no answer, no call and no plan\n'],
  ['a plan that is none', '{"plan": []}', 'No plan     "plan" is an empty list.'],
  [
    'two calls of equal rank',
    '{"tool": "a", "tool_args": {}} {"tool": "b", "tool_args": {}}',
    'Either      {"tool":"b","tool_args":{}}\nNothing     several readings are equally good',
  ],
])('%s: nothing was recovered, exit code 1', async (_title, reply, shown) => {
  const ended = await parse(reply);
  expect(ended).toMatchObject({ code: 1, stderr: '' });
  expect(ended.stdout).toContain(shown);
  expect((await parse(reply, '--json')).code).toBe(1);
});

test('--schema recovers the value that fits, and lists what was made to fit by its path', async () => {
  await using folder = await temporaryFolder();
  const schema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] };
  await writeFile(join(folder.path, 'schema.json'), JSON.stringify(schema));
  const file = join(folder.path, 'schema.json');
  const fits = await parse("He is {age: '41'}.", '--schema', file);
  expect(fits.code).toBe(0);
  expect(fits.stdout).toContain('Value       {\n              "age": 41\n            }\n');
  expect(fits.stdout).toMatch(/^ {2}1:8 +unquoted-key/m);
  expect(fits.stdout).toMatch(/^ {2}\/age +text-to-number/m);
  const json = await parse("He is {age: '41'}.", '--json', '--schema', file);
  expect(JSON.parse(json.stdout)).toMatchObject({ ok: true, value: { age: 41 }, complete: true });
  const misfit = await parse('{"age": "old"}', '--schema', file);
  expect(misfit.code).toBe(1);
  expect(misfit.stdout).toContain('Issue       /age: expected an integer');
  expect(JSON.parse((await parse('{}', '--json', '--schema', file)).stdout)).toMatchObject({ ok: false });
});

test.each([
  ['a file that is not there', ['none.txt'], "there is no file 'none.txt'."],
  ['a folder', ['folder'], "'folder' is a folder."],
  ['two files', ['small.txt', 'large.log'], 'one file is read, and there are 2.'],
  ['no tool', ['--tools', ' , '], '--tools names no tool'],
  ['tools and a schema', ['--tools', 'a', '--schema', 'list.json'], 'give one of them'],
  ['a schema that is not there', ['--schema', 'none.json'], '--schema: none.json cannot be read (ENOENT)'],
  ['a schema that is no JSON', ['--schema', 'small.txt'], '--schema: small.txt is not JSON'],
  ['a schema that is a list', ['--schema', 'list.json'], '--schema: list.json is not a JSON Schema'],
])('%s is wrong usage, exit code 2', async (_title, args, said) => {
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, 'folder'));
  await writeFile(join(folder.path, 'list.json'), '[]');
  const ended = await runCli(['parse', ...args], { cwd: folder.path });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toContain(said);
  expect(ended.stderr).toContain('Usage: signalbox parse [file]');
});

test('in a terminal the places of repairs are painted: yellow what loses nothing, red a guess', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'reply.txt'), `{"answer": 'a\\q'}`);
  const { stdout } = await startInTerminal(['parse', 'reply.txt'], { cwd: folder.path }).ended;
  expect(stdout).toContain(`\u001b[33m'\u001b[39ma\u001b[31m\\\u001b[39mq'}`);
  expect(stdout).toContain('\u001b[33mquotes');
  expect(stdout).toContain('\u001b[31munknown-escape');
  const env = { NO_COLOR: '1' };
  const plain = await startInTerminal(['parse', 'reply.txt'], { cwd: folder.path, env }).ended;
  expect(plain.stdout).toBe(stripVTControlCharacters(stdout));
  expect((await runCli(['parse', 'reply.txt'], { cwd: folder.path })).stdout).toBe(
    plain.stdout.replaceAll('\r\n', '\n'),
  );
});

test('at a terminal without a file it says how the reply is ended', async () => {
  await using folder = await temporaryFolder();
  const cli = startInTerminal(['parse'], { cwd: folder.path });
  await cli.until('Ctrl-D');
  cli.child.stdin.write('It is noon.\n\u0004');
  const ended = await cli.ended;
  expect(ended.code).toBe(0);
  expect(cli.printed()).toContain('Answer      It is noon.');
});

test('what a terminal would obey is shown, not obeyed, wherever it comes from', async () => {
  const evil = '\u001b]0;owned\u0007 \u009b31m \u202e';
  const reply = `{"thought": "${evil}", "tool": "${evil}", "tool_args": {"${evil}": "${evil}",}}\r`;
  for (const args of [[], ['--json']]) {
    const ended = await parse(reply, ...args);
    expect(ended.code).toBe(0);
    expect(ended.stdout).toContain('owned');
    // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
    expect(ended.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  }
  expect(JSON.parse((await parse(reply, '--json')).stdout)).toEqual(parseReply(reply));
});

test('an input without an end is read as far as the parser looks, and that is said', async () => {
  await using folder = await temporaryFolder();
  const cli = startCli(['parse', '--json'], { cwd: folder.path });
  const more = (): boolean => cli.child.stdin.writable && cli.child.stdin.write('noon '.repeat(20_000));
  cli.child.stdin.on('drain', () => {
    while (more());
  });
  while (more());
  const ended = await cli.ended;
  expect(ended.code).toBe(0);
  expect(JSON.parse(ended.stdout)).toMatchObject({ complete: false, repairs: [{ kind: 'too-long', at: 1_048_576 }] });
});

test('a long line with many repairs is shown in pieces that hold every repair that the parser lists', async () => {
  const reply = `{"thought": "ok", "plan": [${"{'tool': '日本'}, ".repeat(5_000)}]}`;
  const ended = await parse(reply);
  expect(ended.code).toBe(0);
  const listed = [...ended.stdout.matchAll(/^ {2}1:(\d+) +quotes /gm)].map(({ 1: column }) => Number(column) - 1);
  expect(listed).toEqual(parseReply(reply).repairs.map(({ at }) => at));
  expect(listed.length).toBeGreaterThan(100);
  for (const line of ended.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
});

test('bytes that are no UTF-8 and a byte order mark do no harm', async () => {
  const bytes = Buffer.concat([Buffer.from('\ufeff{"answer": "a'), Buffer.from([0xff, 0xfe]), Buffer.from('b"}')]);
  const ended = await parse(bytes, '--json');
  expect(ended.code).toBe(0);
  expect(JSON.parse(ended.stdout)).toMatchObject({ answer: 'a\ufffd\ufffdb' });
});

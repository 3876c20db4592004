import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createAgent, tool } from '../../src/index.ts';
import { fileJournal } from '../../src/journal/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { BUNDLED } from '../support/bundled.ts';
import { runCli, runCliProcess } from './spawn-cli.ts';
import { workedMs } from '../support/steady-time.ts';
import { withoutSums } from '../support/without-sums.ts';

const root = join(import.meta.dirname, '../..');
const projects: string[] = [];
let folder = '';

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-test-')));
  projects.push(folder);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/signalbox'));
  symlinkSync(join(root, 'node_modules/vitest'), join(folder, 'node_modules/vitest'));
});
afterAll(() => {
  for (const project of projects) rmSync(project, { recursive: true, force: true });
});

/** The project's agent, whose tool does this. It is imported anew by each process, and by each test under a name of its own. */
function writeAgent(file: string, execute: string, more = ''): void {
  writeFileSync(
    join(folder, file),
    `import { createAgent, tool } from 'signalbox';
const weather = tool({ name: 'weather', description: 'Tells.', effects: 'none', execute: ${execute} });
${more}
export default (options) => createAgent({ tools: [weather], ...options });`,
  );
}

/** A run of the same agent in production, kept in the folder. */
async function production(execute: () => unknown, replies: Parameters<typeof scriptedModel>[0]): Promise<string> {
  const weather = tool({ name: 'weather', description: 'Tells.', effects: 'none', execute });
  const journal = fileJournal(join(folder, '.signalbox/runs'));
  const { runId } = await createAgent({ tools: [weather], journal, silent: true, model: scriptedModel(replies) }).run(
    '?',
  );
  return runId;
}

const asks = { content: '', toolCalls: [{ name: 'weather', arguments: { city: 'austin' } }] };
const throws = "() => { throw new Error('no such city') }";

/**
 * Runs the tests of the project with node:test or vitest: whether they passed, and what was printed. `shared`: in one
 * process, which is less work than one for each file and the runner.
 */
function runTests(runner: 'node' | 'shared' | 'vitest'): { readonly passed: boolean; readonly printed: string } {
  const [sources, env] = [
    [...BUNDLED, '--conditions=@signalbox/source'],
    { ...process.env, NODE_TEST_CONTEXT: undefined },
  ];
  const tests = readdirSync(join(folder, 'test')).filter((file) => /\.test\.m?ts$/.test(file));
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    // Node loads our source, as it does the package: Vite would transform all of it.
    `export default { test: { experimental: { viteModuleRunner: false }, execArgv: ${JSON.stringify(sources)} } };`,
  );
  const program =
    runner === 'vitest'
      ? [...sources, 'node_modules/vitest/vitest.mjs', 'run']
      : [
          ...sources,
          '--test',
          ...(runner === 'shared' ? ['--test-isolation=none'] : []),
          ...tests.map((file) => `test/${file}`),
        ];
  const { status, stdout, stderr } = spawnSync(process.execPath, program, { cwd: folder, encoding: 'utf8', env });
  return { passed: status === 0, printed: `${stdout}${stderr}` };
}

test('a run whose tool failed becomes a failing node test, which passes unedited once the tool is repaired', async () => {
  const runId = await production(() => {
    throw new Error('no such city');
  }, [asks, 'I do not know.', 'Never.']);
  writeAgent('agent.ts', throws);
  const began = workedMs();
  const { code, stdout, stderr } = await runCli(['test', runId, '--agent', 'agent.ts'], { cwd: folder });
  expect([code, stderr]).toEqual([0, '']);
  expect(workedMs() - began).toBeLessThan(5_000);
  expect(stdout).toContain("'weather' failed (record");
  const files = readdirSync(join(folder, 'test')).toSorted();
  expect(files).toEqual([`weather-${runId}.jsonl`, `weather-${runId}.test.ts`]);
  // Nothing stands in it of what came after.
  const kept = readFileSync(join(folder, 'test', files[0] ?? ''), 'utf8');
  expect(kept).not.toContain('no such city');
  expect(kept.trim().split('\n').at(-1)).toContain('"outcome"');
  const failing = runTests('node');
  expect([failing.passed, failing.printed]).toEqual([false, expect.stringContaining("'weather' does not fail")]);
  writeAgent('agent.ts', '({ city }) => ({ city, celsius: 31 })');
  expect(runTests('node').passed).toBe(true);
});

test('nothing in a recording that somebody else has made is run as code of its test', async () => {
  const runId = await production(() => {
    throw new Error("`${globalThis.bad}` */ ');\u2028 globalThis.bad = 1;");
  }, [asks, 'I do not know.']);
  const [head = '', ...lines] = withoutSums(
    readFileSync(join(folder, '.signalbox/runs', `${runId}.jsonl`), 'utf8'),
  ).split('\n');
  const named = { ...JSON.parse(head), runId: "one\n  console.log('CODE OF A STRANGER');\r\u2028//" };
  writeFileSync(join(folder, 'sent.jsonl'), [JSON.stringify(named), ...lines].join('\n'));
  writeAgent('agent.ts', '({ city }) => ({ city, celsius: 31 })');
  const { code, stderr } = await runCli(['test', 'sent.jsonl', '--agent', 'agent.ts'], { cwd: folder });
  expect([code, stderr]).toEqual([1, expect.stringContaining('It does not fail')]);
  const { passed, printed } = runTests('node');
  expect([passed, printed]).toEqual([true, expect.not.stringMatching(/^CODE OF A STRANGER/m)]);
});

test('what else went wrong in a run, or was recovered from, neither fails its test nor passes it', async () => {
  const parts = (execute: string): string => `
import { recover, tool as make } from 'signalbox';
const substituted = make({
  name: 'substituted',
  description: 'S.',
  inputSchema: { type: 'object', required: ['n'] },
  execute: ${execute},
  onError: { deserializationError: recover.sanitize(() => ({ n: 1 })), executionError: recover.substitute(() => 1) },
});
const checked = make({ name: 'checked', description: 'C.', validateArgs: ${execute}, execute: () => 2 });
const below = createAgent({ name: 'below', tools: [weather], model: scriptedModel([${JSON.stringify(asks)}, 'No.']), silent: true });`;
  const agent = (execute: string): void => {
    const text = `import { createAgent, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';
const weather = tool({ name: 'weather', description: 'Tells.', effects: 'none', execute: ${execute} });
${parts(execute)}
export default (options) => createAgent({ tools: [weather, substituted, checked], children: [below], ...options });`;
    writeFileSync(join(folder, 'agent.ts'), text);
  };
  agent(throws);
  writeFileSync(
    join(folder, 'production.ts'),
    `import make from './agent.ts';
import { scriptedModel } from 'signalbox/testing';
import { fileJournal } from 'signalbox/journal';
const calls = [['nosuch', 'weather'], ['nosuch', 'substituted'], ['nosuch', 'checked'], ['nosuch', 'below']];
for (const names of calls) {
  const toolCalls = names.map((name) => ({ name, arguments: name === 'below' ? { task: 'Ask.' } : {} }));
  const model = scriptedModel([{ content: '', toolCalls }, 'Done.']);
  console.log((await make({ model, journal: fileJournal('.signalbox/runs'), silent: true }).run('?')).runId);
}`,
  );
  const program = [...BUNDLED, '--conditions=@signalbox/source', 'production.ts'];
  const runIds = spawnSync(process.execPath, program, { cwd: folder, encoding: 'utf8' }).stdout.trim().split('\n');
  expect(runIds).toHaveLength(4);
  for (const runId of runIds) {
    const { code, stdout, stderr } = await runCli(['test', runId, '--agent', 'agent.ts'], { cwd: folder });
    expect([code, stderr], stdout).toEqual([0, '']);
  }
  const failing = runTests('shared');
  expect([failing.passed, failing.printed]).toEqual([false, expect.stringContaining('fail 4')]);
  agent('() => undefined');
  const mended = runTests('shared');
  expect([mended.passed, mended.printed]).toEqual([true, expect.stringContaining('pass 4')]);
});

/** Writes an agent with an MCP server that reads this folder, or with an agent below that has one; runs it in production. */
function withServer(isBelow: boolean): string {
  const server = join(root, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
  const files = { command: process.execPath, args: [server, folder], policy: 'allow' };
  const read = {
    content: '',
    toolCalls: [{ name: 'files_read_text_file', arguments: { path: join(folder, 'note') } }],
  };
  const ask = { content: '', toolCalls: [{ name: 'below', arguments: { task: 'Read.' } }] };
  const reader = `createAgent({ name: 'below', silent: true, model: scriptedModel([${JSON.stringify(read)}, 'No.']), mcpServers: { files } })`;
  writeFileSync(
    join(folder, 'agent.ts'),
    `import { createAgent } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';
const files = ${JSON.stringify(files)};
const below = ${isBelow ? `[${reader}]` : '[]'};
export default (options) => createAgent({ ${isBelow ? 'children: below' : 'mcpServers: { files }'}, ...options });
export const close = () => Promise.all(below.map((agent) => agent.close()));`,
  );
  writeFileSync(
    join(folder, 'production.ts'),
    `import make, { close } from './agent.ts';
import { scriptedModel } from 'signalbox/testing';
import { fileJournal } from 'signalbox/journal';
const model = scriptedModel([${JSON.stringify(isBelow ? ask : read)}, 'No.']);
const agent = make({ model, journal: fileJournal('.signalbox/runs'), silent: true });
console.log((await agent.run('Read.')).runId);
await agent.close();
await close();`,
  );
  const program = [...BUNDLED, '--conditions=@signalbox/source', 'production.ts'];
  return spawnSync(process.execPath, program, { cwd: folder, encoding: 'utf8' }).stdout.trim();
}

test('a call of an MCP server that failed is made again on the server', async () => {
  const runId = withServer(false);
  const { code, stdout, stderr } = await runCli(['test', runId, '--agent', 'agent.ts'], { cwd: folder });
  expect([code, stderr, stdout]).toEqual([0, '', expect.stringContaining("'files_read_text_file' failed")]);
  const failing = runTests('shared');
  expect([failing.passed, failing.printed]).toEqual([false, expect.stringContaining('ENOENT')]);
  writeFileSync(join(folder, 'note'), 'hello');
  const mended = runTests('shared');
  expect([mended.passed, mended.printed]).toEqual([true, expect.stringContaining('pass 1')]);
});

test('a call of an MCP server of an agent below becomes no test, which could never pass', async () => {
  const runId = withServer(true);
  const { code, stdout, stderr } = await runCli(['test', runId, '--agent', 'agent.ts'], { cwd: folder });
  expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('of an MCP server of an agent below')]);
  expect(readdirSync(folder)).not.toContain('test');
});

test('a run that was stopped in a loop becomes a vitest test for the call that gave nothing new', async () => {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', devDependencies: { vitest: '*' } }));
  // What it gave is a part of what it should give, and another call, which is replayed, gave the same.
  const other = { content: '', toolCalls: [{ name: 'weather', arguments: { city: 'austin', unit: 'f' } }] };
  const runId = await production(() => ({ city: 'austin' }), [other, asks, asks, asks, asks, asks]);
  writeAgent('agent.ts', "() => ({ city: 'austin' })");
  const { code, stdout } = await runCli(['test', runId, '--agent', 'agent.ts'], { cwd: folder });
  expect([code, stdout]).toEqual([0, expect.stringContaining('again and again')]);
  const failing = runTests('vitest');
  expect([failing.passed, failing.printed]).toEqual([false, expect.stringContaining("'weather' gives something else")]);
  writeAgent('agent.ts', "() => ({ city: 'austin', celsius: 31 })");
  const mended = runTests('vitest');
  expect([mended.passed, mended.printed]).toEqual([true, expect.stringContaining('1 passed')]);
});

test('a failing seed becomes a test of its smallest simulation', async () => {
  const counts = (once: string): string =>
    `let ran = 0;
export const simulation = { begin: () => { ran = 0; }, check: () => ran <= 1 || 'it ran twice', model: [${JSON.stringify(asks)}, 'Done.'] };
${once}`;
  writeAgent('agent.ts', '() => ++ran', counts(''));
  const at = ['--agent', 'agent.ts'];
  // In a process of its own: a simulation looks at all that is left in it, of other tests as well.
  // Like the runner of tests, and unlike a built package that may be there, it reads our source.
  const here = { cwd: folder, env: { NODE_OPTIONS: '--conditions=@signalbox/source' } };
  const found = await runCliProcess(['simulate', 'agent.ts', '--seeds', '40', '--json'], here);
  expect(found.code, found.stderr).toBe(1);
  const { seed } = JSON.parse(found.stdout).failures[0];
  const { code, stdout, stderr } = await runCliProcess(['test', String(seed), ...at], here);
  expect([code, stderr, stdout], found.stdout).toEqual([0, '', expect.stringContaining('check: it ran twice')]);
  const text = readFileSync(join(folder, `test/seed-${seed}.test.ts`), 'utf8');
  expect(text).toMatch(/only: \['[^,]*'(, '[^,]*')?\],/);
  const failing = runTests('shared');
  expect([failing.passed, failing.printed]).toEqual([false, expect.stringContaining('it ran twice')]);
  expect(failing.printed).not.toContain('"t":"run"');
  writeAgent('agent.ts', '() => (ran = 1)', counts(''));
  expect(runTests('shared').passed).toBe(true);
});

test('a seed that fails only once becomes a test of which nobody says that it fails', async () => {
  const simulation = `let runs = 0;
export const simulation = { faults: [], model: ['Done.'], check: () => ++runs > 1 || 'the first one' };`;
  writeAgent('agent.ts', '() => 1', simulation);
  const { code, stdout, stderr } = await runCli(['test', '1', '--agent', 'agent.ts'], { cwd: folder });
  expect([code, stdout]).toEqual([1, expect.stringContaining('check: the first one')]);
  expect(stdout).not.toContain('It fails now');
  expect(stderr).toContain('It does not fail');
});

test('a tool that needs a context gets it from the module, as in simulations', async () => {
  const runId = await production(() => Promise.reject(new Error('no such city')), [asks, 'No.']);
  const simulation = 'export const simulation = { context: { user: "Ada" } };';
  writeAgent('agent.ts', "(_, { context }) => { throw new Error('not for ' + context.user); }", simulation);
  const { code, stderr } = await runCli(['test', runId, '--agent', 'agent.ts'], { cwd: folder });
  expect([code, stderr]).toEqual([0, '']);
  const failing = runTests('shared');
  expect([failing.passed, failing.printed]).toEqual([false, expect.stringContaining('not for Ada')]);
  writeAgent('agent.ts', '(_, { context }) => context.user', simulation);
  expect(runTests('shared').passed).toBe(true);
  // The command checks with the same.
  writeAgent('mended.ts', '(_, { context }) => context.user', simulation);
  const again = await runCli(['test', runId, '--agent', 'mended.ts', '--out', 'again'], { cwd: folder });
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('It does not fail')]);
});

test('a call that had a secret in its arguments becomes no test, which could never pass', async () => {
  writeAgent('agent.ts', throws);
  const asksKey = { content: '', toolCalls: [{ name: 'weather', arguments: { key: `sk-proj-${'a1B2'.repeat(12)}` } }] };
  const runId = await production(() => Promise.reject(new Error('x')), [asksKey, 'No.']);
  const { code, stderr } = await runCli(['test', runId, '--agent', 'agent.ts'], { cwd: folder });
  expect([code, stderr]).toEqual([1, expect.stringContaining("'weather' was called with «secret:1», and a recording")]);
  expect(readdirSync(folder)).not.toContain('test');
});

test('in a package of CommonJS the test for node:test is a module by its name', async () => {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'commonjs' }));
  const runId = await production(() => Promise.reject(new Error('x')), [asks, 'No.']);
  const agent = (execute: string): void =>
    writeFileSync(
      join(folder, 'agent.js'),
      `const { createAgent, tool } = require('signalbox');
const weather = tool({ name: 'weather', description: 'Tells.', effects: 'none', execute: ${execute} });
module.exports = (options) => createAgent({ tools: [weather], ...options });`,
    );
  agent(throws);
  const { code, stdout } = await runCli(['test', runId, '--agent', 'agent.js'], { cwd: folder });
  expect([code, stdout]).toEqual([0, expect.stringContaining(`weather-${runId}.test.mts`)]);
  const failing = runTests('shared');
  expect([failing.passed, failing.printed]).toEqual([false, expect.stringContaining("'weather' does not fail")]);
  agent('() => 31');
  const mended = runTests('shared');
  expect([mended.passed, mended.printed]).toEqual([true, expect.stringContaining('pass 1')]);
  const vitest = await runCli(['test', runId, '--agent', 'agent.js', '--runner', 'vitest', '--out', 'other'], {
    cwd: folder,
  });
  expect(vitest.stdout).toContain(`weather-${runId}.test.ts`);
});

test("says why a tool's own check refused the arguments", async () => {
  writeAgent('agent.ts', '() => 31');
  const check = () => Promise.reject(new Error('no shouting'));
  const weather = tool({ name: 'weather', description: 'Tells.', validateArgs: check, execute: () => 31 });
  const journal = fileJournal(join(folder, '.signalbox/runs'));
  const { runId } = await createAgent({
    tools: [weather],
    journal,
    silent: true,
    model: scriptedModel([asks, 'No.']),
  }).run('?');
  const { stdout } = await runCli(['test', runId, '--agent', 'agent.ts'], { cwd: folder });
  expect(stdout).toMatch(/'weather' failed \(record \d+\): no shouting/);
});

test.each(['0', '99999999999999999999'])('%s is no seed', async (seed) => {
  writeAgent('agent.ts', '() => 31');
  const { code, stderr } = await runCli(['test', seed, '--agent', 'agent.ts'], { cwd: folder });
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^signalbox test: there is no seed \d+: they are whole numbers/),
  ]);
});

test('says what cannot be made a test, and writes nothing then', async () => {
  writeFileSync(join(folder, 'named.ts'), 'export const make = () => null;');
  const named = await runCli(['test', '1', '--agent', 'named.ts'], { cwd: folder });
  expect([named.code, named.stderr]).toEqual([2, expect.stringContaining('of another name is named with --export')]);
  writeAgent('agent.ts', '() => 31');
  const fine = await production(() => 31, [asks, '31 °C.']);
  const nothing = await runCli(['test', fine, '--agent', 'agent.ts'], { cwd: folder });
  expect([nothing.code, nothing.stderr]).toEqual([
    1,
    expect.stringContaining('no tool failed or was called in a loop'),
  ]);
  const seed = await runCli(['test', '1', '--agent', 'agent.ts', '--faults', 'none'], { cwd: folder });
  expect([seed.code, seed.stderr]).toEqual([1, expect.stringContaining('Seed 1 does not fail.')]);
  const noAgent = await runCli(['test', fine], { cwd: folder });
  expect([noAgent.code, noAgent.stderr]).toEqual([
    2,
    expect.stringContaining('the module with the agent is missing: --agent <file>.'),
  ]);
  writeFileSync(
    join(folder, 'secretive.ts'),
    `import { createAgent } from 'signalbox';
export default (options) => createAgent({ secrets: ['austin'], ...options });`,
  );
  const broken = await production(() => Promise.reject(new Error('x')), [asks, 'No.']);
  const secret = await runCli(['test', broken, '--agent', 'secretive.ts'], { cwd: folder });
  expect([secret.code, secret.stderr]).toEqual([2, expect.stringContaining('secret number 1')]);
  expect(readdirSync(folder)).not.toContain('test');
});

test('writes no test whose title would hold a secret: what a check says is the title', async () => {
  writeFileSync(
    join(folder, 'checked.ts'),
    `import { createAgent } from 'signalbox';
export const simulation = { check: () => { throw new Error('The answer holds hunter2-hunter2.'); } };
export default (options) => createAgent({ secrets: ['hunter2-hunter2'], ...options });`,
  );
  const { code, stdout, stderr } = await runCli(['test', '1', '--agent', 'checked.ts'], { cwd: folder });
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('the test would hold secret number 1')]);
  expect(readdirSync(folder)).not.toContain('test');
});

test('a module in a folder whose name has an apostrophe is imported all the same', async () => {
  mkdirSync(join(folder, "bob's"));
  writeAgent("bob's/agent.ts", throws);
  const runId = await production(() => Promise.reject(new Error('no such city')), [asks, 'No.']);
  const { code } = await runCli(['test', runId, '--agent', "bob's/agent.ts", '--runner', 'node'], { cwd: folder });
  expect(code).toBe(0);
  expect(runTests('shared')).toMatchObject({ passed: false, printed: expect.stringContaining('no such city') });
});

test.each([
  ['a module whose path means something else in a URL', 'a#b?c%20d.ts', 'default'],
  ['an export whose name is no identifier', 'named.ts', 'my agent'],
])('a written test imports %s', async (_what, file, exported) => {
  const named = `function made(options) { return createAgent({ tools: [weather], ...options }); }
export { made as 'my agent' };`;
  writeAgent(file, throws, named);
  const runId = await production(() => Promise.reject(new Error('no such city')), [asks, 'No.']);
  const given = ['--agent', file, '--export', exported, '--runner', 'node'];
  expect(await runCli(['test', runId, ...given], { cwd: folder })).toMatchObject({ code: 0 });
  expect(runTests('shared')).toMatchObject({ passed: false, printed: expect.stringContaining('no such city') });
});

test('says when what failed does not fail any more', async () => {
  writeAgent('agent.ts', '() => 31');
  const runId = await production(() => Promise.reject(new Error('x')), [asks, 'No.']);
  const { code, stderr } = await runCli(['test', runId, '--agent', 'agent.ts'], { cwd: folder });
  expect([code, stderr]).toEqual([1, expect.stringContaining('It does not fail')]);
});

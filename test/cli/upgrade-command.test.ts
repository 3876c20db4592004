import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';
import { withoutSums } from '../support/without-sums.ts';
import { runCli, temporaryFolder } from './spawn-cli.ts';

const signalbox = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href;

const EUROS = "{ type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] }";
const PAY = `tool({ name: 'pay', description: 'Pays.', policy: 'confirm', inputSchema: ${EUROS}, execute: () => 'paid' })`;
const LOOK = "tool({ name: 'look', description: 'Looks.', effects: 'none', execute: () => 'seen' })";

/** The new code: a module with the options of its agent as source text. */
function module(folder: string, options: string): string {
  const file = join(folder, `agent-${readdirSync(folder).length}.ts`);
  writeFileSync(
    file,
    `import { createAgent, skill, tool } from '${signalbox}';
export default createAgent({ name: 'payer', version: '1', silent: true, ${options} });`,
  );
  return file;
}

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  policy: 'confirm',
  inputSchema: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
  execute: () => 'paid',
});
const look = tool({ name: 'look', description: 'Looks.', effects: 'none', execute: () => 'seen' });

/** The old code: a run that waits for an approval of `pay`, after `look` has run. */
async function parked(runs: string, more: AgentOptions = {}): Promise<string> {
  const model = scriptedModel([calls(['look', {}]), calls(['pay', { euros: 7 }])]);
  const journal = runs.endsWith('.sqlite') ? sqliteJournal(runs) : fileJournal(runs);
  const options = { name: 'payer', version: '1', instructions: 'Pay.', tools: [pay, look], silent: true, model };
  const agent = createAgent({ ...options, journal, ...more });
  const run = await agent.run('Pay 7 euros.', { park: true });
  expect(run.reason).toBe('parked');
  return run.runId;
}

async function check(folder: string, options: string, ...args: readonly string[]) {
  const found = ['upgrade', '--check', module(folder, options), '--journal', join(folder, 'runs'), ...args];
  return runCli(found, { cwd: folder });
}

describe('upgrade --check says of a parked run', () => {
  test.each([
    ['compatible', "instructions: 'Pay.'", [PAY, LOOK], []],
    ['compatible', "instructions: 'Pay.', maxSteps: 3", [PAY, LOOK], []],
    ['migrates', "instructions: 'Pay at once.'", [PAY, LOOK], ['the instructions differ']],
    ['migrates', "instructions: 'Pay.', version: '2'", [PAY, LOOK], ["version '1' is '2' now"]],
    [
      'migrates',
      "instructions: 'Pay.'",
      [PAY.replace("'confirm'", "'deny'"), LOOK.replace("'look'", "'see'").replace('Looks', 'Sees')],
      ["tool 'pay': policy 'confirm' is 'deny' now", "tool 'look' is gone", "tool 'see' is new"],
    ],
    [
      'migrates',
      "instructions: 'Pay.'",
      [PAY.replace('euros: {', 'note: {}, euros: {').replace('Pays.', 'Pays bills.'), LOOK],
      ["tool 'pay': description, inputSchema changed"],
    ],
    [
      'must finish on the old version',
      "instructions: 'Pay.'",
      [LOOK],
      ["call c2 of the tool 'pay' is open, and the tool is gone", "tool 'pay' is gone"],
    ],
    [
      'must finish on the old version',
      "instructions: 'Pay now.'",
      [PAY.replaceAll('euros', 'cents'), LOOK],
      [
        expect.stringMatching(/^call c2 of the tool 'pay' is open, and its schema no longer takes the recorded/),
        'the instructions differ',
        "tool 'pay': inputSchema changed",
      ],
    ],
  ])('%s, with %s', async (verdict, options, tools, differences) => {
    await using folder = await temporaryFolder();
    const runId = await parked(join(folder.path, 'runs'));
    const before = readFileSync(join(folder.path, 'runs', `${runId}.jsonl`), 'utf8');
    const { code, stdout, stderr } = await check(folder.path, `tools: [${tools.join(', ')}], ${options}`, '--json');
    expect(stderr).toBe('');
    const ok = verdict !== 'must finish on the old version';
    expect(JSON.parse(stdout)).toEqual({
      ok,
      runs: [{ runId, agent: 'payer', state: 'waiting', verdict, differences }],
    });
    expect(code).toBe(ok ? 0 : 1);
    expect(readFileSync(join(folder.path, 'runs', `${runId}.jsonl`), 'utf8')).toBe(before);
  });
});

/** Lets the recording of a run say something else, as if another version had written it. */
function rewrite(file: string, change: (line: string, index: number) => string): void {
  writeFileSync(file, withoutSums(readFileSync(file, 'utf8')).split('\n').map(change).join('\n'));
}

const SAME = `tools: [${PAY}, ${LOOK}], instructions: 'Pay.'`;

test('takes runs of other machines that play them alike, and refuses what they play differently', async () => {
  await using folder = await temporaryFolder();
  const runs = join(folder.path, 'runs');
  const alike = join(runs, `${await parked(runs)}.jsonl`);
  rewrite(alike, (line) => line.replace(/"hash":"[^"]+"/, '"hash":"0000"'));
  const first = await check(folder.path, SAME);
  expect(first.stdout).toMatch(/^\S+ {2}payer {2}migrates: the machines are others, and play the run alike\n/);
  expect([first.code, first.stdout]).toEqual([0, expect.stringContaining('1 run checked: all can continue.')]);

  rewrite(alike, (line) => line.replace('"name":"callTool"', '"name":"callOther"'));
  const second = await check(folder.path, SAME);
  expect(second.stdout).toMatch(
    /must finish on the old version: the machines play record \d+ differently: recorded is/,
  );
  expect([second.code, second.stdout]).toEqual([1, expect.stringContaining('1 must finish on the old version.')]);
});

test('checks interrupted runs, leaves ended ones and those of other agents out where asked, and needs every agent', async () => {
  await using folder = await temporaryFolder();
  const runs = join(folder.path, 'runs');
  const ended = await parked(runs, { name: 'ended', model: scriptedModel(['Done.']), confirm: () => 'deny' }).catch(
    () => 'ended',
  );
  expect(ended).toBe('ended');
  await parked(runs, { name: 'other' });
  const cut = join(runs, `${await parked(runs)}.jsonl`);
  const lines = readFileSync(cut, 'utf8').split('\n');
  const called = lines.findIndex((line) => line.includes('"name":"callTool"'));
  writeFileSync(cut, `${lines.slice(0, called + 1).join('\n')}\n`);

  const found = await check(folder.path, `tools: [${PAY}], instructions: 'Pay.'`, '--json', '--agent', 'payer');
  expect(JSON.parse(found.stdout)).toMatchObject({
    ok: false,
    runs: [
      {
        state: 'interrupted',
        differences: ["call c1 of the tool 'look' is open, and the tool is gone", expect.any(String)],
      },
    ],
  });
  const all = await check(folder.path, SAME, '--json');
  expect(all.code).toBe(1);
  expect(JSON.parse(all.stdout)).toMatchObject({
    runs: [
      { agent: 'payer', verdict: 'compatible' },
      { agent: 'other', differences: ["the module exports no agent 'other'"] },
    ],
  });
});

test('looks at calls of agents below, in a SQLite file too', async () => {
  await using folder = await temporaryFolder();
  const child = createAgent({
    name: 'clerk',
    tools: [pay],
    silent: true,
    confirm: 'wait',
    model: scriptedModel([calls(['pay', { euros: 7 }])]),
  });
  const model = scriptedModel([calls(['clerk', { task: 'Pay 7 euros.' }])]);
  await parked(join(folder.path, 'runs'), { children: [child], model });
  await parked(join(folder.path, 'runs.sqlite'), {
    children: [child],
    model: scriptedModel([calls(['pay', { euros: 1 }])]),
  });
  const below = (tools: string): string =>
    `${SAME}, children: [createAgent({ name: 'clerk', confirm: 'wait', tools: [${tools}], silent: true })]`;
  const same = await check(folder.path, below(PAY), '--json');
  expect(JSON.parse(same.stdout)).toMatchObject({ ok: true, runs: [{ verdict: 'compatible', differences: [] }] });
  const gone = await check(folder.path, below(LOOK), '--json');
  expect(JSON.parse(gone.stdout)).toMatchObject({
    ok: false,
    runs: [
      {
        differences: [
          "call c1.1 of the tool 'pay' is open, and the tool is gone",
          "agent 'clerk': tool 'pay' is gone",
          "agent 'clerk': tool 'look' is new",
        ],
      },
    ],
  });
  // The clerk's tool is gone as well, and no call of it is open.
  const other = await check(folder.path, below(LOOK), '--json', '--journal', join(folder.path, 'runs.sqlite'));
  expect(JSON.parse(other.stdout)).toMatchObject({ ok: true, runs: [{ verdict: 'migrates' }] });
});

test('a prompt by code is told apart by the version alone', async () => {
  await using folder = await temporaryFolder();
  await parked(join(folder.path, 'runs'), { instructions: () => 'Pay.' });
  const asked = (version: string) =>
    check(folder.path, `tools: [${PAY}, ${LOOK}], instructions: () => 'Wait.', version: ${version}`);
  expect((await asked("'1'")).stdout).toContain('payer  compatible\n');
  expect((await asked("'2'")).stdout).toContain("migrates: version '1' is '2' now, and its prompt is made by code\n");
});

test('refuses wrong usage, and a recording that cannot be read is no compatible run', async () => {
  await using folder = await temporaryFolder();
  const runs = join(folder.path, 'runs');
  const file = module(folder.path, SAME);
  const said = async (...args: readonly string[]) => {
    const { code, stderr } = await runCli(['upgrade', ...args], { cwd: folder.path });
    return [code, stderr.split('\n')[0]];
  };
  expect(await said(file, '--journal', runs)).toEqual([2, "signalbox upgrade: it only checks: give '--check'."]);
  expect(await said('--check', file)).toEqual([
    2,
    "signalbox upgrade: '--journal' is missing: where the runs are kept.",
  ]);
  expect(await said('--check', '--journal', runs)).toEqual([
    2,
    'signalbox upgrade: the module with the agent is missing.',
  ]);
  expect(await said('--check', file, '--journal', 'nowhere')).toEqual([
    2,
    "signalbox upgrade: --journal: there is no folder or file 'nowhere'.",
  ]);
  const broken = join(runs, `${await parked(runs)}.jsonl`);
  rewrite(broken, (line, index) => (index === 0 ? line.replace('"policy":"confirm"', '"policy":"open"') : line));
  const { code, stdout } = await check(folder.path, SAME);
  expect([code, stdout]).toEqual([1, expect.stringContaining('is nothing that Signalbox writes')]);
});

test('a damaged run of a database must finish on the old version, and the others are still checked', async () => {
  await using folder = await temporaryFolder();
  const runs = join(folder.path, 'runs.sqlite');
  const [whole, damaged] = [await parked(runs), await parked(runs)];
  const database = new DatabaseSync(runs);
  database
    .prepare("update lines set line = replace(line, 'seen', 'SEEN') where run = (select id from runs where run_id = ?)")
    .run(damaged);
  database.close();
  const { code, stdout } = await check(folder.path, SAME, '--journal', runs);
  expect([code, stdout.split('\n').toSorted()]).toEqual([
    1,
    [
      '',
      `${whole}  payer  compatible`,
      expect.stringMatching(`^${damaged}  payer  must finish on the old version: Line 5 .* checksum`),
      '2 runs checked: 1 must finish on the old version.',
    ],
  ]);
});

test('looks at calls of the turn that wait for their place, and at the schema of the answer', async () => {
  await using folder = await temporaryFolder();
  const model = scriptedModel([calls(['pay', { euros: 7 }], ['look', {}])]);
  const outputSchema = { type: 'object', properties: { paid: { type: 'boolean' } } };
  const options = { name: 'payer', version: '1', instructions: 'Pay.', tools: [pay, look], silent: true, model };
  const journal = fileJournal(join(folder.path, 'runs'));
  const agent = createAgent({ ...options, journal, parallelToolCalls: false, outputSchema, outputMode: 'prompt' });
  await agent.run('Pay.', { park: true });
  const answer = (schema: string): string => `outputMode: 'prompt', outputSchema: ${schema}`;
  const same = answer(JSON.stringify(outputSchema));
  expect((await check(folder.path, `${SAME}, ${same}`)).stdout).toContain('payer  compatible\n');
  expect((await check(folder.path, `${SAME}, ${answer('{}')}`)).stdout).toContain(
    'payer  migrates: the schema of the answer differs\n',
  );
  const gone = await check(folder.path, `tools: [${PAY}], instructions: 'Pay.', ${same}`);
  expect(gone.stdout).toContain("call c2 of the tool 'look' is open, and the tool is gone; tool 'look' is gone\n");
  expect(gone.code).toBe(1);
});

test('refuses a module with two agents of one name', async () => {
  await using folder = await temporaryFolder();
  await parked(join(folder.path, 'runs'));
  const file = module(folder.path, SAME);
  writeFileSync(
    file,
    `${readFileSync(file, 'utf8')}\nexport const second = createAgent({ name: 'payer', silent: true });`,
  );
  const args = ['upgrade', '--check', file, '--journal', join(folder.path, 'runs')];
  const { code, stderr } = await runCli(args, { cwd: folder.path });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining("exports several agents named 'payer'. Name one with --export."),
  ]);
  expect((await runCli([...args, '--export', 'default'], { cwd: folder.path })).stdout).toContain('compatible');
});

test('a schema that one run was given is no difference, nor are arguments that never fitted; a skill is', async () => {
  await using folder = await temporaryFolder();
  const model = scriptedModel([calls(['pay', { euros: 7 }], ['pay', { euros: 'many' }])]);
  const options = { name: 'payer', version: '1', instructions: 'Pay.', tools: [pay, look], silent: true, model };
  const journal = fileJournal(join(folder.path, 'runs'));
  const agent = createAgent({ ...options, journal, parallelToolCalls: false });
  await agent.run('Pay.', { park: true, outputSchema: { type: 'object' } });
  expect((await check(folder.path, SAME)).stdout).toContain('payer  compatible\n');
  // The second call is refused by either schema.
  const stricter = PAY.replace("{ type: 'number' }", "{ type: 'number', maximum: 9 }");
  const changed = await check(folder.path, `tools: [${stricter}, ${LOOK}], instructions: 'Pay.'`);
  expect([changed.code, changed.stdout]).toEqual([
    0,
    expect.stringContaining("migrates: tool 'pay': inputSchema changed\n"),
  ]);
  const skilled = await check(
    folder.path,
    `tools: [${PAY}], instructions: 'Pay.', skills: [skill({ name: 'eyes', instructions: 'Look.', tools: [${LOOK}] })]`,
  );
  expect(skilled.stdout).toContain("migrates: skill 'eyes' is new\n");
});

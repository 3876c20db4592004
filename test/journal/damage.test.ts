import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { transitions } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { withoutSums } from '../support/without-sums.ts';
import { answered, interrupted, recordsOf, taken } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

const NOTE = { t: 'note', at: 1, note: { said: 'after' } } as const;
const large = 'x'.repeat(9000);

/** A run that ended, in a file; its lines, and how to change them. */
async function runIn(folder: string) {
  const store = fileJournal(folder);
  await answered(store, 'run', { tools: [fakeTool('clock', [{ large }])] });
  const path = join(folder, 'run.jsonl');
  const text = readFileSync(path, 'utf8');
  return {
    store,
    path,
    text,
    lines: text.trimEnd().split('\n'),
    write: (changed: string) => writeFileSync(path, changed),
  };
}

test('one character that is another is found, with the number of its line, wherever it is looked at', async () => {
  await using folder = await temporaryFolder();
  const { store, text, write } = await runIn(folder.path);
  write(text.replace('What time', 'What tame'));
  const found = { code: 'bad-recording', line: 1, message: expect.stringContaining('does not fit its checksum') };
  await expect(store.read?.('run')).rejects.toMatchObject(found);
  await expect(store.take?.('run')).rejects.toMatchObject(found);
  const agent = createAgent({ model: scriptedModel([]), journal: store, silent: true });
  await expect(agent.resume('run')).rejects.toMatchObject(found);
  expect(() => transitions(readFileSync(join(folder.path, 'run.jsonl'), 'utf8'))).toThrow(/Line 1 .* checksum/);
});

test('a line that was lost, moved or has lost its checksum is found', async () => {
  await using folder = await temporaryFolder();
  const { store, lines, write } = await runIn(folder.path);
  const messageOf = async (changed: readonly string[]): Promise<string> => {
    write(`${changed.join('\n')}\n`);
    return (await store.read?.('run').then(String, String)) ?? '';
  };
  expect(await messageOf(lines.toSpliced(3, 1))).toMatch(/Line 4 .* is record 5, where record 4 belongs/);
  expect(await messageOf(lines.toSpliced(3, 0, lines[2] ?? ''))).toMatch(/Line 4 .* is record 3, where/);
  expect(await messageOf(lines.with(3, withoutSums(lines[3] ?? '')))).toMatch(/Line 4 .*lost its checksum/);
  expect(await messageOf(lines.with(0, withoutSums(lines[0] ?? '')))).toMatch(/Line 2 .*lines before it have none/);
});

test('a last line that is whole but not ended as it was is damage, and not a torn end', async () => {
  await using folder = await temporaryFolder();
  const { store, text, write } = await runIn(folder.path);
  write(`${text.trimEnd()}J`);
  await expect(store.read?.('run')).rejects.toMatchObject({ code: 'bad-recording' });
  // Its checksum is no JSON any more: a list, which reads only the ends of files, must not take it for torn.
  write(`${text.trimEnd().slice(0, -3)}"x"}\n`);
  await expect(store.read?.('run')).rejects.toMatchObject({ code: 'bad-recording' });
  const warn = process.emitWarning;
  process.emitWarning = () => undefined;
  expect(await store.list?.()).toEqual([]);
  process.emitWarning = warn;
  write(text.trimEnd());
  expect(await recordsOf(store, 'run')).toHaveLength(8);
});

test('a payload that is not that of its hash is found, in recordings without checksums too', async () => {
  await using folder = await temporaryFolder();
  const { store, text, write } = await runIn(folder.path);
  write(withoutSums(text).replace(large, large.replace('xx', 'xy')));
  await expect(store.read?.('run')).rejects.toThrow(/Line 5 .*payload that is not that of its hash/);
});

test('a recording without checksums is read, taken up, and written on without them', async () => {
  await using folder = await temporaryFolder();
  const { store, text, write } = await runIn(folder.path);
  write(withoutSums(text));
  expect(transitions(withoutSums(text))).toEqual(transitions(text));
  const { sink } = await taken(store, 'run');
  await sink.append([NOTE]);
  await sink.close();
  expect((await recordsOf(store, 'run')).at(-1)).toEqual(NOTE);
  expect(readFileSync(join(folder.path, 'run.jsonl'), 'utf8')).not.toContain('"sum"');
});

test('a hole in an end that was never flushed loses that end only, and the run goes on before it', async () => {
  await using folder = await temporaryFolder();
  const { store, path, lines, write } = await runIn(folder.path);
  const before = `${lines.slice(0, 3).join('\n')}\n`;
  for (const behind of ['\0'.repeat(600), `{"t":"start"${'\0'.repeat(600)}${lines[4] ?? ''}\n${lines[5] ?? ''}\n`]) {
    write(before + behind);
    expect(await recordsOf(store, 'run')).toHaveLength(3);
  }
  const agent = createAgent({
    name: 'clock',
    tools: [fakeTool('clock', ['12:30'])],
    model: scriptedModel(['Half past twelve.']),
    silent: true,
    journal: store,
  });
  expect(await agent.resume('run')).toMatchObject({ result: 'Half past twelve.' });
  expect(readFileSync(path, 'utf8')).not.toContain('\0');
  expect(transitions(readFileSync(path, 'utf8')).at(-1)?.to).toBe('COMPLETION');
});

test('a damaged file is cut before the damage, kept beside it, and goes with its run', async () => {
  await using folder = await temporaryFolder();
  const { store, path, lines, text, write } = await runIn(folder.path);
  expect(await store.repair?.('run')).toEqual({ kept: 9, lost: 0, damage: null, calls: [] });
  const damaged = text.replace('"ok":true', '"ok":tRue');
  write(damaged);
  expect(await store.repair?.('run')).toEqual({
    kept: 2,
    lost: 7,
    damage: expect.stringContaining('Line 3'),
    calls: ['clock'],
  });
  expect(readFileSync(path, 'utf8')).toBe(`${lines.slice(0, 2).join('\n')}\n`);
  expect(readFileSync(`${path}.damaged`, 'utf8')).toBe(damaged);
  expect(await store.list?.()).toMatchObject([{ runId: 'run', state: 'interrupted', records: 2 }]);
  // What a kill leaves of a recording that was about to be written anew.
  writeFileSync(`${path}.new`, text.slice(0, -10));
  await store.remove?.('run');
  expect(readdirSync(folder.path)).toEqual([]);
  expect(await store.repair?.('run')).toBeNull();
});

test('a run that is being written is not repaired, and one whose first line is gone cannot be', async () => {
  await using folder = await temporaryFolder();
  const { store, text, write } = await runIn(folder.path);
  const { sink } = await taken(store, 'run');
  await expect(store.repair?.('run')).rejects.toMatchObject({ code: 'run-locked' });
  await sink.close();
  write(text.replace('{"t":"run"', '{"t":"ran"'));
  await expect(store.repair?.('run')).rejects.toMatchObject({ code: 'bad-recording', line: 1 });
  expect(existsSync(join(folder.path, 'run.jsonl.damaged'))).toBe(false);
});

test('a database in which lines were changed or lost says so, and is repaired likewise', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  for (const runId of ['changed', 'lost']) await answered(store, runId);
  await interrupted(store, 'whole');
  const own = "run = (select id from runs where run_id = '";
  new DatabaseSync(path).exec(
    `update lines set line = replace(line, '12:30', '12:31') where ${own}changed') and n = 5;
     delete from lines where ${own}lost') and n = 8`,
  );
  const whole = await recordsOf(store, 'whole');
  await expect(store.read?.('changed')).rejects.toMatchObject({ code: 'bad-recording', line: 5 });
  await expect(store.read?.('lost')).rejects.toThrow(/Line 8 .*should have 8 records/);
  await expect(store.take?.('lost')).rejects.toMatchObject({ code: 'bad-recording' });
  expect(await store.repair?.('changed')).toMatchObject({
    kept: 4,
    lost: 4,
    damage: expect.stringContaining('Line 5'),
  });
  expect(await store.repair?.('lost')).toMatchObject({ kept: 7, lost: 0, damage: expect.stringContaining('Line 8') });
  expect(await store.repair?.('whole')).toMatchObject({ lost: 0, damage: null });
  expect(await store.repair?.('none')).toBeNull();
  expect(await recordsOf(store, 'whole')).toEqual(whole);
  expect(await recordsOf(store, 'lost')).toHaveLength(7);
  expect(await store.list?.({ state: 'interrupted' })).toMatchObject([
    { runId: 'lost' },
    { runId: 'changed', records: 4 },
  ]);
});

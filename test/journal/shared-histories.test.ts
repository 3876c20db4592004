import fs, {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { Message } from '../../src/actors/model.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { runCli } from '../cli/spawn-cli.ts';

const LONG = 'It is mild there, a little warmer than in the one before, with a light wind from the west. '.repeat(20);

/** An agent that answers at length, and what its model was asked. */
function talker(options: AgentOptions = {}) {
  const asked: (readonly Message[])[] = [];
  const agent = createAgent({
    name: 'talker',
    instructions: 'Talk.',
    model: {
      id: 'in-process',
      complete: ({ messages }) => {
        asked.push(messages);
        return Promise.resolve({ content: `${LONG}${messages.length}` });
      },
    },
    maxHistoryMessages: 0,
    silent: true,
    ...options,
  });
  return { agent, asked };
}

async function converse(journal: JournalStore, turns: number, options: AgentOptions = {}) {
  const { agent, asked } = talker({ journal, ...options });
  for (let turn = 1; turn <= turns; turn++)
    await agent.run(`${turn}. And the next?`, { runId: `run-${turn}` }).orThrow();
  return { agent, asked };
}

function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-histories-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

const historiesIn = (dir: string): readonly string[] =>
  existsSync(join(dir, 'histories')) ? readdirSync(join(dir, 'histories')) : [];

function sizeOf(dir: string): number {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(dir, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

describe('the runs of a conversation in a folder', () => {
  test('hold what was said before them once, and grow with what is new', async () => {
    const dir = temporaryFolder();
    await converse(fileJournal(dir), 12);
    const after12 = sizeOf(dir);
    const [history] = historiesIn(dir);
    expect(historiesIn(dir)).toHaveLength(1);
    expect(readFileSync(join(dir, 'histories', history ?? ''), 'utf8').split('\n')).toHaveLength(2 * 11 + 1);
    const bigger = temporaryFolder();
    await converse(fileJournal(bigger), 48);
    expect(sizeOf(bigger) / after12).toBeLessThan(5);
  });

  test('are read, listed, resumed and replayed as if each had it', async () => {
    const dir = temporaryFolder();
    const { asked } = await converse(fileJournal(dir), 9);
    const store = fileJournal(dir);
    expect((await store.list?.())?.length).toBe(9);
    const recording = await store.read?.('run-9');
    expect(recording?.head.history).toHaveLength(16);
    expect(recording?.head.history).toEqual(asked[8]?.slice(1, 17));
    const whole = [recording?.head, ...(recording?.lines ?? [])].map((record) => record ?? {});
    const again = await replay(whole, talker().agent);
    expect(again.result).toBe(`${LONG}18`);
    // As a crash leaves it: without its end, and the last answer.
    const file = join(dir, 'run-9.jsonl');
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    writeFileSync(file, `${lines.slice(0, 2).join('\n')}\n`);
    const resumed = talker({ journal: store });
    expect(await resumed.agent.resume('run-9')).toMatchObject({ result: `${LONG}18` });
    expect(resumed.asked).toEqual([asked[8]]);
    expect(resumed.agent.history).toHaveLength(18);
  });

  test('a short conversation stands in its own files, which are whole', async () => {
    const dir = temporaryFolder();
    const { agent } = talker({
      journal: fileJournal(dir),
      model: { id: 'm', complete: async () => ({ content: 'Mild.' }) },
    });
    for (let turn = 1; turn <= 5; turn++) await agent.run('And the next?', { runId: `run-${turn}` });
    expect(historiesIn(dir)).toEqual([]);
    expect(await replay(readFileSync(join(dir, 'run-5.jsonl'), 'utf8'), talker().agent)).toMatchObject({
      result: 'Mild.',
    });
  });

  test('one that was pruned, cleared or set anew is what its run began with', async () => {
    const dir = temporaryFolder();
    const { agent, asked } = await converse(fileJournal(dir), 8, { maxHistoryMessages: 8 });
    agent.setHistory([...agent.history.slice(0, 7), { role: 'user', content: `${LONG}another` }]);
    await agent.run('And now?', { runId: 'set' });
    agent.clearHistory();
    await agent.run('And now?', { runId: 'cleared' });
    const store = fileJournal(dir);
    const heads = await Promise.all(
      ['run-8', 'set', 'cleared'].map(async (id) => (await store.read?.(id))?.head.history),
    );
    expect(heads).toEqual([asked[7], asked[8], asked[9]].map((messages) => messages?.slice(1, -1)));
    expect(heads.map((history) => history?.length)).toEqual([8, 8, 0]);
  });

  test('secrets do not stand in it either', async () => {
    const dir = temporaryFolder();
    const agent = talker({ journal: fileJournal(dir), secrets: ['light wind'] }).agent;
    for (let turn = 1; turn <= 9; turn++) await agent.run('And the next?');
    for (const name of historiesIn(dir))
      expect(readFileSync(join(dir, 'histories', name), 'utf8')).not.toContain('light wind');
    expect(historiesIn(dir)).toHaveLength(1);
    expect(agent.history.at(-1)?.content).toContain('light wind');
  });
});

describe('a history', () => {
  test('goes with the last run that begins with it, and not before', async () => {
    const dir = temporaryFolder();
    const { agent } = await converse(fileJournal(dir), 9);
    const store = fileJournal(dir);
    const using = readdirSync(dir).filter(
      (name) => name.endsWith('.jsonl') && readFileSync(join(dir, name), 'utf8').includes('$history":"'),
    );
    for (const [index, name] of using.entries()) {
      expect(historiesIn(dir), `before ${name}`).toHaveLength(1);
      expect(await store.remove?.(name.slice(0, -'.jsonl'.length))).toBe(true);
      expect(historiesIn(dir), `after ${name}`).toHaveLength(index < using.length - 1 ? 1 : 0);
    }
    // Whoever goes on with the conversation begins another.
    await agent.run('And the next?', { runId: 'later' });
    expect(historiesIn(dir)).toHaveLength(1);
    expect((await fileJournal(dir).read?.('later'))?.head.history).toHaveLength(18);
  });

  test('goes with the last run that begins with it, though another has the name of one that did', async () => {
    const dir = temporaryFolder();
    await converse(fileJournal(dir), 9);
    const store = fileJournal(dir);
    const [first = '', ...others] = readdirSync(dir)
      .filter((name) => name.endsWith('.jsonl') && readFileSync(join(dir, name), 'utf8').includes('$history":"'))
      .map((name) => name.slice(0, -'.jsonl'.length));
    const [again = '', ...rest] = others;
    await store.remove?.(first);
    // Another process begins a run of that name anew, with nothing said before it.
    const elsewhere = fileJournal(dir);
    await elsewhere.remove?.(again);
    await talker({ journal: elsewhere }).agent.run('And the next?', { runId: again });
    expect(historiesIn(dir)).toHaveLength(1);
    for (const runId of rest) await store.remove?.(runId);
    expect(historiesIn(dir)).toEqual([]);
  });

  test('is kept by limits on runs as long as it is needed', async () => {
    const dir = temporaryFolder();
    await converse(fileJournal(dir, { maxRuns: 3 }), 12);
    expect(historiesIn(dir)).toHaveLength(1);
    const store = fileJournal(dir);
    for (const { runId } of (await store.list?.()) ?? [])
      expect((await store.read?.(runId))?.lines.length).toBeGreaterThan(1);
    const answered = temporaryFolder();
    await converse(fileJournal(answered, { keep: 'not-answered' }), 9);
    expect(readdirSync(answered).filter((name) => name.endsWith('.jsonl'))).toEqual([]);
    expect(historiesIn(answered)).toEqual([]);
  });

  test.each([50, 100])(
    'goes with its run when %d are too many, and each of these is looked at a few times',
    async (count) => {
      const dir = temporaryFolder();
      const told = (runId: string): readonly Message[] => [{ role: 'user', content: `${runId} ${LONG.repeat(5)}` }];
      for (let n = 0; n < count; n++)
        await talker({ journal: fileJournal(dir), history: told(`run-${n}`) }).agent.run('And?', { runId: `run-${n}` });
      expect(historiesIn(dir)).toHaveLength(count);
      const look = vi.spyOn(fs, 'statSync');
      syncBuiltinESMExports();
      onTestFinished(() => {
        look.mockRestore();
        syncBuiltinESMExports();
      });
      await talker({ journal: fileJournal(dir, { maxRuns: 3 }) }).agent.run('And?', { runId: 'last' });
      expect(historiesIn(dir)).toHaveLength(2);
      expect(readdirSync(dir).filter((name) => name.endsWith('.jsonl'))).toHaveLength(3);
      expect(look.mock.calls.filter(([path]) => String(path).endsWith('.jsonl')).length / count).toBeLessThan(20);
    },
  );

  test.each<[string, (file: string) => void, RegExp]>([
    ['is not there', (file) => rmSync(file), /the file is missing/],
    ['was cut', (file) => writeFileSync(file, readFileSync(file, 'utf8').slice(0, 4000)), /shorter/],
    [
      'has one character changed',
      (file) => writeFileSync(file, readFileSync(file, 'utf8').replace('mild', 'mold')),
      /line \d+ is damaged/,
    ],
  ])('that %s: the run says so, and which file it is', async (_what, damage, says) => {
    const dir = temporaryFolder();
    await converse(fileJournal(dir), 9);
    const [history] = historiesIn(dir);
    damage(join(dir, 'histories', history ?? ''));
    const reading = fileJournal(dir).read?.('run-9') ?? Promise.resolve();
    await expect(reading).rejects.toMatchObject({ code: 'bad-recording', line: 1 });
    await expect(reading).rejects.toThrow(says);
    await expect(reading).rejects.toThrow(`histories/${history}`);
    expect((await fileJournal(dir).list?.())?.length).toBe(9);
  });

  test('that another process has removed or written to is not added to', async () => {
    for (const disturb of [
      (file: string) => rmSync(file),
      (file: string) => writeFileSync(file, 'x\n', { flag: 'a' }),
    ]) {
      const dir = temporaryFolder();
      const { agent } = await converse(fileJournal(dir), 9);
      disturb(join(dir, 'histories', historiesIn(dir)[0] ?? ''));
      await agent.run('And the next?', { runId: 'later' });
      expect((await fileJournal(dir).read?.('later'))?.head.history).toHaveLength(18);
    }
  });

  test('is named by whoever reads the text of one file, and found by the command line', async () => {
    const dir = temporaryFolder();
    await converse(fileJournal(dir), 9);
    const file = join(dir, 'run-9.jsonl');
    expect(() => replay(readFileSync(file, 'utf8'), talker().agent)).toThrow(
      /in the folder of its file.*fileJournal\(folder\)\.read\('run-9'\)/s,
    );
    const shown = (path: string) => runCli(['recording', 'show', path], { cwd: dir });
    expect(await shown(file)).toMatchObject({ code: 0, stdout: expect.stringContaining('9. And the next?') });
    const alone = join(temporaryFolder(), 'copy.jsonl');
    copyFileSync(file, alone);
    const { code, stderr } = await shown(alone);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/histories\/.*copy it as well/)]);
  });
});

describe('the runs of a conversation in a database', () => {
  const rows = (path: string, sql: string): readonly unknown[] => {
    using database = new DatabaseSync(path);
    return database.prepare(sql).all();
  };
  const messages = (path: string): number => rows(path, 'select n from histories').length;

  test('hold what was said before them once, and are read, listed and resumed as if each had it', async () => {
    const path = join(temporaryFolder(), 'runs.sqlite');
    const { asked } = await converse(sqliteJournal(path), 9);
    expect(messages(path)).toBe(16);
    const store = sqliteJournal(path);
    expect((await store.list?.())?.length).toBe(9);
    expect((await store.read?.('run-9'))?.head.history).toEqual(asked[8]?.slice(1, 17));
    rows(path, "delete from lines where run = (select id from runs where run_id = 'run-9') and n > 2 returning n");
    rows(
      path,
      'update progress set records = 2, ended = 0 where records > 0 and run = (select max(id) from runs) returning run',
    );
    const resumed = talker({ journal: sqliteJournal(path) });
    expect(await resumed.agent.resume('run-9')).toMatchObject({ result: `${LONG}18` });
    expect(resumed.asked).toEqual([asked[8]]);
  });

  test('forget it with the last of them, and go on with another one', async () => {
    const path = join(temporaryFolder(), 'runs.sqlite');
    const { agent } = await converse(sqliteJournal(path), 9);
    const store = sqliteJournal(path);
    for (let turn = 1; turn <= 8; turn++) await store.remove?.(`run-${turn}`);
    expect(messages(path)).toBe(16);
    await store.remove?.('run-9');
    expect(messages(path)).toBe(0);
    await agent.run('And the next?', { runId: 'later' });
    expect((await sqliteJournal(path).read?.('later'))?.head.history).toHaveLength(18);
    expect(messages(path)).toBe(18);
  });

  test('are whole behind one that could not begin', async () => {
    const path = join(temporaryFolder(), 'runs.sqlite');
    const { agent } = await converse(sqliteJournal(path), 9);
    expect(await agent.run('And the next?', { runId: 'run-1' })).toMatchObject({ status: 'failed' });
    const { length } = agent.history;
    await agent.run('And the next?', { runId: 'later' });
    expect((await sqliteJournal(path).read?.('later'))?.head.history).toHaveLength(length);
  });

  test('say so where it is damaged', async () => {
    const path = join(temporaryFolder(), 'runs.sqlite');
    await converse(sqliteJournal(path), 9);
    rows(path, "update histories set line = replace(line, 'mild', 'mold') where n = 3 returning n");
    await expect(sqliteJournal(path).read?.('run-9')).rejects.toMatchObject({ code: 'bad-recording', line: 1 });
    expect((await sqliteJournal(path).list?.())?.length).toBe(9);
  });
});

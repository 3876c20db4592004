import { copyFileSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { transitions } from '../../src/journal/replay/replay.ts';
import { newWriter } from '../../src/journal/stores/writer.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { openStore } from './open-store.ts';
import { start } from './store-processes.ts';
import { interrupted, recordsOf, taken } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

const NOTE = { t: 'note', at: 1, note: { said: 'x'.repeat(100) } } as const;
const LOST = expect.objectContaining({ name: 'JournalError', code: 'run-lost' });

/** Takes a run over, approves what waits, and ends it; gives what stands in its file then. */
async function finishedElsewhere(folder: string): Promise<string> {
  const agent = createAgent({
    name: 'mailer',
    tools: [fakeTool('send_mail', ['sent'], { policy: 'confirm' })],
    model: scriptedModel(['Sent by another.']),
    confirm: 'wait',
    silent: true,
    journal: fileJournal(folder),
  });
  const run = agent.resume('run');
  for await (const event of run) if (event.type === 'approval.requested') void run.approve(event.callId);
  expect(await run).toMatchObject({ status: 'answered', result: 'Sent by another.' });
  return readFileSync(join(folder, 'run.jsonl'), 'utf8');
}

test('a process whose lock was deleted by hand leaves the file to the one that went on', async () => {
  await using folder = await temporaryFolder();
  const first = start('answer-run', 'file', folder.path, 'run');
  expect(await first.line()).toBe('holding');
  rmSync(join(folder.path, 'run.lock'));
  const content = await finishedElsewhere(folder.path);
  first.child.stdin.write('now\n');
  expect(JSON.parse(await first.line())).toEqual({ answered: 'run-lost', status: 'failed', code: 'run-lost' });
  expect(readFileSync(join(folder.path, 'run.jsonl'), 'utf8')).toBe(content);
  expect(transitions(content).at(-1)?.to).toBe('COMPLETION');
  expect(readdirSync(folder.path)).toEqual(['run.jsonl']);
});

test('a process that was stopped, and whose run another host has taken, wakes up and writes nothing', async () => {
  await using folder = await temporaryFolder();
  const first = start('answer-run', 'file', folder.path, 'run');
  expect(await first.line()).toBe('holding');
  first.child.kill('SIGSTOP');
  // To another host its process cannot be seen: only its silence.
  const lock = join(folder.path, 'run.lock');
  await writeFile(lock, JSON.stringify({ ...JSON.parse(readFileSync(lock, 'utf8')), place: 'elsewhere' }));
  const long = Date.now() / 1000 - 61;
  await utimes(lock, long, long);
  const content = await finishedElsewhere(folder.path);
  first.child.stdin.write('now\n');
  first.child.kill('SIGCONT');
  expect(JSON.parse(await first.line())).toMatchObject({ answered: 'run-lost', code: 'run-lost' });
  expect(readFileSync(join(folder.path, 'run.jsonl'), 'utf8')).toBe(content);
});

test('who has lost a run between two looks at its lock neither writes nor cuts what another wrote', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'cut.jsonl');
  await interrupted(fileJournal(folder.path), 'cut');
  const mine = await taken(fileJournal(folder.path), 'cut');
  await mine.sink.append([NOTE]);
  rmSync(join(folder.path, 'cut.lock'));
  const theirs = await taken(fileJournal(folder.path), 'cut');
  await theirs.sink.append([NOTE, NOTE]);
  const content = await readFile(path, 'utf8');
  expect(() => mine.sink.append([NOTE])).toThrow(LOST);
  expect(await readFile(path, 'utf8')).toBe(content);
  await theirs.sink.append([NOTE]);
  await theirs.sink.close();
  expect((await recordsOf(fileJournal(folder.path), 'cut')).filter(({ t }) => t === 'note')).toHaveLength(4);
});

test('who took a run that its former owner has written to all the same does not go on with half of it', async () => {
  await using folder = await temporaryFolder();
  await interrupted(fileJournal(folder.path), 'cut');
  const mine = await taken(fileJournal(folder.path), 'cut');
  rmSync(join(folder.path, 'cut.lock'));
  const theirs = await taken(fileJournal(folder.path), 'cut');
  await mine.sink.append([NOTE]);
  expect(() => theirs.sink.append([NOTE])).toThrow(LOST);
  expect((await recordsOf(fileJournal(folder.path), 'cut')).filter(({ t }) => t === 'note')).toHaveLength(1);
});

test.each<[string, (place: string) => void, 'file' | 'sqlite']>([
  ['folder was removed', (place) => rmSync(place, { recursive: true }), 'file'],
  ['file was removed', (place) => rmSync(join(place, 'run.jsonl')), 'file'],
  ['file was replaced', (place) => renameSync(join(place, 'other.jsonl'), join(place, 'run.jsonl')), 'file'],
  ['database was removed', (place) => rmSync(place), 'sqlite'],
  ['database was replaced', (place) => renameSync(`${place}.other`, place), 'sqlite'],
])('a run whose %s does not continue as if it were recorded', async (_what, remove, kind) => {
  await using folder = await temporaryFolder();
  const place = join(folder.path, 'runs');
  const paid = fakeTool('pay', ['paid']);
  const model = scriptedModel([
    () => {
      const [from, to] =
        kind === 'file' ? [join(place, 'run.jsonl'), join(place, 'other.jsonl')] : [place, `${place}.other`];
      copyFileSync(from, to);
      remove(place);
      return calls(['pay']);
    },
    'Next.',
  ]);
  const agent = createAgent({ tools: [paid], model, silent: true, journal: openStore(kind, place) });
  expect(await agent.run('Pay.', { runId: 'run' })).toMatchObject({ status: 'failed', error: { code: 'run-lost' } });
  expect(paid.calls).toEqual([]);
  // Beside what is left of a database, no other is made.
  const next = await agent.run('Once more.', { runId: 'next' });
  expect(next).toMatchObject(kind === 'file' ? { result: 'Next.' } : { error: { code: 'run-lost' } });
});

test('a process that wakes up after a pause looks at its lock before it writes, whatever its timers have done', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
  try {
    await using folder = await temporaryFolder();
    await interrupted(fileJournal(folder.path), 'cut');
    const { sink } = await taken(fileJournal(folder.path), 'cut');
    await sink.append([NOTE]);
    const content = await readFile(join(folder.path, 'cut.jsonl'), 'utf8');
    const lock = JSON.stringify(newWriter());
    await writeFile(join(folder.path, 'cut.lock'), lock);
    vi.setSystemTime(Date.now() + 10_000);
    expect(() => sink.append([NOTE])).toThrow(LOST);
    expect(await readFile(join(folder.path, 'cut.jsonl'), 'utf8')).toBe(content);
    expect(await readFile(join(folder.path, 'cut.lock'), 'utf8')).toBe(lock);
  } finally {
    vi.useRealTimers();
  }
});

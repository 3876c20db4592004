import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canContinue } from '../../src/agent/past/wake-runs.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { handOver } from '../journal/hand-over.ts';
import { interrupted } from '../journal/stored-runs.ts';
import { agentOf, attend, endServer, type Life, noteIn, RUNS } from './killed-runs.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-due-'));
  noteIn(folder);
});
afterAll(async () => {
  await endServer();
  rmSync(folder, { recursive: true, force: true });
});

/** So long after its beginning nothing of a run is still to come. */
const LATER_MS = 60_000;

test.each(Object.entries(RUNS))('a list of due runs has it wherever it can continue: %s', async (_name, killed) => {
  const life: Life = { number: 1, world: { done: [], replies: [], failed: [] }, isDead: false };
  const agent = agentOf(killed, life, memoryJournal());
  const run = agent.run('Do it.', { runId: 'run' });
  void attend(killed, run);
  await run;
  const { head, lines } = readRecording(run.recording());
  const missed: string[] = [];
  const seen: string[] = [];
  for (let count = 0; count <= lines.length; count++) {
    // What is started together is written together.
    if (lines[count - 1]?.t === 'start' && lines[count]?.t === 'start') continue;
    const store = memoryJournal();
    await handOver(store, head, lines.slice(0, count));
    for (const ms of [-LATER_MS, 0, LATER_MS]) {
      const due = new Date(Date.parse(head.at) + ms);
      const [listed] = (await store.list?.({ due: due.toISOString() })) ?? [];
      const can = canContinue({ head, lines: lines.slice(0, count) }, due);
      // Before it began it is not asked.
      if (ms >= 0 && can && listed === undefined) missed.push(`behind record ${count}, ${ms} ms later`);
      seen.push(`${can} ${listed !== undefined}`);
    }
  }
  expect(missed).toEqual([]);
  expect(seen.includes('false false')).toBe(true);
  await agent.close();
});

test('a run whose last line is torn is looked at, whatever it waits for', async () => {
  const journal = fileJournal(join(folder, 'torn'));
  await interrupted(journal, 'run');
  const due = new Date(Date.now() + LATER_MS).toISOString();
  expect(await journal.list?.({ due })).toEqual([]);
  appendFileSync(join(folder, 'torn/run.jsonl'), '{"t":"start","at":3,"id":"agent/c2/call');
  expect(await journal.list?.({ due })).toMatchObject([{ runId: 'run', state: 'waiting' }]);
});

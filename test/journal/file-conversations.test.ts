import { appendFileSync, copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { newRunId } from '../../src/agent/options/run-options.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** More runs than a folder is read for every time, most of them of other conversations. */
const RUNS = 1200;
const OURS = 3;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let template = '';
let ours: readonly string[] = [];
let others: readonly string[] = [];
beforeAll(async () => {
  folder = await temporaryFolder();
  const agent = createAgent({ model: scriptedModel(['Fine.']), silent: true, journal: memoryJournal() });
  const { runId } = await agent.run('How is it?', { metadata: { conversation: 'c' } });
  template = (await agent.recording(runId)) ?? '';
  const ids = Array.from({ length: RUNS }, newRunId);
  for (const [n, id] of ids.entries()) put(id, n < OURS ? 'c' : `c${n % 7}`);
  [ours, others] = [ids.slice(0, OURS), ids.slice(OURS)];
});
afterAll(() => folder[Symbol.asyncDispose]());

/** Lines without checksums are read as they are. */
function put(runId: string, conversation: string): void {
  const lines = template.replaceAll(/,"sum":"[^"]+"\}$/gm, '}');
  const named = lines.replace(/"runId":"[^"]+"/, `"runId":"${runId}"`);
  writeFileSync(pathOf(runId), named.replace('"conversation":"c"', `"conversation":"${conversation}"`));
}

const pathOf = (runId: string): string => join(folder.path, `${runId}.jsonl`);
const index = (): string => join(folder.path, 'conversations.index');

/** The runs of our conversation, as a process sees them that has seen nothing before. */
async function listed(store = fileJournal(folder.path)): Promise<readonly string[]> {
  const runs = (await store.list?.({ metadata: { conversation: 'c' } })) ?? [];
  return runs.map(({ runId }) => runId).toSorted();
}

const sorted = (...ids: readonly string[]): readonly string[] => ids.toSorted();

/** What is said of files that are damaged, and so whether they were read. */
function warnings(): readonly string[] {
  const said: string[] = [];
  const hear = ({ message }: Error): void => void said.push(message);
  process.on('warning', hear);
  onTestFinished(() => void process.off('warning', hear));
  return said;
}

const told = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('the runs of a conversation are found without reading those of others, by later processes too', async () => {
  const store = fileJournal(folder.path);
  expect(await listed(store)).toEqual(sorted(...ours));
  const other = others[5] ?? '';
  const before = readFileSync(pathOf(other));
  onTestFinished(() => writeFileSync(pathOf(other), before));
  writeFileSync(pathOf(other), 'damaged\nand more\n');
  const said = warnings();
  for (const one of [store, fileJournal(folder.path)]) {
    expect(await listed(one)).toEqual(sorted(...ours));
  }
  await told();
  expect(said).toEqual([]);
  await fileJournal(folder.path).list?.({ agent: 'nobody' });
  await told();
  expect(said).toEqual([expect.stringContaining(other)]);
});

describe('whatever becomes of the index, no run is hidden', () => {
  let whole = Buffer.alloc(0);
  beforeAll(async () => {
    await listed();
    whole = readFileSync(index());
  });
  beforeEach(() => {
    rmSync(index(), { recursive: true, force: true });
    writeFileSync(index(), whole);
  });

  test.each<[string, () => void]>([
    ['it is removed', () => rmSync(index())],
    ['it is empty', () => writeFileSync(index(), '')],
    ['it is torn in the middle of a line', () => truncateSync(index(), Math.floor(whole.length / 2) + 7)],
    ['it is torn and written on', () => writeFileSync(index(), Buffer.concat([whole.subarray(0, 1000), whole]))],
    ['it is full of zeros', () => writeFileSync(index(), Buffer.alloc(whole.length))],
    ['a folder stands in its place', () => (rmSync(index()), mkdirSync(index()))],
    ['each line is damaged', () => writeFileSync(index(), whole.toString().replaceAll(/ (\w{4})/g, ' 0000'))],
    ['lines of other runs are added', () => appendFileSync(index(), 'x - 1 2 00000000\n'.repeat(9000))],
  ])('%s', async (_what, damage) => {
    damage();
    const store = fileJournal(folder.path);
    expect(await listed(store)).toEqual(sorted(...ours));
    expect(await listed(store)).toEqual(sorted(...ours));
    expect(await listed()).toEqual(sorted(...ours));
  });

  test('one byte of it is another', async () => {
    expect(whole.toString().trimEnd().split('\n')).toHaveLength(RUNS);
    const at = whole.indexOf(ours[0] ?? '');
    for (let offset = 0; offset < 70; offset += 3) {
      const damaged = Buffer.from(whole);
      damaged[at + offset] = (damaged[at + offset] ?? 0) ^ 1;
      writeFileSync(index(), damaged);
      expect(await listed()).toEqual(sorted(...ours));
    }
  });
});

test('a run that was copied into the folder, and one whose id was used before, are found', async () => {
  const store = fileJournal(folder.path);
  put('order-7', 'elsewhere');
  expect(await listed(store)).toEqual(sorted(...ours));
  const copy = newRunId();
  copyFileSync(pathOf(ours[0] ?? ''), pathOf(copy));
  rmSync(pathOf('order-7'));
  put('order-8', 'elsewhere');
  put('order-7', 'c');
  onTestFinished(() => [copy, 'order-7', 'order-8'].forEach((runId) => rmSync(pathOf(runId))));
  expect(await listed(store)).toEqual(sorted(...ours, copy, 'order-7'));
  expect(await listed()).toEqual(sorted(...ours, copy, 'order-7'));
});

test('what is removed does not stay in the index for ever', async () => {
  await listed();
  const gone = Array.from({ length: 4000 }, () => `${newRunId()} - 1 2 00000000\n`);
  appendFileSync(index(), gone.join(''));
  const store = fileJournal(folder.path);
  expect(await listed(store)).toEqual(sorted(...ours));
  expect(readFileSync(index(), 'utf8').trimEnd().split('\n')).toHaveLength(RUNS);
});

import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { readRecording, type Recording } from '../../src/journal/format/recording.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { openStore } from './open-store.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** An agent as one process has it; `pay` needs an approval. */
function payer(journal: JournalStore, replies: Parameters<typeof scriptedModel>[0]) {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  return { pay, agent: createAgent({ model: scriptedModel(replies), tools: [pay], silent: true, journal }) };
}

/** A parked run as another version would have recorded it, and where its effects have other names. */
async function ofOtherVersion(): Promise<Recording> {
  const { agent } = payer(memoryJournal(), [calls(['pay', { note: 'x'.repeat(20_000) }])]);
  const { runId } = await agent.run('Pay.', { runId: 'one', park: true });
  const text = ((await agent.recording(runId)) ?? '').replace(/"hash":"[^"]+"/, '"hash":"another"');
  return readRecording(text.replaceAll('agent/llmCall/callLlm#1', 'agent/model#1'));
}

/** What was recorded there comes into the store as it is. */
async function put(store: JournalStore, { head, lines }: Recording): Promise<void> {
  const carried = { at: 0, records: [head, ...lines], write: () => null, open: [], overdue: [] };
  const run = store.open({ head, accepts: () => false, carried });
  run.release?.();
  await run.abandon?.();
}

const migrate = (past: Recording): Recording =>
  JSON.parse(JSON.stringify(past).replaceAll('agent/model#1', 'agent/llmCall/callLlm#1'));

const never = (): never => {
  throw new Error('A run that is migrated is never removed.');
};

describe.each(['memory', 'file', 'sqlite'])('a run that is migrated in a journal of the kind %s', (kind) => {
  test('is replaced in one step, with its secrets, and is continued and resumed as any other', async () => {
    await using folder = await temporaryFolder();
    const place = join(folder.path, kind === 'file' ? 'runs' : 'runs.sqlite');
    const memory = memoryJournal();
    const open = (): JournalStore => (kind === 'memory' ? memory : openStore(kind, place));
    await put(open(), await ofOtherVersion());
    open().secrets?.keep('one', { '«secret:1»': 'a-key' });
    await expect(payer(open(), []).agent.resume('one', { park: true })).rejects.toMatchObject({
      code: 'machine-changed',
    });
    const careful = { ...open(), remove: never, open: never };
    const { agent } = payer(careful, []);
    expect(await agent.resume('one', { park: true, migrate })).toMatchObject({ reason: 'parked' });
    expect(open().secrets?.read('one')).toEqual({ '«secret:1»': 'a-key' });
    const kept = await open().read?.('one');
    expect(JSON.stringify(kept)).not.toContain('agent/model#1');
    expect(kept?.lines.filter(({ t }) => t === 'restart')).toHaveLength(1);

    expect(await payer(open(), []).agent.approve('one', 'c1')).toBe(true);
    const later = payer(open(), ['Done.']);
    expect(await later.agent.resume('one')).toMatchObject({ result: 'Done.' });
    expect(later.pay.calls).toHaveLength(1);
    expect(await open().list?.()).toMatchObject([{ runId: 'one', state: 'ended', status: 'answered' }]);
    const text = (await later.agent.recording('one')) ?? '';
    expect(await replay(text, payer(memory, []).agent)).toMatchObject({ result: 'Done.' });
  });
});

test('a run that cannot be written in its new form stays as it was', async () => {
  await using folder = await temporaryFolder();
  await put(openStore('file', folder.path), await ofOtherVersion());
  const file = join(folder.path, 'one.jsonl');
  const before = readFileSync(file, 'utf8');
  mkdirSync(`${file}.new`);
  const failed = await payer(openStore('file', folder.path), []).agent.resume('one', { park: true, migrate });
  expect(failed).toMatchObject({ status: 'failed' });
  expect(readFileSync(file, 'utf8')).toBe(before);
  rmdirSync(`${file}.new`);
  // What a process that was killed meanwhile has left is in no one's way.
  writeFileSync(`${file}.new`, before.slice(0, 99));
  const { agent } = payer(openStore('file', folder.path), []);
  expect(await agent.resume('one', { park: true, migrate })).toMatchObject({ reason: 'parked' });
});

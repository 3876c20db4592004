import { expect, test } from 'vitest';
import type { Entry, OutsideEvent } from '../../src/actors/journal.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Json } from '../../src/json/json.ts';
import type { JournalStore, RunHead, RunJournal, Sink } from '../../src/journal/run/run-journal.ts';
import type { RecordLine } from '../../src/journal/format/record.ts';
import { fork } from '../../src/journal/replay/fork.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

/** A journal of a user's own: its methods are those of a class, and need their object. */
class OwnJournal implements RunJournal {
  readonly #inner: RunJournal;

  constructor(inner: RunJournal) {
    this.#inner = inner;
  }

  open(...opened: Parameters<RunJournal['open']>): void {
    this.#inner.open(...opened);
  }

  close(id: string): void {
    this.#inner.close(id);
  }

  next(): Promise<Entry | null> {
    return this.#inner.next();
  }

  send(event: OutsideEvent, to?: string): Promise<boolean> {
    return this.#inner.send(event, to);
  }

  end(output: Json): void | Promise<void> {
    return this.#inner.end(output);
  }

  at(): number {
    return 60_000 + (this.#inner.at?.() ?? 0);
  }

  async abandon(): Promise<void> {
    await this.#inner.abandon?.();
  }

  isIdle(): boolean {
    return this.#inner.isIdle?.() === true;
  }

  release(): void {
    this.#inner.release?.();
  }
}

function ownStore(): JournalStore {
  const inner = memoryJournal();
  return { ...inner, open: (run) => new OwnJournal(inner.open(run)) };
}

const SECRET = 'swordfish-4711';

test('a run on a journal of a class keeps its secrets, is released and resumed, and has the times of its journal', async () => {
  const journal = ownStore();
  const login = fakeTool('login', ['welcome'], { policy: 'confirm' });
  const asked = {
    journal,
    tools: [login],
    secrets: [SECRET],
    silent: true,
    confirm: 'wait',
  } as const;
  const agent = createAgent({ ...asked, model: scriptedModel([calls(['login', { password: SECRET }]), 'never']) });
  const run = agent.run('Log in');
  await expect.poll(() => run.pending).toHaveLength(1);
  expect(await run.release()).toBe(true);
  expect((await run).durationMs).toBeGreaterThanOrEqual(60_000);
  const again = createAgent({ ...asked, model: scriptedModel(['Done.']) });
  const resumed = again.resume(run.runId);
  await expect.poll(() => resumed.pending).toHaveLength(1);
  await resumed.approve(resumed.pending[0]?.callId ?? '');
  expect(await resumed).toMatchObject({ status: 'answered', result: 'Done.' });
  expect(login.calls).toEqual([{ password: SECRET }]);
  expect(resumed.recording()).not.toContain(SECRET);
});

test('a fork on a journal of a class gets the rest of its recording', async () => {
  const journal = ownStore();
  const tools = [fakeTool('look', ['seen'])];
  const agent = createAgent({ journal, tools, silent: true, model: scriptedModel([calls(['look']), 'Seen.']) });
  const run = agent.run('Look');
  await run;
  const forked = fork(run.recording(), agent, { at: 1, then: 'recorded' });
  expect(await forked).toMatchObject({ status: 'answered', result: 'Seen.' });
  expect(tools[0]?.calls).toHaveLength(1);
});

/** A store and sinks of classes, which keep a run as an older machine has written it. */
class OwnStore implements JournalStore {
  readonly sinks: OwnSink[] = [];
  readonly #inner = memoryJournal();

  open(run: RunHead): RunJournal {
    return this.#inner.open(run);
  }

  async take(runId: string) {
    const taken = await this.#inner.take(runId);
    if (taken === null) return null;
    const { head, lines } = taken.recording;
    const machine = { ...head.machine, hash: 'older' };
    const sink = new OwnSink(taken.sink);
    this.sinks.push(sink);
    return { recording: { head: { ...head, machine }, lines }, sink };
  }

  read(runId: string) {
    return this.#inner.read(runId);
  }

  list(query: Parameters<NonNullable<JournalStore['list']>>[0]) {
    return this.#inner.list(query);
  }

  claim(name: string) {
    return this.#inner.claim(name);
  }
}

class OwnSink implements Sink {
  doubted: (() => void) | null = null;
  readonly #inner: Sink;

  constructor(inner: Sink) {
    this.#inner = inner;
  }

  append(records: readonly RecordLine[]): void | Promise<void> {
    return this.#inner.append(records);
  }

  replace(records: readonly RecordLine[]): void | Promise<void> {
    return this.#inner.replace?.(records);
  }

  onDoubt(doubted: () => void): void {
    this.doubted = doubted;
  }

  close(): void | Promise<void> {
    return this.#inner.close();
  }
}

test('a conversation is held in a store of a class, and a run of it migrated', async () => {
  const journal = new OwnStore();
  const asked = {
    journal,
    tools: [fakeTool('pay', ['paid'], { policy: 'confirm' })],
    silent: true,
    confirm: 'wait',
  } as const;
  const agent = createAgent({ ...asked, model: scriptedModel([calls(['pay'])]) });
  const run = agent.conversation('c').run('Pay');
  await expect.poll(() => run.pending).toHaveLength(1);
  const other = createAgent({ ...asked, model: scriptedModel([]) });
  expect(await other.conversation('c').run('Me too')).toMatchObject({ error: { code: 'conversation-busy' } });
  expect(await run.release()).toBe(true);
  const again = createAgent({ ...asked, model: scriptedModel(['Done.']) });
  const resumed = again.resume(run.runId, { migrate: (recording) => recording });
  await expect.poll(() => resumed.pending).toHaveLength(1);
  // The sink finds out whether the run is still this process's, and it is.
  journal.sinks.at(-1)?.doubted?.();
  expect(journal.sinks.map(({ doubted }) => doubted === null)).toEqual([false]);
  await resumed.approve(resumed.pending[0]?.callId ?? '');
  expect(await resumed).toMatchObject({ status: 'answered', result: 'Done.' });
  expect((await journal.read(run.runId))?.lines.at(-1)).toMatchObject({ t: 'end' });
});

test.each([
  ['a promise of one', (opened: RunJournal) => Promise.resolve(opened), 'a promise'],
  ['a promise that is rejected', () => Promise.reject(new Error('no database')), 'a promise'],
  ['nothing', () => undefined, 'none'],
])('a store whose open gives %s is told to the run', async (_what, given, said) => {
  const inner = memoryJournal();
  const open = (head: RunHead) => given(inner.open(head)) as unknown as RunJournal;
  const model = scriptedModel(['Hi.']);
  const result = await createAgent({ model, journal: { open }, silent: true }).run('Hello');
  expect(result).toMatchObject({ status: 'failed', reason: 'thrown', error: { code: 'wrong-option' } });
  expect(result.error?.message).toContain(
    "The journal's open() must return the journal of a run at once, and has returned " + said,
  );
  expect(model.requests).toEqual([]);
});

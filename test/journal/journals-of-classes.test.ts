import { expect, test } from 'vitest';
import type { Entry, OutsideEvent } from '../../src/actors/journal.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Json } from '../../src/json/json.ts';
import type { JournalStore, RunJournal } from '../../src/journal/run/run-journal.ts';
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

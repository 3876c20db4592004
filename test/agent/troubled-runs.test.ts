import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { SomeRun } from '../../src/agent/run/run.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import type { Attachment, RunPort, WatchedRun } from '../../src/inspector/index.ts';
import type { RunWatcher } from '../../src/inspector/frames/run-port.ts';
import { liveJournal } from '../../src/journal/index.ts';
import { journalOver, type JournalStore, type Sink } from '../../src/journal/run/run-journal.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const FULL = Object.assign(new Error('the disk is full'), { code: 'ENOSPC' });
const STUCK = new Error('it cannot be tidied up');

const forever = () => new Promise<never>(() => undefined);
const refuse = () => {
  throw FULL;
};

function payer(journal: JournalStore, replies: Parameters<typeof scriptedModel>[0], more: object = {}) {
  const tools = [fakeTool('pay', ['paid'], { policy: 'confirm' })];
  return createAgent({ model: scriptedModel(replies), tools, journal, silent: true, confirm: 'wait', ...more });
}

/** A run that was released while it waits. */
async function releasedRun(journal: JournalStore): Promise<string> {
  const run = payer(journal, [calls(['pay'])]).run('Pay');
  await expect.poll(() => run.pending).toHaveLength(1);
  expect(await run.release()).toBe(true);
  return run.runId;
}

/** A store whose runs are taken with another sink. */
function withSinks(store: JournalStore, sinkOf: (sink: Sink) => Sink): JournalStore {
  return {
    ...store,
    take: async (runId) => {
      const taken = (await store.take?.(runId)) ?? null;
      return taken === null ? null : { ...taken, sink: sinkOf(taken.sink) };
    },
  };
}

const untidy = (sink: Sink): Sink => ({
  ...sink,
  close: async () => {
    await sink.close();
    throw STUCK;
  },
});

describe('a cancel from before a run has begun', () => {
  const append = async () => refuse();
  test.each<[string, JournalStore]>([
    ['opened', { open: refuse }],
    ['written', { open: (run) => liveJournal(run, { append, close: () => undefined }) }],
  ])('is refused with the cause if its journal cannot be %s', async (_, journal) => {
    const run = payer(journal, []).run('Pay');
    const cancelled = [run.cancel(), run.cancel('again')];
    await expect(cancelled[0]).rejects.toBe(FULL);
    await expect(cancelled[1]).rejects.toBe(FULL);
    expect(await run).toMatchObject({ status: 'failed', error: { code: 'ENOSPC' } });
    expect(await run.cancel()).toBe(false);
  });

  test('took effect once the run has ended as cancelled', async () => {
    const run = payer(memoryJournal(), []).run('Pay');
    expect(await Promise.all([run.cancel(), run.cancel('again')])).toEqual([true, true]);
    expect(await run).toMatchObject({ status: 'cancelled' });
    expect(await run.cancel()).toBe(false);
  });
});

describe('a cancel by a listener of the very first events', () => {
  const types = ['run.started', 'step.started'] as const;
  const by = {
    'the function': (run: SomeRun) => void run.cancel('enough'),
    'the signal': (_: SomeRun, controller: AbortController) => controller.abort('enough'),
  };
  const each = types.flatMap((type) => Object.entries(by).map(([how, stop]) => [type, how, stop] as const));

  test.each(each)('of %s ends the run, by %s, before its first request', async (type, _, stop) => {
    const controller = new AbortController();
    const model = scriptedModel([]);
    let taken: Promise<boolean> | undefined;
    const onEvent = (event: RunEvent): void => {
      if (event.type !== type) return;
      stop(run, controller);
      taken = run.cancel('more than enough');
    };
    const agent = createAgent({ model, silent: true, journal: memoryJournal(), onEvent });
    const run: SomeRun = agent.run('Hello', { signal: controller.signal });
    expect(await run).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
    expect(await taken).toBe(true);
    expect(model.requests).toEqual([]);
  });

  test('ends also a run that is resumed, and one whose journal cannot write it ends no process', async () => {
    const journal = memoryJournal();
    const runId = await releasedRun(journal);
    let taken: Promise<boolean> | undefined;
    const onEvent = ({ type }: RunEvent): void => {
      if (type === 'run.started') taken = run.cancel('enough');
    };
    const full = withSinks(journal, (sink) => ({ ...sink, append: async () => refuse() }));
    let run: SomeRun = payer(full, [], { onEvent }).resume(runId);
    expect(await run).toMatchObject({ status: 'failed', error: { code: 'ENOSPC' } });
    await expect(taken).rejects.toBe(FULL);
    run = payer(journal, [], { onEvent }).resume(runId);
    expect(await run).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
    expect(await taken).toBe(true);
  });
});

describe('a place that cannot be tidied up', () => {
  test('hides neither why a run failed, nor that another may go on', async () => {
    const journal = memoryJournal();
    const runId = await releasedRun(journal);
    const agent = payer(
      withSinks(journal, (sink) => ({ ...untidy(sink), append: async () => refuse() })),
      ['Next.'],
    );
    expect(await agent.resume(runId)).toMatchObject({ status: 'failed', error: { code: 'ENOSPC' } });
    expect(await agent.run('And now?')).toMatchObject({ status: 'answered', result: 'Next.' });
  });

  test('hides not why a run is not resumed, and leaves the agent free', async () => {
    const journal = memoryJournal();
    const runId = await releasedRun(journal);
    const agent = payer(withSinks(journal, untidy), ['Next.'], { tools: [], onUpgrade: 'refuse' });
    await expect(agent.resume(runId)).rejects.toMatchObject({ code: 'upgrade-refused' });
    expect(await agent.run('And now?')).toMatchObject({ status: 'answered', result: 'Next.' });
    expect(await payer(journal, []).approve(runId, 'c1')).toBe(true);
  });

  test('hides neither that an answer to a stored run counts, nor why it cannot be written', async () => {
    const journal = memoryJournal();
    const runId = await releasedRun(journal);
    const full = withSinks(journal, (sink) => ({ ...untidy(sink), append: async () => refuse() }));
    await expect(payer(full, []).approve(runId, 'c1')).rejects.toBe(FULL);
    expect(await payer(withSinks(journal, untidy), []).approve(runId, 'c1')).toBe(true);
    expect(await payer(journal, ['Paid.']).resume(runId)).toMatchObject({ status: 'answered', result: 'Paid.' });
  });

  test("is given back once, however a resumed run goes on: it may be another one's by then", async () => {
    const journal = memoryJournal();
    const runId = await releasedRun(journal);
    let closed = 0;
    const counting = withSinks(journal, (sink) => ({
      ...sink,
      close: () => {
        closed += 1;
        return sink.close();
      },
    }));
    await expect(payer(counting, [], { tools: [], onUpgrade: 'refuse' }).resume(runId)).rejects.toThrow();
    expect(closed).toBe(1);
    const run = payer(counting, []).resume(runId);
    await expect.poll(() => run.pending).toHaveLength(1);
    expect(await run.release()).toBe(true);
    expect(closed).toBe(2);
    expect(await payer(counting, []).cancel(runId)).toBe(true);
    expect(closed).toBe(3);
    expect(await payer(counting, []).resume(runId)).toMatchObject({ status: 'cancelled' });
    expect(closed).toBe(4);
  });

  test('lets a run be released all the same', async () => {
    const journal = memoryJournal();
    const run = payer(withSinks(journal, untidy), []).resume(await releasedRun(journal));
    await expect.poll(() => run.pending).toHaveLength(1);
    expect(await run.release()).toBe(true);
    expect(await run).toMatchObject({ status: 'waiting', reason: 'released' });
  });
});

describe('a release', () => {
  test.each([
    ['before', ['steer', 'release']],
    ['behind', ['release', 'steer']],
  ] as const)('leaves no message that comes right %s it in doubt: it is not one too many', async (_, order) => {
    const run = payer(memoryJournal(), [forever]).run('Wait');
    for await (const { type } of run) if (type === 'step.started') break;
    const asked = { steer: () => run.steer('More.'), release: () => run.release() };
    const [one, other] = order.map((what) => asked[what]());
    expect(await Promise.all([one, other])).toEqual(
      expect.arrayContaining([true, { delivered: false, reason: 'over' }]),
    );
  });

  test('that its journal refuses changes nothing: what is asked of the run is answered as before', async () => {
    const inner = memoryJournal();
    const holding: JournalStore = {
      ...inner,
      open: (run) => {
        const { release: _, ...held } = journalOver(inner.open(run), {});
        return held;
      },
    };
    const agent = payer(holding, [calls(['pay']), 'Paid.']);
    const run = agent.run('Pay');
    await expect.poll(() => run.pending).toHaveLength(1);
    expect(await run.release()).toBe(false);
    expect(await agent.approve(run.runId, 'no such call')).toBe(false);
    expect(run.pending).toHaveLength(1);
    expect(await agent.approve(run.runId, run.pending[0]?.callId ?? '')).toBe(true);
    expect(await run).toMatchObject({ status: 'answered', result: 'Paid.' });
  });
});

describe('an inspector of your own', () => {
  class Port implements RunPort {
    readonly told: unknown[] = [];
    readonly #attached: (run: WatchedRun) => void;

    constructor(attached: (run: WatchedRun) => void = () => undefined) {
      this.#attached = attached;
    }

    attach(run: WatchedRun): Attachment {
      this.#attached(run);
      return new Told(this.told);
    }
  }

  class Told implements Attachment, RunWatcher {
    readonly #told: unknown[];

    constructor(told: unknown[]) {
      this.#told = told;
    }

    waiting(waiting: number): void {
      this.#told.push({ waiting });
    }

    ended(how: Parameters<Attachment['ended']>[0]): void {
      this.#told.push(how);
    }

    onLine(): void {
      this.#told.push('line');
    }

    onUnrecorded(what: unknown): void {
      this.#told.push(what);
    }
  }

  test('may be of classes, and hears of lines, of what is not recorded, and of the end', async () => {
    const told: unknown[] = [];
    const port = new Port((run) => run.watch(new Told(told)));
    await payer(memoryJournal(), ['Hi.'], { streaming: true }).run('Hello', { inspect: port });
    expect(port.told).toEqual([{ status: 'answered', reason: 'answer' }]);
    expect(told).toContain('line');
    expect(told).toContainEqual(expect.objectContaining({ note: expect.objectContaining({ text: 'Hi.' }) }));
  });

  test('that fails breaks no run', async () => {
    const failing: RunPort = {
      attach: () => ({ waiting: refuse, ended: refuse }),
    };
    const run = payer(memoryJournal(), [calls(['pay']), 'Paid.']).run('Pay', { inspect: failing });
    await expect.poll(() => run.pending).toHaveLength(1);
    await run.approve(run.pending[0]?.callId ?? '');
    expect(await run).toMatchObject({ status: 'answered' });
    const agent = payer(memoryJournal(), ['Hi.', 'Again.'], { inspect: new Port(refuse) });
    expect(await agent.run('Hello')).toMatchObject({ status: 'answered', result: 'Hi.' });
    expect(await agent.run('Hello')).toMatchObject({ status: 'answered', result: 'Again.' });
  });

  test('is told that a run is over here that has left its recording', async () => {
    const journal = memoryJournal();
    const runId = await releasedRun(journal);
    const changed: JournalStore = {
      ...journal,
      take: async (id) => {
        const taken = await journal.take(id);
        if (taken === null) return null;
        const { head, lines } = taken.recording;
        const others = lines.map((line) => (line.t === 'start' ? { ...line, digest: 'x' } : line));
        return { ...taken, recording: { head, lines: others } };
      },
    };
    const port = new Port();
    const run = payer(changed, [], { inspect: port }).resume(runId);
    await expect(run).rejects.toMatchObject({ name: 'ReplayDivergenceError' });
    expect(port.told).toEqual([{ status: 'interrupted', reason: null }]);
  });
});

import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { drivenRun, noteWritten, onWritten } from '../../src/journal/run/driven-runs.ts';
import { followRun } from '../../src/journal/run/follow-run.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { temporaryFolder } from './temporary-folder.ts';

const storeOf = (kind: string, path: string) =>
  kind === 'memory' ? memoryJournal() : kind === 'file' ? fileJournal(path) : sqliteJournal(join(path, 'runs.sqlite'));

const parts = () => {
  const tools = [fakeTool('clock', ['12:30'], { policy: 'confirm' })];
  return { name: 'clock', tools, model: scriptedModel([calls(['clock']), 'Half past.']), silent: true } as const;
};

/** A run that waits for a person, in a store of its own. */
async function waitingRun(kind: string, path: string) {
  const store = storeOf(kind, path);
  const agent = createAgent({ ...parts(), journal: store, confirm: 'wait' });
  const run = agent.run('What time is it?');
  for await (const event of run) if (event.type === 'approval.requested') break;
  return { store, agent, run };
}

test.each(['memory', 'file', 'sqlite'])(
  'a run is followed to its end, and read only when it has more: %s',
  async (kind) => {
    await using folder = await temporaryFolder();
    const { store, agent, run } = await waitingRun(kind, folder.path);
    let reads = 0;
    const counted: Pick<typeof store, 'read' | 'revision'> = {
      ...store,
      read: async (runId) => {
        reads += 1;
        return (await store.read?.(runId)) ?? null;
      },
    };
    const seen: number[] = [];
    const signal = new AbortController().signal;
    for await (const lines of followRun(counted, run.runId, { signal, everyMs: 5 })) {
      seen.push(...lines.map(({ number }) => number));
      if (reads === 1) {
        await new Promise((resolve) => setTimeout(resolve, 60));
        expect(reads).toBe(1);
        for (const { callId } of run.pending) await run.approve(callId);
      }
    }
    expect(seen).toEqual(seen.map((_, index) => index + 1));
    expect(await store.revision?.('no-such-run')).toBeNull();
    const recording = (await agent.recording(run.runId)) ?? '';
    expect(recording.trim().split('\n')).toHaveLength(seen.length);
    expect(await agent.recording('no-such-run')).toBeNull();
    expect((await replay(recording, createAgent(parts()))).result).toBe('Half past.');
  },
);

test.each(['memory', 'file', 'sqlite'])(
  'what this process writes is seen when it is written, not when the store is looked at: %s',
  async (kind) => {
    await using folder = await temporaryFolder();
    const { store, agent, run } = await waitingRun(kind, folder.path);
    let seen = 0;
    for await (const lines of followRun(store, run.runId, {
      signal: AbortSignal.timeout(30_000),
      everyMs: 3_600_000,
    })) {
      if (seen === 0) setTimeout(() => void run.approve(run.pending[0]?.callId ?? ''), 60);
      seen += lines.length;
    }
    expect(seen).toBe((await agent.recording(run.runId))?.trim().split('\n').length);
  },
);

test('whoever follows a run no more is told nothing of it', () => {
  let told = 0;
  const stops = [1, 2].map(() => onWritten('run', () => (told += 1)));
  noteWritten('another');
  noteWritten('run');
  stops[0]?.();
  noteWritten('run');
  stops[1]?.();
  noteWritten('run');
  expect(told).toBe(3);
});

test.each([
  ['one that reports changes, every few seconds', 1, { changes: () => () => undefined }],
  ['another, as often as is asked', 10, {}],
])('a store is looked at now and then while a run does not change: %s', async (_what, most, more) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const journal = memoryJournal();
  const { runId } = await createAgent({ ...parts(), journal, confirm: 'wait' }).run('Go', { park: true });
  let looks = 0;
  const revision = async (id: string) => {
    looks += 1;
    return (await journal.revision?.(id)) ?? null;
  };
  const end = new AbortController();
  const read = async (id: string) => (await journal.read?.(id)) ?? null;
  const followed = followRun({ read, revision, ...more }, runId, { signal: end.signal, everyMs: 400 });
  await followed.next();
  const over = followed.next();
  // The second look comes at once, for what was written while it began to listen.
  await vi.advanceTimersByTimeAsync(1000);
  looks = 0;
  await vi.advanceTimersByTimeAsync(4000);
  expect(looks).toBeLessThanOrEqual(most);
  end.abort();
  expect(await over).toEqual({ done: true, value: undefined });
});

test.each([2000, 80])(
  'one that is read slowly is looked at for a fifth of the time, or every %i ms',
  async (everyMs) => {
    const store = memoryJournal();
    const tools = [
      fakeTool(
        'clock',
        Array.from({ length: 20 }, (_, at) => at),
        { policy: 'allow' },
      ),
    ];
    const script = [...Array.from({ length: 20 }, (_, at) => calls(['clock', { at }])), 'Late.'];
    const agent = createAgent({
      name: 'clock',
      model: scriptedModel(script),
      tools,
      maxSteps: 30,
      silent: true,
      journal: store,
    });
    const complete = agent.run('Go');
    await complete;
    const reads: (readonly [began: number, ended: number])[] = [];
    const growing: Pick<typeof store, 'read'> = {
      read: async (runId) => {
        const began = performance.now();
        await new Promise((resolve) => setTimeout(resolve, 60));
        reads.push([began, performance.now()]);
        noteWritten(runId);
        const recording = await store.read?.(runId);
        return recording ? { ...recording, lines: recording.lines.slice(0, 2 * reads.length) } : null;
      },
    };
    const signal = new AbortController();
    for await (const lines of followRun(growing, complete.runId, { signal: signal.signal, everyMs })) {
      expect(lines.length).toBeGreaterThan(0);
      if (reads.length === 5) signal.abort();
    }
    // The second look comes at once, for what was written while it began to listen.
    const pauses = reads.slice(2).map(([began], at) => began - (reads[at + 1]?.[1] ?? 0));
    const isOften = Math.min(...pauses) < 4 * Math.min(...reads.map(([began, ended]) => ended - began)) - 10;
    expect(isOften).toBe(everyMs === 80);
  },
);

test('a run that has ended is not listened for any more, neither at its store nor in its process', async () => {
  await using folder = await temporaryFolder();
  const { store, agent, run } = await waitingRun('memory', folder.path);
  let stopped = 0;
  const listening: (() => void)[] = [];
  const changes = (_: string, changed: () => void) => {
    listening.push(changed);
    return () => void stopped++;
  };
  const follow = async (followed: Parameters<typeof followRun>[0]): Promise<void> => {
    const signal = new AbortController().signal;
    for await (const lines of followRun(followed, run.runId, { signal, everyMs: 5 })) expect(lines).not.toEqual([]);
  };
  const following = [follow({ ...store, changes }), follow(store)];
  await expect.poll(() => listening).toHaveLength(1);
  await agent.approve(run.runId, run.pending[0]?.callId ?? '');
  await run;
  for (const changed of listening) changed();
  await Promise.all(following);
  expect(stopped).toBe(1);
});

test('a run is known in its process by its journal as long as it is driven there, however it goes on', async () => {
  await using folder = await temporaryFolder();
  const { store, agent, run } = await waitingRun('memory', folder.path);
  expect(drivenRun(store, run.runId)).toBe(run);
  expect(drivenRun(memoryJournal(), run.runId)).toBe(null);
  expect(await run.release()).toBe(true);
  expect(drivenRun(store, run.runId)).toBe(null);
  const resumed = agent.resume(run.runId);
  await expect.poll(() => resumed.pending).toHaveLength(1);
  expect(drivenRun(store, run.runId)).toBe(resumed);
  await resumed.cancel();
  await resumed;
  expect(drivenRun(store, run.runId)).toBe(null);
});

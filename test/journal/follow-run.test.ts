import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
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

test.each(['memory', 'file', 'sqlite'])(
  'a run is followed to its end, and read only when it has more: %s',
  async (kind) => {
    await using folder = await temporaryFolder();
    const store = storeOf(kind, folder.path);
    const agent = createAgent({ ...parts(), journal: store, confirm: 'wait' });
    const run = agent.run('What time is it?');
    for await (const event of run) if (event.type === 'approval.requested') break;
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

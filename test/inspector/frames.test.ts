import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Run } from '../../src/agent/run/run.ts';
import { framesOf } from './frames-of.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import { JournalPlayer } from '../../src/inspector/page/player/journal-player.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';
import { SCENES, startScene } from './scenes.ts';
import { serverSentEvents, viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const isEnd = (frame: Frame): boolean => frame.t === 'record' && frame.record.t === 'end';
/** Frames that a recording holds too, in order. */
const lasting = (frames: readonly Frame[]): readonly Frame[] =>
  frames.filter(
    (frame) =>
      frame.t !== 'hello' && frame.t !== 'session' && !(frame.t === 'event' && frame.event.type === 'model.token'),
  );

/** The scenes that are joined while tools run, and not before. */
const joins: ReadonlySet<string> = new Set(['parallel']);

describe('the frames of a run', () => {
  test.each(SCENES)(
    'are those of its recording for who watches from the beginning, joins later or comes afterwards: %s',
    async (scene) => {
      const shown = await inspector();
      const { frames, lines } = viewer(shown.url);
      const watching: Promise<readonly Frame[]>[] = [];
      /** Joins, and goes on only when everything so far was seen: what follows is told as it happens. */
      const watch = async (): Promise<void> => {
        const soFar = stepsIn(run.recording());
        const { promise: joined, resolve } = Promise.withResolvers<void>();
        const seen = frames(run.runId, (frame) => {
          if (frame.t === 'step' && frame.step.n === soFar) resolve();
          return isEnd(frame);
        });
        watching.push(seen);
        await joined;
      };
      const run = startScene(scene, {
        inspect: shown,
        streaming: true,
        beforeReply: async (n) => (n <= 2 && !joins.has(scene) ? watch() : undefined),
        beforeResult: watch,
      });
      for await (const event of run) if (event.type === 'approval.requested') await run.approve(event.callId);
      await run;
      const recorded = lasting(framesOf(readRecording(run.recording()), { id: run.runId, version: '0' }));
      expect(recorded.length).toBeGreaterThan(10);
      expect(recorded.filter(({ t }) => t === 'problem')).toEqual([]);
      expect(watching.length).toBeGreaterThan(0);
      for (const seen of watching) expect(lasting(await seen)).toEqual(recorded);
      expect(lasting(await frames(run.runId, isEnd))).toEqual(recorded);
      expect(lasting(played(run.runId, await lines(run.runId)))).toEqual(recorded);
    },
  );
});

test("an agent's loop detection is shown like an actor: each of its steps, and none where it did not move", async () => {
  const steps = async (run: Run): Promise<readonly string[]> => {
    await run;
    const frames = framesOf(readRecording(run.recording()), { id: run.runId, version: '0' });
    const actors = frames.flatMap((frame) => (frame.t === 'actor' ? frame.actor : []));
    expect(actors.filter(({ src }) => src === 'loopDetection')).toMatchObject([
      { path: 'agent/loopDetection', parent: 'agent', drawing: expect.stringMatching(/./) },
    ]);
    return frames.flatMap((frame) => {
      if (frame.t !== 'step' || frame.step.actor !== 'agent/loopDetection') return [];
      const { event, to, transitions } = frame.step;
      return `${event} [${transitions.join()}] ${to.join()}`;
    });
  };
  expect(await steps(startScene('loop', {}))).toEqual([
    'started [] OBSERVING',
    'call.proposed [|call.proposed|2] OBSERVING',
    'call.proposed [|call.proposed|2] OBSERVING',
    'call.proposed [|call.proposed|1] SUSPICIOUS',
    'call.proposed [SUSPICIOUS|call.proposed|0] LOOPING',
  ]);
  const failing = createAgent({
    model: scriptedModel([calls(['look', { at: 1 }]), calls(['look', { at: 2 }]), 'Nothing.']),
    tools: [fakeTool('look', [new Error('away'), { seen: 0 }], { inputSchema: { type: 'object' } })],
    silent: true,
  });
  expect(await steps(failing.run('Look.'))).toEqual([
    'started [] OBSERVING',
    'call.proposed [|call.proposed|2] OBSERVING',
    'round.settled [|round.settled|0] OBSERVING',
    'call.proposed [|call.proposed|2] OBSERVING',
  ]);
});

test('a stream ends when the run is over and all of it was told, for who watched and for who comes afterwards', async () => {
  const shown = await inspector();
  const { get } = viewer(shown.url);
  const { promise: watching, resolve: watch } = Promise.withResolvers<Promise<readonly string[]>>();
  const heard = async (): Promise<readonly string[]> => {
    const types: string[] = [];
    for await (const { type } of serverSentEvents(await get(`/api/sessions/${run.runId}/stream`))) types.push(type);
    return types;
  };
  const run = startScene('parallel', {
    inspect: shown,
    beforeResult: async () => watch(heard()),
  });
  await run;
  const [live, later] = [await watching, await heard()];
  for (const types of [live, later]) {
    expect(types.at(-1)).toBe('end');
    expect(types.filter((type) => type === 'end')).toHaveLength(1);
    expect(types.slice(0, -1)).toContain('message');
  }
});

test('a run that begins while somebody watches the list is told as it happens, and nothing is played back', async () => {
  const shown = await inspector();
  const { frames, list } = viewer(shown.url);
  const { promise: seen, resolve: see } = Promise.withResolvers<string>();
  void list((frame) => {
    if (frame.t === 'hello') begin();
    if (frame.t === 'session') see(frame.session.id);
    return false;
  }).catch(() => undefined);
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  await begun;
  let watched: readonly Frame[] = [];
  const run = createAgent({
    model: scriptedModel([{ ...calls(['wait', {}]), content: 'First I wait.' }, 'That is it.']),
    tools: [
      tool({
        name: 'wait',
        description: 'Waits.',
        execute: async () => {
          watched = await frames(await seen, (frame) => frame.t === 'event' && frame.event.type === 'tool.started');
          return { waited: true };
        },
      }),
    ],
    streaming: true,
    silent: true,
    inspect: shown,
  }).run('Wait.');
  await run;
  // Tokens are in no recording: who comes in the middle of a run gets them only if its frames were made all along.
  expect(watched.filter((frame) => frame.t === 'event' && frame.event.type === 'model.token').length).toBeGreaterThan(
    1,
  );
  const recorded = lasting(framesOf(readRecording(run.recording()), { id: run.runId, version: '0' }));
  expect(lasting(await frames(run.runId, isEnd))).toEqual(recorded);
});

function played(id: string, lines: string): readonly Frame[] {
  const frames: Frame[] = [];
  const player = new JournalPlayer(id, (frame) => void frames.push(frame));
  for (const line of lines.trim().split('\n')) player.take(line);
  return frames;
}

function stepsIn(recording: string): number {
  return framesOf(readRecording(recording), { id: '', version: '' }).filter(({ t }) => t === 'step').length;
}

import { describe, expect, test } from 'vitest';
import { framesOf } from '../../src/inspector/frames-of.ts';
import type { Frame } from '../../src/inspector/protocol.ts';
import { readRecording } from '../../src/journal/recording.ts';
import { SCENES, startScene } from './scenes.ts';
import { viewer } from './viewer.ts';
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
      const { frames, page } = viewer(shown.url);
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
      expect(watching.length).toBeGreaterThan(0);
      for (const seen of watching) expect(lasting(await seen)).toEqual(recorded);
      expect(lasting(await frames(run.runId, isEnd))).toEqual(recorded);
      expect((await page(run.runId, 0, 5000)).frames).toEqual(recorded);
    },
  );
});

function stepsIn(recording: string): number {
  return framesOf(readRecording(recording), { id: '', version: '' }).filter(({ t }) => t === 'step').length;
}

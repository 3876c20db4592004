import fc from 'fast-check';
import { expect, test } from 'vitest';
import { frameText } from '../../src/inspector/frames/frame-text.ts';
import { framesOf } from '../../src/inspector/frames/frames-of.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { SCENES, startScene } from './scenes.ts';

test.each(SCENES)('every frame of a run is written as JSON: %s', async (scene) => {
  const run = startScene(scene);
  for await (const event of run) if (event.type === 'approval.requested') await run.approve(event.callId);
  const frames = framesOf(readRecording(run.recording()), { id: run.runId, version: '0' });
  expect(frames.length).toBeGreaterThan(10);
  for (const frame of [...frames, ...frames]) expect(frameText(frame)).toBe(JSON.stringify(frame));
});

const text = fc.string({ unit: 'binary' });
const always = {
  n: fc.nat(),
  at: fc.nat(),
  actor: text,
  event: text,
  transitions: fc.array(text),
  from: fc.array(text),
  to: fc.array(text),
  entry: fc.option(fc.nat()),
};
const step = fc.oneof(fc.record(always), fc.record({ ...always, sender: fc.option(text) }));

test('a step is, whatever its names are', () => {
  fc.assert(
    fc.property(step, text, (info, session) => {
      const frame = { t: 'step', session, step: info } as const;
      expect(frameText(frame)).toBe(JSON.stringify(frame));
    }),
  );
});

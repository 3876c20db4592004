import { mkdirSync, writeFileSync } from 'node:fs';
import { framesOf } from '../test/inspector/frames-of.ts';
import type { Frame } from '../src/inspector/frames/protocol.ts';
import { readRecording } from '../src/journal/format/recording.ts';
import { SCENES, startScene } from '../test/inspector/scenes.ts';

// Makes the frames that the page's tests are fed with, of real runs: test/inspector/fixtures/<scene>.json.
const folder = new URL('../test/inspector/fixtures/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const scene of SCENES) {
  const run = startScene(scene);
  if (scene === 'approval') for await (const event of run) if (event.type === 'approval.requested') break;
  if (scene !== 'approval') await run;
  const frames = framesOf(readRecording(run.recording()), { id: scene, version: '0.0.0' }).map((frame) =>
    scene === 'approval' ? asLive(frame) : frame,
  );
  writeFileSync(
    new URL(`${scene}.json`, folder),
    `[\n${frames.map((frame) => JSON.stringify(frame)).join(',\n')}\n]\n`,
  );
  await run.cancel();
}

function asLive(frame: Frame): Frame {
  if (frame.t !== 'session') return frame;
  const can = ['approve', 'cancel', 'send', 'download'] as const;
  return { ...frame, session: { ...frame.session, kind: 'run', status: 'running', can } };
}

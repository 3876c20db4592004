import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { framesOf } from './frames-of.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import type { RunPort } from '../../src/inspector/frames/run-port.ts';
import { runSession } from '../../src/inspector/sessions/run-session.ts';
import type { Session } from '../../src/inspector/sessions/session.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const TURNS = 250;

/** A run of more than an inspector keeps, which begins when `go` resolves. */
function longRun(shown: RunPort, go: Promise<unknown>) {
  const script = scriptedModel([...Array.from({ length: TURNS }, (_, n) => calls(['read', { n }])), 'Done.']);
  const agent = createAgent({
    model: { id: 'held', complete: async (request, io) => (await go, script.complete(request, io)) },
    tools: [fakeTool('read', [{ text: 'x'.repeat(12_000) }])],
    maxSteps: TURNS + 5,
    silent: true,
    inspect: shown,
  });
  return agent.run('Read it all.');
}

const kinds = (frames: readonly Frame[]): readonly string[] => frames.map(({ t }) => t);
const recordedKinds = (recording: string): readonly string[] =>
  kinds(framesOf(readRecording(recording), { id: '', version: '' }).slice(2));
const framesIn = ({ value }: IteratorResult<Uint8Array, void>): readonly Frame[] =>
  new TextDecoder()
    .decode(value ?? new Uint8Array())
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line): Frame => JSON.parse(line.slice('data: '.length)));
const isEnd = (frame: Frame): boolean => frame.t === 'record' && frame.record.t === 'end';

describe('a viewer', () => {
  test('that does not take its frames holds up nothing, is told how many it missed, and can ask for them', async () => {
    const { promise: go, resolve: begin } = Promise.withResolvers<void>();
    const { promise: attached, resolve: attach } = Promise.withResolvers<Session>();
    const { promise: live, resolve: joined } = Promise.withResolvers<void>();
    const run = longRun(
      {
        attach: (watched) => {
          const watch: typeof watched.watch = (watcher) => {
            watched.watch(watcher);
            joined();
          };
          attach(runSession({ ...watched, watch }, () => undefined).session);
          return { ended: () => undefined };
        },
      },
      go,
    );
    const session = await attached;
    const stop = new AbortController();
    const frames: Frame[] = [];
    const following = session.follow(0, stop.signal);
    while (frames.length === 0) frames.push(...framesIn(await following.next()));
    await live;
    while (frames.length < recordedKinds(run.recording()).length) frames.push(...framesIn(await following.next()));
    const asleep = following.next();
    begin();
    expect((await run).status).toBe('answered');
    frames.push(...framesIn(await asleep));
    while (!frames.some(isEnd)) frames.push(...framesIn(await following.next()));
    stop.abort();

    const place = frames.findIndex(({ t }) => t === 'gap');
    const gap = frames[place];
    expect(gap).toMatchObject({ t: 'gap', dropped: expect.any(Number) });
    const missed = await session.page(place, gap?.t === 'gap' ? gap.dropped : 0);
    const whole = [...frames.slice(0, place), ...missed.frames, ...frames.slice(place + 1)];
    expect(kinds(whole)).toEqual(recordedKinds(run.recording()));
  });

  test('that dies takes nothing with it', async () => {
    const shown = await inspector();
    const { promise: go, resolve: begin } = Promise.withResolvers<void>();
    const run = longRun(shown, go);
    await viewer(shown.url).list((frame) => frame.t === 'session');
    const socket = connect(shown.port, '127.0.0.1');
    const { search } = new URL(shown.url);
    socket.write(`GET /api/sessions/${run.runId}/stream${search} HTTP/1.1\r\nHost: 127.0.0.1:${shown.port}\r\n\r\n`);
    await new Promise((resolve) => socket.once('readable', resolve));
    begin();
    socket.resetAndDestroy();
    expect((await run).status).toBe('answered');
  });

  test('that comes late to a long run gets all of it, without a gap', async () => {
    const shown = await inspector();
    const run = longRun(shown, Promise.resolve());
    await run;
    const frames = await viewer(shown.url).frames(run.runId, isEnd);
    expect(kinds(frames)).toEqual(recordedKinds(run.recording()));
  });
});

import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { framesOf } from './frames-of.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import type { RunPort } from '../../src/inspector/frames/run-port.ts';
import { JournalPlayer } from '../../src/inspector/page/player/journal-player.ts';
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
const linesIn = ({ value }: IteratorResult<Uint8Array, void>): readonly string[] =>
  new TextDecoder()
    .decode(value ?? new Uint8Array())
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length));
const isEnd = (frame: Frame): boolean => frame.t === 'record' && frame.record.t === 'end';

describe('a viewer', () => {
  test('that does not take its lines holds up nothing, has nothing kept for it, and gets all of them when it does', async () => {
    const { promise: go, resolve: begin } = Promise.withResolvers<void>();
    const { promise: attached, resolve: attach } = Promise.withResolvers<Session>();
    let read = 0;
    const run = longRun(
      {
        attach: (watched) => {
          const reader: typeof watched.reader = () => {
            const next = watched.reader();
            return () => {
              read += 1;
              return next();
            };
          };
          attach(runSession({ ...watched, reader }, () => undefined).session);
          return { ended: () => undefined };
        },
      },
      go,
    );
    const session = await attached;
    const stop = new AbortController();
    const following = session.follow(0, stop.signal);
    const lines = [...linesIn(await following.next())];
    const before = read;
    begin();
    expect((await run).status).toBe('answered');
    expect(read).toBe(before);

    let largest = 0;
    for (let next = await following.next(); next.done !== true; next = await following.next()) {
      lines.push(...linesIn(next));
      largest = Math.max(largest, next.value.length);
    }
    expect(lines.length).toBe(run.recording().match(/^\{"t":"(?!blob)/gm)?.length);
    expect(largest).toBeLessThan(1_000_000);
    const frames: Frame[] = [];
    const player = new JournalPlayer('', (frame) => void frames.push(frame));
    for (const line of lines) player.take(line);
    expect(kinds(frames)).toEqual(recordedKinds(run.recording()));
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

import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { framesOf } from './frames-of.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import type { RunPort } from '../../src/inspector/frames/run-port.ts';
import { JournalPlayer } from '../../src/inspector/page/player/journal-player.ts';
import { runSession } from '../../src/inspector/sessions/run-session.ts';
import type { Session } from '../../src/inspector/sessions/session-list.ts';
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
const nextLines = async (following: ReturnType<Session['follow']>) => linesIn(await following.next());
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

  test('that does not take its tokens has some kept for it, and then gets all that the reply has said', async () => {
    const { promise: attached, resolve: attach } = Promise.withResolvers<Session>();
    const { promise: go, resolve: begin } = Promise.withResolvers<void>();
    const { promise: end, resolve: answer } = Promise.withResolvers<void>();
    const { promise: spoken, resolve: speak } = Promise.withResolvers<void>();
    const port: RunPort = {
      attach: (watched) => {
        attach(runSession(watched, () => undefined).session);
        return { ended: () => undefined };
      },
    };
    const words = Array.from({ length: 7000 }, (_, n) => `w${n} `);
    const run = createAgent({
      model: {
        id: 'fast',
        complete: async (_, { onToken }) => {
          await go;
          for (const text of words) onToken?.({ kind: 'text', text });
          speak();
          await end;
          return { content: words.join('') };
        },
      },
      streaming: true,
      silent: true,
      inspect: port,
    }).run('Talk.');
    const following = (await attached).follow(0, new AbortController().signal);
    while (!linesIn(await following.next()).some((line) => line.includes('"callLlm"')));
    begin();
    await spoken;
    const said: string[] = [];
    // On a busy machine it comes in more than one piece.
    while (said.at(-1)?.includes(words.join('')) !== true)
      said.push(...(await nextLines(following)).filter((line) => line.startsWith('{"t":"said"')));
    answer();
    expect((await run).status).toBe('answered');
    const rest = await nextLines(following);
    // Fewer where the machine is busy: what comes while lines are still to be read is not kept.
    expect(said.length).toBeGreaterThan(1);
    expect(said.length).toBeLessThanOrEqual(5001);
    expect(said.at(-1)).toContain(words.join(''));
    expect(rest.some((line) => line.startsWith('{"t":"said"'))).toBe(false);
  });

  test('that is far behind gets what a reply says after the line that it belongs to, and once', async () => {
    const { promise: attached, resolve: attach } = Promise.withResolvers<Session>();
    const { promise: end, resolve: answer } = Promise.withResolvers<void>();
    const { promise: spoken, resolve: speak } = Promise.withResolvers<void>();
    const script = scriptedModel(Array.from({ length: 60 }, (_, n) => calls(['read', { n }])));
    const run = createAgent({
      model: {
        id: 'late',
        complete: async (request, io) => {
          if (script.requests.length < 60) return script.complete(request, io);
          for (const text of ['At ', 'last.']) io.onToken?.({ kind: 'text', text });
          speak();
          await end;
          return { content: 'At last.' };
        },
      },
      tools: [fakeTool('read', [{ text: 'x'.repeat(12_000) }])],
      maxSteps: 70,
      streaming: true,
      silent: true,
      inspect: {
        attach: (watched) => {
          attach(runSession(watched, () => undefined).session);
          return { ended: () => undefined };
        },
      },
    }).run('Read it all.');
    const session = await attached;
    const following = session.follow(0, new AbortController().signal);
    const lines = [...(await nextLines(following))];
    await spoken;
    while (!lines.some((line) => line.includes('At last.'))) lines.push(...(await nextLines(following)));
    answer();
    expect((await run).status).toBe('answered');
    const kindsOf = lines.map((line) => /^\{"t":"(\w+)"/.exec(line)?.[1]);
    expect(kindsOf.slice(kindsOf.indexOf('said') - 1)).toEqual(['start', 'said']);
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

import { describe, expect, test } from 'vitest';
import type { Frame, SessionInfo, StepInfo } from '../../src/inspector/frames/protocol.ts';
import { messagesOf } from '../../src/inspector/page/model/sequence.ts';
import { modelOf } from './page/fixture.ts';
import { statelyApp } from './stately-app.ts';
import { type Viewer, viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const stepsOf = (frames: readonly Frame[]): readonly StepInfo[] =>
  frames.flatMap((frame) => (frame.t === 'step' ? [frame.step] : []));
const told = (frames: readonly Frame[]): readonly string[] =>
  stepsOf(frames).map(({ actor, event, to }) => `${actor} ${event} ${to.join()}`);
const isStep =
  (event: string) =>
  (frame: Frame): boolean =>
    frame.t === 'step' && frame.step.event === event;

/** The session with this id, as soon as it has this status. */
async function listed({ list }: Viewer, id: string, status: SessionInfo['status']): Promise<SessionInfo> {
  const frames = await list(
    (frame) => frame.t === 'session' && frame.session.id === id && frame.session.status === status,
  );
  return frames.flatMap((frame) => (frame.t === 'session' ? [frame.session] : []))[frames.length - 2] as SessionInfo;
}

async function shownApp(app = '') {
  const shown = await inspector();
  const look = viewer(shown.url);
  const start = () => statelyApp(`${shown.statelyUrl}${app}`);
  const first = start();
  await listed(look, 'stately-1', 'running');
  return { shown, look, first, start };
}

describe("a program that uses Stately's WebSocket client", () => {
  test('is drawn and followed live, its children too, under the name that it gives itself', async () => {
    const { look, first } = await shownApp('&app=hall');
    await first.tell('KNOCK');
    await look.frames('stately-1', isStep('KNOCK'));
    for (const line of ['SLAM', 'LOCK', 'BACK']) await first.tell(line);
    const frames = await look.frames('stately-1', ({ t }) => t === 'actor-gone');
    expect(frames.flatMap((frame) => (frame.t === 'drawing' ? [frame.drawing.id] : []))).toEqual(['door', 'bolt']);
    expect(told(frames)).toEqual([
      'front started SHUT',
      'front KNOCK OPEN',
      'front SLAM SHUT',
      'front/bolt started OUT',
      'front LOCK LOCKED',
      'front bolt.done SHUT',
      'front/bolt BACK IN',
    ]);
    expect(stepsOf(frames)[1]?.transitions).toEqual(['SHUT|KNOCK|0']);
    expect(await look.step('stately-1', 2)).toMatchObject({ candidates: [{ guard: 'isWelcome', taken: true }] });
    expect(await listed(look, 'stately-1', 'running')).toMatchObject({ title: 'hall: front', agent: 'hall', can: [] });
  });

  test('tells who told whom what: the child that ended, its parent, or somebody outside', async () => {
    const { look, first } = await shownApp();
    for (const line of ['LOCK', 'BACK', 'KNOCK']) await first.tell(line);
    const frames = await look.frames('stately-1', isStep('KNOCK'));
    const session = await listed(look, 'stately-1', 'running');
    const { session: seen } = modelOf([{ t: 'session', session }, ...frames]);
    expect(messagesOf(seen).map(({ from, to, label }) => `${from} > ${to}: ${label}`)).toEqual([
      'null > front: start',
      'front > front/bolt: start',
      'null > front: LOCK',
      'front/bolt > front: bolt.done',
      'null > front/bolt: BACK',
      'null > front: KNOCK',
    ]);
  });

  test('is over when its actor is, and stopped when it says goodbye', async () => {
    const { look, first, start } = await shownApp();
    await first.tell('disconnect');
    expect(await listed(look, 'stately-1', 'stopped')).toMatchObject({ reason: 'disconnected' });
    const second = start();
    await listed(look, 'stately-2', 'running');
    for (const line of ['LOCK', 'BURN']) await second.tell(line);
    await listed(look, 'stately-2', 'answered');
    await second.kill();
    await start().tell('KNOCK');
    await look.frames('stately-3', isStep('KNOCK'));
    expect(await listed(look, 'stately-2', 'answered')).toMatchObject({ reason: null });
  });

  test('is interrupted when it dies; started again it is another session', async () => {
    const { look, first, start } = await shownApp();
    await first.kill();
    expect(await listed(look, 'stately-1', 'interrupted')).toMatchObject({ reason: 'disconnected' });
    await start().tell('KNOCK');
    await look.frames('stately-2', isStep('KNOCK'));
    expect(told(await look.frames('stately-1', isStep('started')))).toEqual(['front started SHUT']);
  });

  test('goes on in the same session when it connects again, and what it sends once more is not shown again', async () => {
    const { look, first } = await shownApp();
    await first.tell('KNOCK');
    await look.frames('stately-1', isStep('KNOCK'));
    for (const line of ['SLAM', 'KNOCK', 'SLAM']) {
      await first.tell('disconnect');
      await listed(look, 'stately-1', 'stopped');
      await first.tell(line);
      await first.tell('reconnect');
      await listed(look, 'stately-1', 'running');
    }
    await first.tell('LOCK');
    expect(told(await look.frames('stately-1', isStep('LOCK')))).toEqual([
      'front started SHUT',
      'front KNOCK OPEN',
      'front SLAM SHUT',
      'front KNOCK OPEN',
      'front SLAM SHUT',
      'front/bolt started OUT',
      'front LOCK LOCKED',
    ]);
  });

  test('and another of the same name that runs beside it are two sessions', async () => {
    const { look, first, start } = await shownApp('&app=twin');
    const second = start();
    await listed(look, 'stately-2', 'running');
    await first.tell('KNOCK');
    await second.tell('KNOCK');
    await second.tell('SLAM');
    expect(told(await look.frames('stately-1', isStep('KNOCK')))).toEqual(['front started SHUT', 'front KNOCK OPEN']);
    expect(told(await look.frames('stately-2', isStep('SLAM')))).toEqual([
      'front started SHUT',
      'front KNOCK OPEN',
      'front SLAM SHUT',
    ]);
  });

  test('is cut off, and not the inspector, when one message is longer than 10 MB', async () => {
    const { look, first, start } = await shownApp();
    await first.tell('STUFF');
    expect(await listed(look, 'stately-1', 'interrupted')).toMatchObject({ reason: 'it sent too much at once' });
    await start().tell('KNOCK');
    await look.frames('stately-2', isStep('KNOCK'));
  });
});

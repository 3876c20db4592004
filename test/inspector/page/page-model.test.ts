import { expect, test } from 'vitest';
import { type Frame, PROTOCOL, type SessionInfo } from '../../../src/inspector/frames/protocol.ts';
import type { RunEvent } from '../../../src/machines/events/run-events.ts';
import { PageModel } from '../../../src/inspector/page/model/page-model.ts';
import { isFrame } from '../../../src/inspector/page/state/feed.ts';
import { sessionFrame, step } from './fixture.ts';

const hello = (sessions: readonly string[], protocol = PROTOCOL): Frame => ({
  t: 'hello',
  protocol,
  version: '1.0.0',
  sessions,
});
const changed = (id: string, more: Partial<SessionInfo>): Frame => {
  const frame = sessionFrame(id);
  return frame.t === 'session' ? { t: 'session', session: { ...frame.session, ...more } } : frame;
};
const gone = (session: string): Frame => ({ t: 'session-gone', session });

/** A model in which a session may be shown; what it has dropped is in `dropped`. */
function modelWith(shown: string | null, frames: readonly Frame[]) {
  const model = new PageModel();
  const dropped: string[] = [];
  let view = shown;
  model.isShown = (id) => id === view;
  model.onDropped = (id) => void dropped.push(id);
  for (const frame of frames) model.add(frame);
  return { model, dropped, show: (id: string | null) => (view = id), ids: () => [...model.sessions.keys()] };
}

test.each([
  ['an older', PROTOCOL - 1, false],
  ['the same', PROTOCOL, false],
  ['a newer', PROTOCOL + 1, true],
])('a page says of a server that speaks %s protocol only what is true', (_, protocol, newer) => {
  expect(modelWith(null, [hello([], protocol)]).model.server?.newer).toBe(newer);
});

test('a message of a kind that this page does not know, of a newer server, changes nothing', () => {
  const told: readonly unknown[] = [{ t: 'chorus', session: 'a' }, { t: 'weather' }];
  const frames = told.filter(isFrame);
  const { model, ids } = modelWith('a', [sessionFrame('a'), { t: 'step', session: 'a', step: step(1, 'IDLE') }]);
  for (const frame of frames) model.add(frame);
  expect([frames.length, ids(), model.sessions.get('a')?.steps.length]).toEqual([2, ['a'], 1]);
});

test('a session that the server drops is dropped, but not while it is shown; one that it drops and has again stays', () => {
  const { model, dropped, show, ids } = modelWith('a', [sessionFrame('a'), sessionFrame('b'), gone('a'), gone('b')]);
  expect([ids(), dropped, model.isGone('a'), model.isGone('b')]).toEqual([['a'], ['b'], true, false]);
  show(null);
  model.add(changed('a', { status: 'answered' }));
  model.forgetGone();
  expect([ids(), model.isGone('a'), model.sessions.get('a')?.info.status]).toEqual([['a'], false, 'answered']);
  model.add(gone('a'));
  expect([ids(), dropped]).toEqual([[], ['b', 'a']]);
});

test('a session that comes back is the one that it was: with its steps, and what is new of it', () => {
  const { model } = modelWith('a', [sessionFrame('a'), { t: 'step', session: 'a', step: step(1, 'IDLE') }, hello([])]);
  const before = model.sessions.get('a');
  model.add(changed('a', { title: 'Resumed' }));
  expect(model.sessions.get('a')).toBe(before);
  expect([before?.info.title, before?.steps.length]).toEqual(['Resumed', 1]);
});

test('a run that began at another time, under the id of one that is known, is another one, without the steps of the first', () => {
  const { model, dropped } = modelWith('a', [
    sessionFrame('a'),
    { t: 'step', session: 'a', step: step(1, 'IDLE') },
    hello(['a']),
    changed('a', { at: '2030-01-01T00:00:00.000Z', title: 'Anew' }),
  ]);
  const { info, steps } = model.sessions.get('a') ?? {};
  expect([info?.title, steps, dropped]).toEqual(['Anew', [], ['a']]);
});

test.each([
  ['running', 'interrupted'],
  ['failed', 'failed'],
  ['answered', 'answered'],
] as const)('nothing can be done with a session that is %s when the next server does not have it', (status, then) => {
  const about = { status, waiting: 2, can: ['approve'], title: 'A task' } as const;
  const { model, dropped, ids } = modelWith('a', [changed('a', about), changed('b', about), changed('c', about)]);
  model.add(hello(['c']));
  expect([ids(), dropped]).toEqual([['a', 'c'], ['b']]);
  expect(model.sessions.get('a')?.info).toMatchObject({ status: then, waiting: 0, can: [], title: 'A task' });
  expect(model.sessions.get('c')?.info).toMatchObject(about);
});

test('what comes twice counts once, what was left out adds up, and the latest time is the latest of all', () => {
  const { model } = modelWith(null, [sessionFrame('a')]);
  const session = model.sessions.get('a');
  const say = (seq: number, type: string, at: number): void =>
    model.add({
      t: 'event',
      session: 'a',
      at,
      step: 0,
      event: { seq, type, replayed: false, message: '' } as RunEvent,
    });
  for (const n of [1, 2, 2, 1]) model.add({ t: 'step', session: 'a', step: step(n, `S${n}`) });
  expect(session?.steps.map(({ n }) => n)).toEqual([1, 2]);
  model.add({ t: 'step', session: 'a', step: step(3, 'S3', { at: 5 }) });
  expect(session?.lastAt).toBe(20);
  say(1, 'warning', 40);
  say(1, 'warning', 90);
  say(1, 'model.token', 50);
  say(2, 'warning', 30);
  expect(session?.told.map(({ event: { seq, type } }) => `${seq} ${type}`)).toEqual(['1 warning', '2 warning']);
  expect(session?.lastAt).toBe(50);
  for (const dropped of [3, 4]) model.add({ t: 'gap', session: 'a', dropped });
  expect(session?.dropped).toBe(7);
});

test('an actor lives from one step to another, again under the same path, and is in each life what it then was', () => {
  const born = (path: string, drawing: string): Frame => ({
    t: 'actor',
    session: 'a',
    step: 0,
    actor: { path, parent: null, src: 's', drawing },
  });
  const end = (path: string): Frame => ({ t: 'actor-gone', session: 'a', path, step: 0 });
  const went = (n: number): Frame => ({ t: 'step', session: 'a', step: step(n, 'S', { actor: 'x' }) });
  const { model } = modelWith(null, [sessionFrame('a'), born('x', 'd1'), went(1), went(2), end('x'), end('x')]);
  const track = () => model.sessions.get('a')?.actors.get('x');
  const lives = () => track()?.lives.map(({ info, from, to }) => [info.drawing, from, to]);
  expect(lives()).toEqual([['d1', 0, 1]]);
  // Under its path again, and then, since it is still there, not once more.
  for (const frame of [born('x', 'd1'), born('x', 'd1'), went(3)]) model.add(frame);
  expect(lives()).toEqual([
    ['d1', 0, 1],
    ['d1', 2, null],
  ]);
  // Another actor under the path of one whose end was not seen.
  for (const frame of [born('x', 'd2'), end('nobody')]) model.add(frame);
  expect(lives()?.at(-1)).toEqual(['d2', 3, null]);
  expect([track()?.info.drawing, track()?.steps]).toEqual(['d2', [0, 1, 2]]);
});

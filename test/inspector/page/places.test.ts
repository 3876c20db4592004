import { expect, test } from 'vitest';
import type { ActorInfo, Frame, StepInfo } from '../../../src/inspector/frames/protocol.ts';
import { crumbsOf, movedActor, visitsAt } from '../../../src/inspector/page/model/actor-state.ts';
import { search, stepOfLine } from '../../../src/inspector/page/model/search.ts';
import { messagesOf } from '../../../src/inspector/page/model/sequence.ts';
import { durationText, timeScale } from '../../../src/inspector/page/model/time-scale.ts';
import type { RecordLine } from '../../../src/journal/format/record.ts';
import { modelOf, sessionFrame, step } from './fixture.ts';

const born = (path: string, more: Partial<ActorInfo> = {}): Frame => {
  const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : null;
  return { t: 'actor', session: 'run', step: 0, actor: { path, parent, src: 's', drawing: 'd', ...more } };
};
const went = (n: number, more: Partial<StepInfo>): Frame => ({
  t: 'step',
  session: 'run',
  step: step(n, 'S', { actor: 'p', ...more }),
});
const gone = (path: string): Frame => ({ t: 'actor-gone', session: 'run', path, step: 0 });
const sessionWith = (...frames: readonly Frame[]) => modelOf([sessionFrame(), ...frames]).session;

test.each([
  [9999, '10.0 s'],
  [10_000, '10 s'],
  [59_499, '59 s'],
  [3_599_000, '59 min 59 s'],
  [3_600_000, '1 h 00 min'],
  [86_400_000, '1 d 00 h'],
])('%d ms are written as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test('a scale has a place for each step, however many there are; a clock that goes back takes no room', () => {
  const many = Array.from({ length: 50 }, (_, n) => step(n + 1, 'S'));
  const even = timeScale(many, 'even');
  expect(many.map((_, position) => even.step(even.at(position)))).toEqual(many.map((_, position) => position));
  expect([even.at(99), even.at(-1)]).toEqual([1, 0]);
  expect(timeScale([step(1, 'S')], 'true').at(0)).toBe(0);
  const clock = timeScale(
    [0, 10, 5, 20].map((at, n) => step(n + 1, 'S', { at })),
    'true',
  );
  expect([0, 1, 2, 3].map((position) => clock.at(position))).toEqual([0, 0.4, 0.4, 1]);
});

test.each([
  [0, 0],
  [1, 0],
  [2, 2],
  [3, 2],
  [4, 3],
  [9, 3],
])('line %d of a recording is found at the step at position %d', (line, position) => {
  const steps = [1, 1, 2, 4].map((entry, n) => step(n + 1, 'S', { entry }));
  expect(stepOfLine({ steps }, line)).toBe(position);
});

test('a text that was said is found at the step at which it was said', () => {
  const event = { type: 'warning', message: 'A needle', seq: 1, replayed: false } as const;
  const said: Frame = { t: 'event', session: 'run', at: 1, step: 2, event };
  const session = sessionWith(born('p'), went(1, {}), went(2, {}), said, went(3, {}));
  expect(search(session, 'NEEDLE').map(({ position, where }) => [position, where])).toEqual([[1, 'warning']]);
});

test('a state is counted when it is entered, and not for each step in it', () => {
  const path = (from: string, to: string) => ({ from: [from], to: [to] });
  const session = sessionWith(
    born('p'),
    ...[path('', 'A'), path('A', 'A'), path('A', 'A.B'), path('A.B', 'C'), path('C', 'A')].map((one, n) =>
      went(n + 1, one),
    ),
  );
  const counts = (position: number) => Object.fromEntries(visitsAt(session, 'p', position).visits);
  expect(counts(4)).toEqual({ A: 2, 'A.B': 1, C: 1 });
  expect(counts(2)).toEqual({ A: 1, 'A.B': 1 });
});

test('of an agent below another its path names the agents, not the call', () => {
  expect(crumbsOf('agent/c1/childAgent/c2')).toEqual(['agent', 'agent/c1/childAgent', 'agent/c1/childAgent/c2']);
});

test.each([
  ['run', 'agent/c1', 'agent'],
  ['recording', 'agent/c1/childAgent/c2', 'agent/c1/childAgent'],
  ['system', 'p', 'p'],
  ['system', 'p/leaf', null],
] as const)('the chart of a %s in which %s has moved is that of %s', (kind, actor, shown) => {
  const session = sessionWith(born('p'), born('p/leaf', { drawing: null }));
  session.info = { ...session.info, kind };
  expect(movedActor(session, step(1, 'S', { actor }))).toBe(shown);
  expect(movedActor(session, undefined)).toBe(null);
});

const record = (line: number, type: string): Frame => ({
  t: 'record',
  session: 'run',
  line,
  record: { t: 'event', at: 0, event: { type } } as RecordLine,
});

test.each([
  ['another actor, as was reported', [went(1, { event: 'ping', sender: 'q' })], 'q'],
  ['nobody here, as was reported', [went(1, { actor: 'p/c', event: 'ping', sender: null })], null],
  ['a person, as the recording says', [record(2, 'ping'), went(1, { actor: 'p/c', event: 'ping', entry: 2 })], null],
  ['the actor above', [record(2, 'pong'), went(1, { actor: 'p/c', event: 'ping', entry: 2 })], 'p'],
  ['the one below that has just ended', [went(1, { actor: 'p/c' }), gone('p/c'), went(2, { event: 'ping' })], 'p/c'],
  ['nobody below that goes on', [went(1, { actor: 'p/c' }), went(2, { event: 'ping' })], null],
  ['the one below that has reported', [went(1, { actor: 'p/c' }), went(2, { event: 'work.done' })], 'p/c'],
  ['its own leaf, which has no steps', [went(1, { event: 'work.done' })], 'p'],
  ['the leaf that is named', [born('p/work', { drawing: null }), went(1, { event: 'work.done' })], 'p/work'],
] as const)('an event came from %s', (_, frames, from) => {
  expect(messagesOf(sessionWith(born('p'), born('p/c'), ...frames)).at(-1)?.from).toBe(from);
});

import { createInspector as statelyInspector } from '@statelyai/inspect';
import { describe, expect, test } from 'vitest';
import { assign, createActor, fromPromise, setup } from 'xstate';
import type { Frame, SessionInfo, StepInfo } from '../../src/inspector/frames/protocol.ts';
import { type Viewer, viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const timer = setup({ types: { events: {} as { readonly type: 'RING' } } }).createMachine({
  id: 'timer',
  initial: 'TICKING',
  states: { TICKING: { on: { RING: 'OVER' } }, OVER: { type: 'final' } },
});

/** A machine of another app: two regions, a named guard, an action, a child machine, a promise. */
const kitchen = setup({
  types: { context: {} as { readonly dishes: number }, events: {} as { readonly type: 'ORDER' | 'LEAVE' | 'LOOK' } },
  actors: { timer, cook: fromPromise(async () => 'soup') },
  guards: { isOpen: ({ context }) => context.dishes < 2 },
  actions: { count: assign({ dishes: ({ context }) => context.dishes + 1 }) },
}).createMachine({
  id: 'kitchen',
  context: { dishes: 0 },
  type: 'parallel',
  states: {
    STOVE: {
      initial: 'COLD',
      states: {
        COLD: { on: { ORDER: { guard: 'isOpen', target: 'HOT', actions: 'count' } } },
        HOT: { invoke: { src: 'cook', onDone: 'COLD' }, on: { LEAVE: 'COLD' } },
      },
    },
    CLOCK: {
      invoke: { id: 'timer', src: 'timer', onDone: '.IDLE' },
      initial: 'RUNNING',
      states: { RUNNING: {}, IDLE: {} },
    },
  },
});

const isStep = (event: string) => (frame: Frame) => frame.t === 'step' && frame.step.event === event;
const stepsOf = (frames: readonly Frame[], actor: string): readonly StepInfo[] =>
  frames.flatMap((frame) => (frame.t === 'step' && frame.step.actor === actor ? [frame.step] : []));

/** Another app's client, as docs/inspector.md shows it: their code, and a request for each event. */
function connect(url: string, app = '') {
  const base = new URL(url);
  const to = new URL(`/api/stately?app=${app}`, base);
  const headers = {
    authorization: `Bearer ${base.searchParams.get('token')}`,
    'content-type': 'application/json',
  };
  let sent: Promise<unknown> = Promise.resolve();
  const { inspect } = statelyInspector({
    send: (event) => {
      sent = sent
        .then(() => fetch(to, { method: 'POST', headers, body: JSON.stringify(event) }))
        .catch(() => undefined);
    },
  });
  return inspect;
}

async function sessionsOf({ list }: Viewer, until: (session: SessionInfo) => boolean): Promise<readonly SessionInfo[]> {
  const frames = await list((frame) => frame.t === 'session' && until(frame.session));
  return frames.flatMap((frame) => (frame.t === 'session' ? [frame.session] : []));
}

describe('another app that is inspected by @statelyai/inspect', () => {
  test('is drawn from its definition and followed, its children too', async () => {
    const shown = await inspector();
    const look = viewer(shown.url);
    const actor = createActor(kitchen, { id: 'k', inspect: connect(shown.url, 'bistro') }).start();
    actor.send({ type: 'ORDER' });
    actor.getSnapshot().children.timer?.send({ type: 'RING' });
    await sessionsOf(look, ({ id }) => id === 'stately-1');
    const frames = await look.frames('stately-1', (frame) => frame.t === 'actor-gone' && frame.path === 'k/timer');
    expect(frames.flatMap((frame) => (frame.t === 'drawing' ? [frame.drawing.id] : []))).toEqual(['kitchen', 'timer']);
    expect(stepsOf(frames, 'k').slice(0, 2)).toMatchObject([
      { event: 'started', from: [], to: ['CLOCK', 'CLOCK.RUNNING', 'STOVE', 'STOVE.COLD'] },
      {
        event: 'ORDER',
        transitions: ['STOVE.COLD|ORDER|0'],
        from: ['CLOCK', 'CLOCK.RUNNING', 'STOVE', 'STOVE.COLD'],
        to: ['CLOCK', 'CLOCK.RUNNING', 'STOVE', 'STOVE.HOT'],
      },
    ]);
    expect(stepsOf(frames, 'k/timer')).toMatchObject([
      { event: 'started', to: ['TICKING'] },
      { event: 'RING', transitions: ['TICKING|RING|0'], to: ['OVER'] },
    ]);
    expect(stepsOf(frames, 'k').find(({ event }) => event === 'timer.done')).toMatchObject({
      transitions: ['CLOCK|xstate.done.actor.timer|0'],
      to: ['CLOCK', 'CLOCK.IDLE', 'STOVE', 'STOVE.HOT'],
    });
    const [listed] = await sessionsOf(look, ({ id }) => id === 'stately-1');
    expect(listed).toMatchObject({ kind: 'system', title: 'bistro: k', agent: 'bistro', status: 'running', can: [] });
    expect(await look.act('stately-1', { kind: 'send', event: { type: 'LEAVE' } })).toMatchObject({ ok: false });
  });

  test('tells the contexts of a step and names its guards, which only the app itself can ask', async () => {
    const shown = await inspector();
    const look = viewer(shown.url);
    const actor = createActor(kitchen, { id: 'k', inspect: connect(shown.url) }).start();
    actor.send({ type: 'ORDER' });
    await sessionsOf(look, ({ id }) => id === 'stately-1');
    const last = (await look.frames('stately-1', isStep('ORDER'))).at(-1);
    expect(await look.step('stately-1', last?.t === 'step' ? last.step.n : 0)).toMatchObject({
      event: { type: 'ORDER' },
      before: { dishes: 0 },
      after: { dishes: 1 },
      candidates: [{ guard: 'isOpen', passed: true, taken: true }],
    });
  });

  test('ends when its root ends; started again, it is another session', async () => {
    const shown = await inspector();
    const look = viewer(shown.url);
    const inspect = connect(shown.url);
    const first = createActor(timer, { inspect }).start();
    first.send({ type: 'RING' });
    expect((await sessionsOf(look, ({ status }) => status !== 'running')).at(-1)).toMatchObject({ status: 'answered' });
    for (let starts = 0; starts < 2; starts++) createActor(timer, { inspect }).start();
    expect((await sessionsOf(look, ({ id }) => id === 'stately-3')).map(({ id }) => id)).toContain('stately-2');
  });
});

describe('events that are handed in', () => {
  const actor = (sessionId: string, definition: object | string) => ({
    type: '@xstate.actor',
    name: 'lamp',
    sessionId,
    rootId: sessionId,
    createdAt: '1000',
    definition: typeof definition === 'string' ? definition : JSON.stringify(definition),
    snapshot: { status: 'active', value: 'ON', context: {} },
  });
  const lamp = { id: 'lamp', initial: 'ON', states: { ON: {} } };

  test('two apps with the same ids are two sessions, and an app that is started again is another one', async () => {
    const shown = await inspector();
    const look = viewer(shown.url);
    for (const app of ['one', 'two', 'one']) expect(shown.receive(actor('x:0', lamp), app)).toBe(true);
    const sessions = await sessionsOf(look, ({ id }) => id === 'stately-3');
    expect(sessions.map(({ id, title, status }) => `${id} ${title} ${status}`)).toEqual([
      'stately-1 one: lamp interrupted',
      'stately-2 two: lamp running',
      'stately-3 one: lamp running',
    ]);
  });

  test.each([
    ['no JSON', '{'],
    ['a target that is not there', { ...lamp, states: { ON: { on: { GO: 'NOWHERE' } } } }],
    ['no states', { id: 'promise' }],
    ['a million characters', { ...lamp, description: 'x'.repeat(1_000_000) }],
    ['a prototype', '{"id":"lamp","states":{"__proto__":{"on":{"GO":"constructor"}}}}'],
  ])('a definition with %s is shown without a drawing, with its states', async (_, definition) => {
    const shown = await inspector();
    shown.receive(actor('x:0', definition));
    const snapshot = { status: 'active', value: { OFF: { DIM: {} } }, context: { on: 1 } };
    shown.receive({ type: '@xstate.snapshot', sessionId: 'x:0', rootId: 'x:0', event: { type: 'GO' }, snapshot });
    const frames = await viewer(shown.url).frames('stately-1', isStep('GO'));
    expect(frames.some(({ t }) => t === 'drawing')).toBe(false);
    expect(frames.at(-1)).toMatchObject({ step: { from: ['ON'], to: ['OFF', 'OFF.DIM'], transitions: [] } });
  });

  test('what is no event of the protocol is refused, and so is who has no token', async () => {
    const shown = await inspector();
    for (const wrong of [null, 1, 'x', [], {}, { type: '@xstate.actor' }, { type: 'other', sessionId: 'x' }])
      expect(shown.receive(wrong)).toBe(false);
    const { origin, searchParams } = new URL(shown.url);
    const post = (body: string, token: string | null) =>
      fetch(`${origin}/api/stately`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body,
      });
    const token = searchParams.get('token');
    expect((await post(JSON.stringify(actor('x:0', lamp)), 'wrong')).status).toBe(401);
    const half = await post(JSON.stringify([actor('x:0', lamp), {}]), token);
    expect([half.status, await half.json()]).toEqual([400, { ok: false, message: expect.stringContaining('1 of 2') }]);
    expect((await post('{', token)).status).toBe(400);
    expect((await viewer(shown.url).get('/api/stately')).status).toBe(404);
  });

  test('keys in contexts are marks, and large contexts do not add up', async () => {
    const shown = await inspector();
    const look = viewer(shown.url);
    shown.receive(actor('x:0', lamp));
    const key = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789';
    for (let n = 1; n <= 10; n++) {
      const snapshot = { status: 'active', value: 'ON', context: { n, key, text: 'x'.repeat(10_000_000) } };
      shown.receive({ type: '@xstate.snapshot', sessionId: 'x:0', rootId: 'x:0', event: { type: 'GO' }, snapshot });
    }
    expect((await look.get('/api/sessions/stately-1/steps/2')).status).toBe(404);
    expect((await look.step('stately-1', 11)).after).toMatchObject({ n: 10, key: '«secret:1»' });
  });
});

import { describe, expect, test } from 'vitest';
import { assign, createActor, createMachine, fromPromise, setup } from 'xstate';
import { createAgent } from '../../src/agent/create-agent.ts';
import { activeStates } from '../../src/inspector/frames/actors.ts';
import { drawMachine } from '../../src/inspector/frames/drawing.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { serverSentEvents, viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const lamp = setup({ types: { events: {} as { readonly type: 'TURN' } } }).createMachine({
  id: 'lamp',
  initial: 'OFF',
  states: { OFF: { on: { TURN: 'ON' } }, ON: { type: 'final' } },
});

/** A machine as somebody else would write it: two regions, an inline guard, a child machine, a promise. */
const house = setup({
  types: { context: {} as { readonly visits: number }, events: {} as { readonly type: 'RING' | 'LEAVE' } },
  actors: { lamp, cook: fromPromise(async () => 'soup') },
}).createMachine({
  id: 'house',
  context: { visits: 0 },
  type: 'parallel',
  states: {
    DOOR: {
      initial: 'SHUT',
      states: {
        SHUT: {
          on: {
            RING: {
              guard: ({ context }) => context.visits < 2,
              target: 'OPEN',
              actions: assign({ visits: ({ context }) => context.visits + 1 }),
            },
          },
        },
        OPEN: { on: { LEAVE: 'SHUT' } },
      },
    },
    KITCHEN: {
      initial: 'DARK',
      states: {
        DARK: { invoke: { id: 'lamp', src: 'lamp', onDone: 'LIT' } },
        LIT: { invoke: { src: 'cook', onDone: 'DONE' } },
        DONE: {},
      },
    },
  },
});

const isStep = (event: string) => (frame: Frame) => frame.t === 'step' && frame.step.event === event;

/** A ring of states with names so long that its first frames are soon forgotten. */
const ring = createMachine({
  id: 'ring',
  initial: 'A',
  states: {
    A: { invoke: { id: 'lamp', src: lamp }, on: { go: `B${'b'.repeat(4000)}` } },
    [`B${'b'.repeat(4000)}`]: { on: { go: 'A' } },
  },
});

describe('an actor system of somebody else', () => {
  test('that did more than is kept shows a late viewer how it is drawn, who lives and how much is gone, each once', async () => {
    const shown = await inspector();
    const actor = createActor(ring, { inspect: shown.inspect }).start();
    for (let n = 0; n < 1001; n += 1) actor.send({ type: 'go' });
    const look = viewer(shown.url);
    const first = async (from: number, count: number) => {
      const told: { readonly id: string | null; readonly data: unknown }[] = [];
      for await (const event of serverSentEvents(await look.get(`/api/sessions/system-1/stream?from=${from}`)))
        if (told.push(event) === count) return told;
      return told;
    };
    const told = await first(0, 5);
    const kinds = told.map(({ data }) => (data as Frame).t);
    // The lamp is out.
    expect(kinds.slice(0, 4)).toEqual(['drawing', 'drawing', 'actor', 'gap']);
    const gap = told[3]?.data as Extract<Frame, { t: 'gap' }> | undefined;
    const dropped = gap?.dropped ?? 0;
    expect(dropped).toBeGreaterThan(500);
    expect(told.map(({ id }) => id)).toEqual([null, null, null, String(dropped), String(dropped + 1)]);
    // Its stream breaks right behind that, and continues: nothing of it is said again.
    const [next] = await first(dropped, 1);
    expect(next?.id).toBe(String(dropped + 1));
    actor.stop();
  });

  test('has another id in another process: a page that stayed open takes neither for the other', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 2; at += 1) {
      const shown = await inspector();
      createActor(lamp, { inspect: shown.inspect }).start();
      const [session] = (await viewer(shown.url).list(({ t }) => t === 'session')).slice(-1);
      ids.push(session?.t === 'session' ? session.session.id : '');
    }
    expect(ids.every((id) => id.startsWith('system-1'))).toBe(true);
    expect(new Set(ids).size).toBe(2);
  });

  test('is drawn and followed, its children too, late viewers included', async () => {
    const shown = await inspector();
    const { frames, list } = viewer(shown.url);
    const actor = createActor(house, { inspect: shown.inspect });
    actor.start();
    const listed = await list(({ t }) => t === 'session');
    expect(listed.at(-1)).toMatchObject({
      session: { kind: 'system', title: expect.any(String), status: 'running', can: ['send'] },
    });
    actor.send({ type: 'RING' });
    const seen = await frames('system-1', isStep('RING'));
    const drawn = seen.flatMap((frame) => (frame.t === 'drawing' ? [frame.drawing.id] : []));
    expect(drawn).toEqual(['house', 'lamp']);
    const steps = seen.flatMap((frame) => (frame.t === 'step' ? [frame.step] : []));
    expect(steps[0]).toMatchObject({
      event: 'started',
      from: [],
      to: ['DOOR', 'DOOR.SHUT', 'KITCHEN', 'KITCHEN.DARK'],
      entry: null,
    });
    expect(steps.at(-1)).toMatchObject({
      transitions: ['DOOR.SHUT|RING|0'],
      to: ['DOOR', 'DOOR.OPEN', 'KITCHEN', 'KITCHEN.DARK'],
    });
    expect(seen.flatMap((frame) => (frame.t === 'actor' ? [frame.actor.src] : []))).toContain('lamp');
    actor.stop();
  });

  test('has ids with slashes: each is one level, and takes events', async () => {
    const shown = await inspector();
    const { frames, act } = viewer(shown.url);
    const shop = setup({ actors: { lamp } }).createMachine({ id: 'shop', invoke: { id: 'till/2', src: 'lamp' } });
    const actor = createActor(shop, { id: 'shop/austin', inspect: shown.inspect });
    actor.start();
    const reply = await act('system-1', { kind: 'send', to: 'shop∕austin/till∕2', event: { type: 'TURN' } });
    expect(reply).toEqual({ ok: true });
    const seen = await frames('system-1', isStep('TURN'));
    expect(seen.flatMap((frame) => (frame.t === 'actor' ? [[frame.actor.path, frame.actor.parent]] : []))).toEqual([
      ['shop∕austin', null],
      ['shop∕austin/till∕2', 'shop∕austin'],
    ]);
  });

  test('tells why a guard said no, and takes the events that it accepts and no others', async () => {
    const shown = await inspector();
    const { frames, act, step } = viewer(shown.url);
    const actor = createActor(house, { inspect: shown.inspect });
    actor.start();
    expect(await act('system-1', { kind: 'send', event: { type: 'RING' } })).toEqual({ ok: true });
    expect(actor.getSnapshot().context.visits).toBe(1);
    expect(await act('system-1', { kind: 'send', event: { type: 'RING' } })).toMatchObject({ ok: false });
    expect(await act('system-1', { kind: 'send', event: { type: 'TURN' }, to: `${actor.id}/lamp` })).toEqual({
      ok: true,
    });
    expect(await act('system-1', { kind: 'cancel' })).toMatchObject({ ok: false });
    const seen = await frames('system-1', isStep('RING'));
    const last = seen.at(-1);
    const detail = await step('system-1', last?.t === 'step' ? last.step.n : 0);
    expect(detail).toMatchObject({
      before: { visits: 0 },
      after: { visits: 1 },
      candidates: [{ guard: 'context.visits < 2', passed: true, taken: true }],
    });
    actor.stop();
  });

  test('is never broken by being watched, and what JSON cannot hold is named', async () => {
    const shown = await inspector();
    const loop: { self?: unknown } = {};
    loop.self = loop;
    const odd = createMachine({
      context: {
        loop,
        big: 10n,
        fn: () => 1,
        key: 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789',
        map: new Map([[1, 2]]),
      },
    });
    createActor(odd, { inspect: shown.inspect }).start();
    const { after } = await viewer(shown.url).step('system-1', 1);
    expect(after).toEqual({
      loop: { self: '«seen above»' },
      big: '«10n»',
      fn: '«function fn»',
      key: '«secret:1»',
      map: { '«map»': [[1, 2]] },
    });
  });
});

test('systems that never end do not add up: the one that was silent longest goes, and comes back when it moves', async () => {
  const shown = await inspector({ keep: 2 });
  const look = viewer(shown.url);
  const [first, second] = [1, 2, 3, 4].map(() => createActor(house, { inspect: shown.inspect }).start());
  const listed = await look.list((frame) => frame.t === 'session' && frame.session.id.startsWith('system-4-'));
  const ids = listed.flatMap((frame) => (frame.t === 'session' ? [frame.session.id] : []));
  expect(ids.map((id) => id.slice(0, 8))).toEqual(['system-3', 'system-4']);
  expect((await look.get(`/api/sessions/${ids[1]?.replace('-4-', '-1-')}/frames`)).status).toBe(404);
  second?.stop();
  first?.send({ type: 'RING' });
  const steps = (await look.frames('system-6', isStep('RING'))).flatMap((frame) =>
    frame.t === 'step' && frame.step.actor === first?.id ? [frame.step] : [],
  );
  expect(steps.map(({ event }) => event)).toEqual(['started', 'RING']);
  expect(steps[1]).toMatchObject({ from: expect.arrayContaining(['DOOR.SHUT']), transitions: ['DOOR.SHUT|RING|0'] });
});

test('an agent with a wrong inspector is refused by name, and one whose inspector fails runs all the same', async () => {
  // @ts-expect-error -- what JavaScript may pass
  expect(() => createAgent({ inspect: 'yes' })).toThrow(/'inspect'/);
  const broken = Promise.reject(new Error('the port is taken'));
  broken.catch(() => undefined);
  const run = createAgent({ model: scriptedModel(['Fine.']), silent: true, inspect: broken }).run('Well?');
  const warnings: string[] = [];
  for await (const event of run) if (event.type === 'warning') warnings.push(event.message);
  expect((await run).result).toBe('Fine.');
  expect(warnings).toEqual([expect.stringMatching(/inspector.*the port is taken/)]);
});

test('a state whose name has a dot is lit alone, and not one that holds the rest of its name', () => {
  const machine = createMachine({
    initial: 'a.b',
    states: { a: { initial: 'b', states: { b: {} } }, 'a.b': { on: { go: 'a' } } },
  });
  const actor = createActor(machine).start();
  expect(drawMachine(machine).root.children.map(({ path }) => path)).toEqual(['a', String.raw`a\.b`]);
  expect(activeStates(actor.getSnapshot())).toEqual([String.raw`a\.b`]);
  actor.send({ type: 'go' });
  expect(activeStates(actor.getSnapshot())).toEqual(['a', 'a.b']);
});

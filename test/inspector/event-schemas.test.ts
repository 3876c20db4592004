import { describe, expect, test } from 'vitest';
import { assign, createActor, createMachine, setup } from 'xstate';
import { z } from 'zod';
import { approvalGiven } from '../../src/agent/run/run.ts';
import { drawMachine } from '../../src/inspector/frames/drawing.ts';
import { agentMachine } from '../../src/machines/agent/agent.ts';
import { OUTSIDE_EVENTS } from '../../src/machines/events/outside-events.ts';
import { loopDetectionMachine } from '../../src/machines/tool-call/loop-detection.ts';
import { toolCallMachine } from '../../src/machines/tool-call/tool-call.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Json } from '../../src/json/json.ts';
import { eventIssues } from '../../src/inspector/frames/event-issues.ts';
import { framesOfScene } from './page/fixture.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const placed = z.object({ quantity: z.int().min(1).max(99).describe('How many.'), note: z.string().default('none') });

/** A schema as JSON Schema and nothing else. */
const plain = (schema: z.ZodType): Json => JSON.parse(JSON.stringify(z.toJSONSchema(schema)));

/** A shop that takes one order, and says what it was given. */
const shopOf = (events: unknown) =>
  setup({ types: { context: {} as { readonly got: unknown } }, schemas: { events } }).createMachine({
    id: 'shop',
    context: { got: null },
    initial: 'OPEN',
    states: {
      OPEN: {
        on: { 'order.placed': { target: 'SOLD', actions: assign({ got: ({ event }) => event }) }, closed: 'SHUT' },
      },
      SOLD: {},
      SHUT: {},
    },
  });

const json = {
  type: 'object',
  properties: { quantity: { type: 'integer', minimum: 1 }, due: { type: 'string', format: 'date' } },
  required: ['quantity'],
} as const;

describe('what a machine says about its events', () => {
  test('stands in its drawing, as JSON Schema, for each type', () => {
    const { events } = drawMachine(shopOf({ 'order.placed': placed, closed: json }));
    expect(events).toMatchObject({
      'order.placed': { properties: { quantity: { type: 'integer', minimum: 1, description: 'How many.' } } },
      closed: json,
    });
  });

  test('may be one union for all events, told apart by their type', () => {
    const union = z.discriminatedUnion('type', [
      z.object({ type: z.literal('order.placed'), quantity: z.int() }),
      z.object({ type: z.literal(['closed', 'locked']) }),
    ]);
    for (const events of [union, plain(union)]) {
      const drawn = drawMachine(shopOf(events)).events ?? {};
      expect(Object.keys(drawn)).toEqual(['order.placed', 'closed', 'locked']);
      expect(drawn['order.placed']).toMatchObject({ properties: { quantity: { type: 'integer' } } });
    }
  });

  test('is known of what can be written, and what cannot be read does no harm', () => {
    const broken = { toJSON: () => 'x', type: 'object' };
    const loop: { self?: unknown } = { self: null };
    loop.self = loop;
    const { events } = drawMachine(
      shopOf({
        'order.placed': z.object({ at: z.date(), n: z.int() }),
        closed: {},
        a: broken,
        b: { type: 'dog' },
        c: 5,
      }),
    );
    expect(events).toEqual({ 'order.placed': expect.objectContaining({ required: ['at', 'n'] }) });
    for (const odd of [
      undefined,
      null,
      7,
      'x',
      [],
      loop,
      { closed: loop },
      {
        get closed() {
          throw new Error('no');
        },
      },
    ])
      expect(drawMachine(shopOf(odd)).events).toBeUndefined();
  });

  test('of a zod that does not write itself as JSON Schema is written by ours; of another library it is not known', () => {
    const { version, validate } = placed['~standard'];
    const silent = (vendor: string) => ({ value: { version, vendor, validate } });
    const older: object = Object.create(placed, { '~standard': silent('zod') });
    const other = { '~standard': silent('mine').value };
    expect(drawMachine(shopOf({ 'order.placed': older, closed: other })).events).toEqual({
      'order.placed': expect.objectContaining({ required: ['quantity'] }),
    });
  });

  test('belongs to the machine: others that look the same are drawn apart, those without schemas as ever', () => {
    const bare = createMachine({ id: 'bare', initial: 'A', states: { A: {} } });
    const twin = createMachine({ id: 'twin', initial: 'A', states: { A: {} } });
    const said = createMachine({ id: 'bare', initial: 'A', states: { A: {} }, schemas: { events: { go: json } } });
    expect(drawMachine(bare)).not.toHaveProperty('events');
    expect(drawMachine(said).root).toEqual(drawMachine(bare).root);
    expect(drawMachine(said).hash).not.toBe(drawMachine(bare).hash);
    expect(drawMachine(twin).root.transitions).toEqual(drawMachine(bare).root.transitions);
    expect(drawMachine(said.provide({})).hash).toBe(drawMachine(said).hash);
  });
});

describe('our own machines', () => {
  const outside = (types: readonly string[]) => types.filter((type) => !/^(?:xstate\.|leaf\.|$)/.test(type));

  test('are known in every event that they take from outside', () => {
    for (const machine of [agentMachine, toolCallMachine, loopDetectionMachine]) {
      const drawn = Object.keys(drawMachine(machine).events ?? {});
      expect(drawn.toSorted()).toEqual(outside(machine.events).toSorted());
    }
    expect(outside([...agentMachine.events, ...toolCallMachine.events, ...loopDetectionMachine.events])).toEqual(
      expect.arrayContaining(Object.keys(OUTSIDE_EVENTS)),
    );
  });

  test('fit what is sent to them by hand and by our own code', () => {
    const [head] = framesOfScene('parallel').flatMap((frame) => (frame.t === 'record' ? [frame.record] : []));
    const toolset: Json = JSON.parse(JSON.stringify(head?.t === 'run' ? head.toolset : null));
    for (const event of [
      approvalGiven({}),
      approvalGiven({ always: true, args: { to: 'Ann' } }),
      { type: 'approval.refused', reason: '' },
      { type: 'run.cancelled', reason: 'seen enough' },
      { type: 'run.abandoned', code: 'journal-lost', message: 'The disk is full.' },
      { type: 'tools.changed', toolset },
      { type: 'tools.changed', toolset, children: [] },
    ])
      expect(eventIssues(event, OUTSIDE_EVENTS[event.type] ?? false)).toEqual([]);
  });

  test('are not told what does not fit: the answer names the member, and the recording knows nothing of it', async () => {
    const shown = await inspector();
    const { promise, resolve } = Promise.withResolvers<{ content: string }>();
    const model = { id: 'slow', complete: () => promise };
    const run = createAgent({ model, silent: true, inspect: shown }).run('Wait');
    await new Promise<void>(
      (begun) =>
        void run[Symbol.asyncIterator]()
          .next()
          .then(() => begun()),
    );
    const send = (event: object) => viewer(shown.url).act(run.runId, { kind: 'send', event });
    expect(await send({ type: 'run.cancelled', reason: 7 })).toMatchObject({
      ok: false,
      message: 'This is not a valid run.cancelled (reason: expected a string, got an integer (7)).',
    });
    expect(await send({ type: 'run.cancelled' })).toMatchObject({ message: expect.stringContaining('reason: is req') });
    expect(await send({ type: 'tools.changed', toolset: { tools: [{}] } })).toMatchObject({
      message: expect.stringContaining('toolset.tools.0.name: is required'),
    });
    expect(await send({ type: 'call.proposed', key: 'x' })).toMatchObject({ ok: false });
    expect(run.recording()).not.toMatch(/"t":"event"/);
    expect(await send({ type: 'run.cancelled', reason: 'seen enough' })).toEqual({ ok: true });
    resolve({ content: 'Too late.' });
    expect((await run).status).toBe('cancelled');
  });
});

describe('an event that is sent to a machine with schemas', () => {
  const started = async (events: unknown) => {
    const shown = await inspector();
    const actor = createActor(shopOf(events), { inspect: shown.inspect }).start();
    const send = (event: object) => viewer(shown.url).act('system-1', { kind: 'send', event });
    return { actor, send };
  };

  test.each([
    ['zod', { 'order.placed': placed }],
    ['zod that knows no other members', { 'order.placed': z.strictObject({ quantity: z.int().min(1) }) }],
    [
      'zod with the type',
      { 'order.placed': z.strictObject({ type: z.literal('order.placed'), quantity: z.int().min(1) }) },
    ],
    ['JSON Schema', { 'order.placed': { ...json, additionalProperties: false } }],
  ])('is refused by name where it does not fit, and taken where it does: %s', async (_, events) => {
    const { actor, send } = await started(events);
    for (const quantity of [0, 'many', 1.5, undefined])
      expect(await send({ type: 'order.placed', quantity })).toMatchObject({
        ok: false,
        message: expect.stringMatching(/^This is not a valid order\.placed \(quantity: [^;]+\)\.$/),
      });
    expect(actor.getSnapshot().value).toBe('OPEN');
    expect(await send({ type: 'order.placed', quantity: 3 })).toEqual({ ok: true });
    expect(actor.getSnapshot()).toMatchObject({
      value: 'SOLD',
      context: { got: { type: 'order.placed', quantity: 3 } },
    });
  });

  test('arrives as its schema makes it, checked by code too', async () => {
    const dozen = placed.refine(({ quantity }) => quantity % 12 === 0, { path: ['quantity'], message: 'only dozens' });
    const { actor, send } = await started({ 'order.placed': dozen });
    expect(await send({ type: 'order.placed', quantity: 7 })).toMatchObject({
      message: expect.stringContaining('only dozens'),
    });
    expect(await send({ type: 'order.placed', quantity: 24 })).toEqual({ ok: true });
    expect(actor.getSnapshot().context.got).toEqual({ type: 'order.placed', quantity: 24, note: 'none' });
  });

  test('is asked of guards as its schema makes it', async () => {
    const shown = await inspector();
    const noted = createMachine({
      on: { 'order.placed': { guard: ({ event }) => event.note === 'none', actions: assign({ sold: true }) } },
      context: { sold: false },
      schemas: { events: { 'order.placed': placed } },
    });
    const actor = createActor(noted, { inspect: shown.inspect }).start();
    const send = (event: object) => viewer(shown.url).act('system-1', { kind: 'send', event });
    expect(await send({ type: 'order.placed', quantity: 1 })).toEqual({ ok: true });
    expect(actor.getSnapshot().context.sold).toBe(true);
  });

  test('says one thing of a text that is neither of its format nor of its pattern', async () => {
    const { send } = await started({ 'order.placed': plain(z.object({ mail: z.email() })) });
    expect(await send({ type: 'order.placed', mail: 'ada' })).toMatchObject({
      message: 'This is not a valid order.placed (mail: expected an e-mail address).',
    });
  });

  test('is checked in its formats, and free where nothing is known', async () => {
    const { actor, send } = await started({ 'order.placed': json });
    expect(await send({ type: 'order.placed', quantity: 1, due: '2026-02-30' })).toMatchObject({
      message: expect.stringContaining('due: expected a date'),
    });
    expect(await send({ type: 'closed', whatever: [1] })).toEqual({ ok: true });
    expect(actor.getSnapshot().value).toBe('SHUT');
  });

  test('a schema that throws is said to have failed', async () => {
    const validate = () => {
      throw new Error('the lookup is down');
    };
    const { send } = await started({ 'order.placed': { '~standard': { version: 1, vendor: 'mine', validate } } });
    expect(await send({ type: 'order.placed' })).toEqual({
      ok: false,
      message: 'The schema of order.placed failed: the lookup is down',
    });
  });
});

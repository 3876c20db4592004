import { assign as assignOf, createActor, initialTransition, setup, transition } from 'xstate';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { assign } from '../../src/machines/contract/assign.ts';

interface Counted {
  readonly count: number;
  readonly last: string | null;
  readonly kept: { readonly by: string };
}

type Event = { readonly type: 'add'; readonly by: number } | { readonly type: 'name'; readonly to: string };

/** A machine with nested states, tags and a child, whose context changes in every way that there is. */
const machineWith = (update: typeof assign) =>
  setup({
    types: { context: {} as Counted, events: {} as Event, tags: {} as 'few' | 'many' },
    guards: { isMany: ({ context }) => context.count > 3 },
    actions: {
      add: update({
        count: ({ context, event }) => context.count + (event.type === 'add' ? event.by : 0),
        last: 'add',
      }),
      name: update(({ context }, to: string) => ({ last: `${String(context.count)} ${to}` })),
      nothing: update({}),
    },
  }).createMachine({
    context: { count: 0, last: null, kept: { by: 'reference' } },
    initial: 'FEW',
    states: {
      FEW: {
        tags: 'few',
        on: { add: { actions: ['add', 'nothing', { type: 'name', params: ({ event }) => `by ${String(event.by)}` }] } },
        always: { guard: 'isMany', target: 'MANY', actions: 'add' },
      },
      MANY: {
        tags: 'many',
        entry: { type: 'name', params: 'entered' },
        exit: 'add',
        initial: 'ONE',
        states: { ONE: { on: { add: 'TWO' } }, TWO: { entry: 'add' } },
        on: { name: { target: 'FEW', actions: [{ type: 'name', params: ({ event }) => event.to }, 'nothing'] } },
      },
    },
  });

const events: fc.Arbitrary<readonly Event[]> = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('add' as const), by: fc.integer({ min: -2, max: 4 }) }),
    fc.record({ type: fc.constant('name' as const), to: fc.string() }),
  ),
);

test('leads to the snapshots of XState’s own assign, member by member, whatever happens', () => {
  const [ours, theirs] = [machineWith(assign), machineWith(assignOf)];
  fc.assert(
    fc.property(events, (given) => {
      let [one] = initialTransition(ours);
      let [other] = initialTransition(theirs);
      for (const event of given) {
        [[one], [other]] = [transition(ours, one, event), transition(theirs, other, event)];
        expect(Object.keys(one)).toEqual(Object.keys(other));
        expect(one.toJSON()).toEqual(other.toJSON());
        expect([...one.tags, one.value, one.can({ type: 'name', to: '' }), one.matches({ MANY: 'TWO' })]).toEqual([
          ...other.tags,
          other.value,
          other.can({ type: 'name', to: '' }),
          other.matches({ MANY: 'TWO' }),
        ]);
      }
    }),
  );
});

test('a snapshot that was given out keeps its context', () => {
  const actor = createActor(machineWith(assign)).start();
  const before = actor.getSnapshot();
  actor.send({ type: 'add', by: 2 });
  expect(before.context).toEqual({ count: 0, last: null, kept: { by: 'reference' } });
  expect(actor.getSnapshot().context).toMatchObject({ count: 2, last: '2 by 2' });
  expect(actor.getSnapshot().context.kept).toBe(before.context.kept);
});

test('works out no state and no tags for it, as XState’s own does', () => {
  const once = (update: typeof assign) => {
    const [before] = initialTransition(machineWith(update));
    const action: unknown = update({ count: 1 });
    if (typeof action !== 'function') throw new Error('An action is a function.');
    const scope = { self: null, system: null };
    const resolve: unknown = Reflect.get(action, 'resolve');
    if (typeof resolve !== 'function') throw new Error('It is resolved by XState.');
    const [after]: readonly [typeof before] = Reflect.apply(resolve, undefined, [
      scope,
      before,
      scope,
      undefined,
      action,
    ]);
    return { after, isSame: after.value === before.value && after.tags === before.tags };
  };
  expect(once(assign)).toMatchObject({ isSame: true, after: { context: { count: 1 } } });
  expect(once(assignOf)).toMatchObject({ after: { context: { count: 1 } } });
});

import fc from 'fast-check';
import {
  SimulatedClock,
  createActor,
  enqueueActions as enqueueActionsOf,
  initialTransition,
  setup,
  transition,
} from 'xstate';
import { expect, test } from 'vitest';
import { enqueueActions, shortLived } from '../../src/machines/contract/short-lived.ts';

type Event = { readonly type: 'next' | 'tell' | 'fail' | 'end' | 'later' | 'soon'; readonly by?: number };

/** A machine that does everything that an action can do, and notes what it has done. */
function machineWith(enqueued: typeof enqueueActionsOf, log: unknown[]) {
  const child = setup({ types: { events: {} as Event, input: {} as number } }).createMachine({
    context: {},
    entry: () => log.push('child begins'),
    on: { tell: { actions: ({ event, self }) => log.push(['child told', event.by, self.id]) } },
    exit: () => log.push('child ends'),
  });
  return setup({
    types: { context: {} as { count: number }, events: {} as Event, emitted: {} as { type: 'told'; by: number } },
    actors: { child },
    actions: {
      note: ({ context, event, self }, what: unknown) => log.push([what, context.count, event.type, self.id]),
      fail: () => {
        throw new Error('An action failed.');
      },
      everything: enqueued(({ context, event, enqueue }) => {
        enqueue.assign({ count: context.count + (event.by ?? 1) });
        enqueue({ type: 'note', params: 'queued' });
        if (context.count % 2 === 0) enqueue.spawnChild('child', { id: 'kid', input: 1 });
        else enqueue.stopChild('kid');
        enqueue.sendTo(({ self }) => self, { type: 'later' }, { delay: 10, id: 'later' });
        if (context.count % 3 === 0) enqueue.cancel('later');
        enqueue.raise({ type: 'soon' });
        enqueue.emit({ type: 'told', by: context.count });
      }),
    },
  }).createMachine({
    id: 'all',
    context: { count: 0 },
    initial: 'ONE',
    entry: { type: 'note', params: 'entered' },
    on: {
      tell: {
        actions: enqueued(({ event, enqueue }) => enqueue.sendTo('kid', event)),
        guard: ({ context }) => context.count % 2 === 1,
      },
      fail: { actions: 'fail' },
      later: { actions: { type: 'note', params: 'later' } },
      soon: { actions: { type: 'note', params: 'soon' } },
      end: '.END',
    },
    states: {
      ONE: { entry: 'everything', on: { next: 'TWO' } },
      TWO: {
        invoke: { src: 'child', id: 'invoked', input: 2 },
        on: { next: { target: 'ONE', actions: 'everything' } },
      },
      END: { type: 'final' },
    },
  });
}

const events: fc.Arbitrary<readonly Event[]> = fc.array(
  fc.record(
    { type: fc.constantFrom('next', 'next', 'tell', 'fail', 'later', 'end'), by: fc.integer({ min: 0, max: 3 }) },
    { requiredKeys: ['type'] },
  ),
  { maxLength: 12 },
);

/** What happens to an actor of the machine, event by event. */
function happened(machine: ReturnType<typeof machineWith>, log: unknown[], given: readonly Event[]): unknown {
  const clock = new SimulatedClock();
  const actor = createActor(machine, { id: 'root', clock, inspect: ({ type }) => log.push(type) });
  actor.on('told', (event) => log.push(event));
  actor.subscribe({ error: (error) => log.push(String(error)) });
  actor.start();
  for (const event of given) {
    if (actor.getSnapshot().status !== 'active') break;
    actor.send(event);
    clock.increment(4);
    const { status, value, context, children } = actor.getSnapshot();
    log.push({ status, value, context, children: Object.keys(children) });
  }
  return log;
}

test('a short-lived machine does what XState’s own does, whatever happens', () => {
  fc.assert(
    fc.property(events, (given) => {
      const [ours, theirs]: [unknown[], unknown[]] = [[], []];
      const own = shortLived(machineWith(enqueueActions, ours)).provide({});
      expect(happened(own, ours, given)).toEqual(happened(machineWith(enqueueActionsOf, theirs), theirs, given));
      expect(theirs.length).toBeGreaterThan(10);
    }),
  );
});

test('XState’s pure functions say which actions it would take', () => {
  const taken = (machine: ReturnType<typeof machineWith>) => {
    const [first, begun] = initialTransition(machine);
    const [, next] = transition(machine, first, { type: 'next' });
    return [...begun, ...next].map(({ type, params }) => [type, Object.keys(params ?? {})]);
  };
  const ours = taken(shortLived(machineWith(enqueueActions, [])));
  expect(ours).toEqual(taken(machineWith(enqueueActionsOf, [])));
  expect(ours.length).toBeGreaterThan(8);
});

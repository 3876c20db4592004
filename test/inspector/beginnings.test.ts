import { assign, createActor, createMachine, enqueueActions, fromCallback, raise, setup } from 'xstate';
import { describe, expect, test } from 'vitest';
import type { StepDetail } from '../../src/inspector/frames/protocol.ts';
import { startScene } from './scenes.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

/** The details of the first steps of an actor that is inspected while it works. */
async function firstSteps(machine: Parameters<typeof createActor>[0], input?: unknown): Promise<readonly StepDetail[]> {
  const shown = await inspector();
  const { frames, step } = viewer(shown.url);
  const actor = createActor(machine as never, { inspect: shown.inspect, input } as never).start();
  const listed = await frames('system-1', (frame) => frame.t === 'step' && frame.step.to.includes('LAST'));
  actor.stop();
  const numbers = listed.flatMap((frame) => (frame.t === 'step' ? [frame.step.n] : []));
  return Promise.all(numbers.map((n) => step('system-1', n)));
}

const verdicts = (detail: StepDetail | undefined): readonly string[] =>
  (detail?.candidates ?? []).map(
    ({ guard, passed, taken }) => `${guard ?? 'otherwise'}: ${passed}${taken ? ', taken' : ''}`,
  );

describe('an actor that moves on from where it begins at once', () => {
  test('has the context and the guards of its first step, though nobody saw the moment before it', async () => {
    const machine = setup({
      types: { context: {} as { readonly count: number }, input: {} as number },
      guards: { isLarge: ({ context }) => context.count > 10, isSmall: ({ context }) => context.count < 3 },
    }).createMachine({
      context: ({ input }) => ({ count: input }),
      initial: 'FIRST',
      states: {
        FIRST: { always: [{ guard: 'isLarge', target: 'OTHER' }, { guard: 'isSmall', target: 'LAST' }, 'OTHER'] },
        OTHER: {},
        LAST: {},
      },
    });
    const [began, moved] = await firstSteps(machine, 2);

    expect(began).toMatchObject({ before: null, after: { count: 2 }, unknown: [], step: { event: 'started' } });
    expect(began?.event).toEqual({ type: 'xstate.init', input: 2 });
    expect(moved).toMatchObject({ before: { count: 2 }, after: { count: 2 }, unknown: [], step: { event: 'always' } });
    expect(verdicts(moved)).toEqual(['isLarge: false', 'isSmall: true, taken', 'otherwise: true']);
  });

  test('has them also where the step changed the context, without any action of it running again', async () => {
    const ran: string[] = [];
    const machine = createMachine({
      context: ({ input }: { readonly input: number }) => ({ count: input }),
      initial: 'FIRST',
      invoke: { src: fromCallback(() => void ran.push('effect')) },
      states: {
        FIRST: {
          entry: [assign({ count: ({ context }) => context.count + 1 }), () => void ran.push('entry')],
          always: {
            target: 'LAST',
            actions: [assign({ count: ({ context }) => context.count * 10 }), () => void ran.push('action')],
          },
        },
        LAST: { entry: enqueueActions(({ enqueue }) => enqueue(() => void ran.push('queued'))) },
      },
    });
    const [began, moved] = await firstSteps(machine, 4);

    expect(began).toMatchObject({ after: { count: 5 }, unknown: [] });
    expect(moved).toMatchObject({ before: { count: 5 }, after: { count: 50 }, unknown: [] });
    expect(ran.toSorted()).toEqual(['action', 'effect', 'entry', 'queued']);
  });

  test('is said to be not known where it would not begin the same way again; what follows from the order is still told', async () => {
    let made = 0;
    const machine = setup({
      types: { context: {} as { readonly id: number } },
      guards: { never: () => false, yes: () => true, perhaps: () => true },
    }).createMachine({
      context: () => ({ id: ++made }),
      initial: 'FIRST',
      states: {
        FIRST: {
          always: [
            { guard: 'never', target: 'OTHER' },
            { guard: 'yes', target: 'LAST', actions: assign({ id: ({ context }) => context.id + 100 }) },
            { guard: 'perhaps', target: 'OTHER' },
          ],
        },
        OTHER: {},
        LAST: {},
      },
    });
    const [began, moved] = await firstSteps(machine);

    expect(began).toMatchObject({ after: null, unknown: ['after'] });
    expect(moved).toMatchObject({ before: null, after: { id: 101 }, unknown: ['before'] });
    expect(verdicts(moved)).toEqual(['never: false', 'yes: true, taken', 'perhaps: unknown']);
  });

  test('is not begun again where its first step cannot have changed the context', async () => {
    let made = 0;
    const machine = createMachine({
      context: () => ({ id: ++made, named: false }),
      initial: 'FIRST',
      entry: assign({ named: true }),
      states: { FIRST: { always: 'LAST' }, LAST: {} },
    });
    const [, moved] = await firstSteps(machine);

    expect(moved).toMatchObject({ before: { id: 1, named: true }, unknown: [] });
    expect(made).toBe(1);
  });

  test('has them where it raises an event on entry, and where it stays in the state in which it began', async () => {
    const raising = createMachine({
      context: { told: 0 },
      initial: 'FIRST',
      states: {
        FIRST: { entry: raise({ type: 'GO' }), on: { GO: { target: 'LAST', actions: assign({ told: 1 }) } } },
        LAST: {},
      },
    });
    expect((await firstSteps(raising))[1]).toMatchObject({ before: { told: 0 }, after: { told: 1 }, unknown: [] });

    const staying = createMachine({
      context: { told: 0 },
      initial: 'LAST',
      states: {
        LAST: { always: { guard: ({ context }) => context['told'] === 0, actions: assign({ told: 1 }) } },
      },
    });
    const shown = await inspector();
    createActor(staying, { inspect: shown.inspect }).start();
    const [began, moved] = await Promise.all([1, 2].map((n) => viewer(shown.url).step('system-1', n)));
    expect(began).toMatchObject({ after: { told: 0 }, unknown: [] });
    expect(moved).toMatchObject({ before: { told: 0 }, after: { told: 1 } });
  });
});

test('an actor below one that was at work before anybody watched is shown where it stands, and nothing is made up of its beginning', async () => {
  const child = createMachine({
    id: 'child',
    context: { n: 0 },
    initial: 'FIRST',
    states: { FIRST: { always: 'SECOND' }, SECOND: { on: { GO: 'LAST' } }, LAST: {} },
  });
  const parent = createMachine({ id: 'parent', invoke: { id: 'below', src: child } });
  const actor = createActor(parent).start();
  const shown = await inspector();
  const leave = shown.attachActor({ title: 'parent', agent: 'parent', actor, redact: (value) => value });
  actor.getSnapshot().children['below']?.send({ type: 'GO' });
  const { frames, step } = viewer(shown.url);
  const listed = await frames('system-1', (frame) => frame.t === 'step' && frame.step.to.includes('LAST'));
  const steps = listed.flatMap((frame) => (frame.t === 'step' ? [frame.step] : []));
  leave();

  expect(steps.map(({ actor: path, to }) => [path, to.join()])).toEqual([
    [actor.id, ''],
    [`${actor.id}/below`, 'SECOND'],
    [`${actor.id}/below`, 'LAST'],
  ]);
  expect(await step('system-1', 3)).toMatchObject({ before: { n: 0 }, unknown: [], step: { from: ['SECOND'] } });
});

test('actors that go on from a kept snapshot are shown where they stand', async () => {
  const child = createMachine({
    id: 'child',
    context: { n: 0 },
    initial: 'FIRST',
    states: { FIRST: { always: 'SECOND' }, SECOND: { on: { GO: 'LAST' } }, LAST: {} },
  });
  const parent = setup({ actors: { child } }).createMachine({
    id: 'parent',
    initial: 'IDLE',
    invoke: { id: 'below', src: 'child' },
    states: { IDLE: { on: { WORK: 'WORKING' } }, WORKING: {} },
  });
  const earlier = createActor(parent).start();
  earlier.send({ type: 'WORK' });
  const snapshot = earlier.getPersistedSnapshot();
  earlier.stop();
  const shown = await inspector();
  const actor = createActor(parent, { snapshot, inspect: shown.inspect }).start();
  actor.getSnapshot().children['below']?.send({ type: 'GO' });
  const { frames, step } = viewer(shown.url);
  const listed = await frames('system-1', (frame) => frame.t === 'step' && frame.step.to.includes('LAST'));
  actor.stop();

  expect(listed.flatMap((frame) => (frame.t === 'step' ? [frame.step.to.join()] : []))).toEqual([
    'WORKING',
    'SECOND',
    'LAST',
  ]);
  expect(await step('system-1', 3)).toMatchObject({ before: { n: 0 }, unknown: [], step: { from: ['SECOND'] } });
});

test('each step of a recorded run has its contexts and, if it took anything, what it could have taken', async () => {
  const shown = await inspector();
  const run = startScene('plan-recovery', { inspect: shown });
  await run;
  const { frames, step } = viewer(shown.url);
  const listed = await frames(run.runId, (frame) => frame.t === 'record' && frame.record.t === 'end');
  const steps = listed.flatMap((frame) => (frame.t === 'step' ? [frame.step] : []));
  const details = await Promise.all(steps.map(({ n }) => step(run.runId, n)));

  expect(details.filter(({ unknown }) => unknown.length > 0)).toEqual([]);
  expect(details.filter(({ after }) => after === null)).toEqual([]);
  const taken = details.filter(({ step: { transitions } }) => transitions.length > 0);
  expect(taken.length).toBeGreaterThan(40);
  expect(taken.filter(({ before }) => before === null)).toEqual([]);
  expect(taken.filter(({ candidates }) => !candidates.some((one) => one.taken && one.passed === true))).toEqual([]);
});

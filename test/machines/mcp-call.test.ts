import { setImmediate as nextTick } from 'node:timers/promises';
import { createActor, SimulatedClock } from 'xstate';
import { describe, expect, test } from 'vitest';
import {
  type McpCallLoss,
  type McpCallOutcome,
  mcpCallMachine,
  sendMcpCall,
} from '../../src/machines/mcp/mcp-call-machine.ts';

const SENT = { delivered: true, repeat: 'forbidden' } as const;
const UNSENT = { delivered: false, repeat: 'forbidden' } as const;
const REPEATABLE = { delivered: true, repeat: 'allowed' } as const;
const BEGUN = { delivered: true, repeat: 'continues' } as const;

/** A call whose attempts end as planned, in order; behind the last one, none ends. */
function callWith(...outcomes: readonly McpCallOutcome[]) {
  const clock = new SimulatedClock();
  const sent: number[] = [];
  const left: AbortSignal[] = [];
  const never = Promise.withResolvers<McpCallOutcome>();
  const send = sendMcpCall({
    send: ({ generation }, signal) => {
      sent.push(generation);
      left.push(signal);
      const outcome = outcomes[sent.length - 1];
      return outcome === undefined ? never.promise : Promise.resolve(outcome);
    },
  });
  const machine = mcpCallMachine.provide({ actors: { sendMcpCall: send } });
  const input = { call: 1, patienceMs: 4000, mostRestMs: 10_000, isIdle: false };
  const actor = createActor(machine, { input, clock });
  actor.start();
  const state = (): string => {
    const { value } = actor.getSnapshot();
    return typeof value === 'string' ? value : Object.entries(value).flat().join('.');
  };
  const open = async (generation: number): Promise<void> => {
    actor.send({ type: 'link.opened', generation });
    await nextTick();
  };
  const lose = (generation: number, loss: McpCallLoss): void => actor.send({ type: 'link.lost', generation, ...loss });
  const pass = async (ms: number): Promise<void> => {
    clock.increment(ms);
    await nextTick();
  };
  return { actor, sent, left, state, open, lose, pass };
}

describe('I1: a call is settled once', () => {
  test('and nothing that comes later changes that', async () => {
    const { actor, state, open, lose, sent } = callWith({ kind: 'answered' });
    await open(1);
    expect(state()).toBe('ANSWERED');
    for (const type of ['call.cancelled', 'call.refused', 'time.over', 'connection.idle'] as const)
      actor.send({ type });
    lose(1, BEGUN);
    await open(2);
    expect([state(), sent]).toEqual(['ANSWERED', [1]]);
  });

  test('and an attempt is given up when it is cancelled or its time is over', async () => {
    for (const [type, end] of [
      ['call.cancelled', 'CANCELLED'],
      ['time.over', 'TIMED_OUT'],
      ['call.refused', 'REFUSED'],
    ] as const) {
      const { actor, state, open, left } = callWith();
      await open(1);
      expect([state(), left[0]?.aborted]).toEqual(['UNDER_WAY.SENT', false]);
      actor.send({ type });
      expect([state(), left[0]?.aborted]).toEqual([end, true]);
    }
  });
});

describe('I2: a call is sent at most twice', () => {
  test('also where it may be repeated', async () => {
    const { actor, state, open, lose, sent } = callWith();
    await open(1);
    lose(1, REPEATABLE);
    expect(actor.getSnapshot().context.generation).toBeNull();
    await open(2);
    expect([state(), sent]).toEqual(['UNDER_WAY.SENT', [1, 2]]);
    lose(2, REPEATABLE);
    expect(state()).toBe('LOST');
  });

  test('but continues what the server has begun as often as it takes', async () => {
    const { state, open, lose, sent } = callWith();
    for (const generation of [1, 2, 3, 4]) {
      await open(generation);
      lose(generation, BEGUN);
      expect(state()).toBe('WAITING.PATIENT');
    }
    expect(sent).toEqual([1, 2, 3, 4]);
  });

  test('and an attempt that was turned away does not count', async () => {
    const later = { kind: 'postponed', waitMs: 500 } as const;
    const { state, open, pass, lose, sent } = callWith(later, later);
    for (const generation of [1, 2]) {
      await open(generation);
      expect(state()).toBe('UNDER_WAY.RESTING');
      await pass(499);
      expect(state()).toBe('UNDER_WAY.RESTING');
      await pass(1);
      expect(state()).toBe('WAITING.PATIENT');
    }
    await open(3);
    lose(3, UNSENT);
    await open(4);
    expect([state(), sent]).toEqual(['UNDER_WAY.SENT', [1, 2, 3, 4]]);
  });

  test('and it does not rest for ever: five times, and within its time', async () => {
    const short = callWith(...Array.from({ length: 6 }, () => ({ kind: 'postponed', waitMs: 500 }) as const));
    for (let generation = 1; generation <= 6; generation += 1) {
      await short.open(generation);
      if (generation < 6) await short.pass(500);
    }
    expect([short.state(), short.sent.length]).toEqual(['FAILED', 6]);
    const long = callWith({ kind: 'postponed', waitMs: 9999 }, { kind: 'postponed', waitMs: 1 });
    await long.open(1);
    await long.pass(9999);
    await long.open(2);
    expect(long.state()).toBe('FAILED');
    const tooLong = callWith({ kind: 'postponed', waitMs: 10_000 });
    await tooLong.open(1);
    expect(tooLong.state()).toBe('FAILED');
  });
});

describe('I3: what may not be repeated', () => {
  test('is sent again only where nothing of it can have arrived', async () => {
    const unsent = callWith({ kind: 'lost', ...UNSENT });
    await unsent.open(1);
    expect(unsent.state()).toBe('WAITING.PATIENT');
    const sent = callWith({ kind: 'lost', ...SENT });
    await sent.open(1);
    expect(sent.state()).toBe('LOST');
    expect(sent.actor.getSnapshot().context.delivered).toBe(true);
  });

  test('is not sent again where an earlier request of it may have arrived', async () => {
    const lost = { kind: 'lost', ...REPEATABLE } as const;
    const { state, open, lose, pass } = callWith(lost, { kind: 'postponed', waitMs: 500 });
    await open(1);
    await open(2);
    await pass(500);
    await open(3);
    lose(3, UNSENT);
    expect(state()).toBe('LOST');
  });

  test('is lost with its own link, and with no other one', async () => {
    const { state, open, lose } = callWith();
    await open(2);
    lose(1, SENT);
    expect(state()).toBe('UNDER_WAY.SENT');
    lose(2, SENT);
    expect(state()).toBe('LOST');
  });

  test('is sent again with another token, but once, and not where there is none', async () => {
    const again = { kind: 'unauthorized', isFinal: false, ...UNSENT } as const;
    const twice = callWith(again, again);
    await twice.open(1);
    expect(twice.state()).toBe('WAITING.PATIENT');
    await twice.open(1);
    expect([twice.state(), twice.sent]).toEqual(['FAILED', [1, 1]]);
    const final = callWith({ ...again, isFinal: true });
    await final.open(1);
    expect(final.state()).toBe('FAILED');
  });
});

describe('I4: a call that has waited long enough', () => {
  test('is refused where nobody is trying the connection', async () => {
    const { actor, state, pass } = callWith();
    actor.send({ type: 'connection.idle' });
    await pass(3999);
    expect(state()).toBe('WAITING.PATIENT');
    await pass(1);
    expect(state()).toBe('REFUSED');
  });

  test('waits on while somebody is, and is refused when that has failed', async () => {
    const { actor, state, pass } = callWith();
    actor.send({ type: 'connection.idle' });
    actor.send({ type: 'connection.tried' });
    await pass(60_000);
    expect(state()).toBe('WAITING.IMPATIENT');
    actor.send({ type: 'connection.idle' });
    expect(state()).toBe('REFUSED');
  });

  test('demands one more attempt where it was lost, and is refused when that has failed', async () => {
    const { actor, state, open, lose, pass } = callWith();
    await open(1);
    lose(1, REPEATABLE);
    actor.send({ type: 'connection.idle' });
    await pass(4000);
    expect(state()).toBe('WAITING.DEMANDING');
    actor.send({ type: 'connection.tried' });
    expect(state()).toBe('WAITING.DEMANDING');
    actor.send({ type: 'connection.idle' });
    expect(state()).toBe('REFUSED');
  });

  test('has the patience of a new one after each loss', async () => {
    const { state, open, lose, pass } = callWith();
    await pass(3000);
    await open(1);
    await pass(3000);
    lose(1, REPEATABLE);
    await pass(3999);
    expect(state()).toBe('WAITING.PATIENT');
    await pass(1);
    expect(state()).toBe('WAITING.IMPATIENT');
  });
});

test('what nobody has provided fails the call, and no more', async () => {
  const clock = new SimulatedClock();
  const input = { call: 1, patienceMs: 1, mostRestMs: 1, isIdle: true };
  const actor = createActor(mcpCallMachine, { input, clock });
  actor.start();
  actor.send({ type: 'link.opened', generation: 1 });
  await nextTick();
  expect(actor.getSnapshot().value).toBe('FAILED');
});

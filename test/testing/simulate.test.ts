import { setTimeout as really } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentOptions, createAgent, tool } from '../../src/index.ts';
import { recover } from '../../src/recovery/recover.ts';
import { hostileModel, type CheckedRun, replay, simulate, scriptedModel } from '../../src/testing/index.ts';
import { FAULT_NAMES } from '../../src/testing/simulate/simulated-faults.ts';
import type { Recording } from '../../src/journal/format/recording.ts';
import { REPLAY } from '../../src/journal/replay/replay.ts';
import { transitions } from '../../src/journal/index.ts';
import { cases, seedOr } from '../support/soak.ts';

const look = tool({
  name: 'look',
  description: 'Looks.',
  inputSchema: z.object({ at: z.string() }),
  effects: 'none',
  execute: ({ at }) => ({ seen: at.length }),
});
const pay = tool({
  name: 'pay',
  description: 'Pays.',
  inputSchema: z.object({ cents: z.number().int() }),
  effects: 'once',
  policy: 'confirm',
  execute: ({ cents }) => ({ paid: cents }),
});
const clerk = (options: AgentOptions) => createAgent({ maxSteps: 5, tools: [look, pay], ...options });
const once = [{ content: '', toolCalls: [{ name: 'charge', arguments: {} }] }, 'Paid.'];

/** A server whose tools may be repeated in each of the ways in which they may or may not. */
const servers = {
  files: [
    { name: 'read', annotations: { readOnlyHint: true } },
    { name: 'put', annotations: { idempotentHint: true } },
    { name: 'drop', annotations: { destructiveHint: true } },
  ],
};

/** An agent that plays a recording otherwise than it was run. */
function agentWhoseReplaysDiverge() {
  return (options: AgentOptions) => {
    const agent = createAgent(options);
    const replayed = agent[REPLAY].bind(agent);
    return Object.assign(agent, { [REPLAY]: (recording: Recording) => replayed({ ...recording, lines: [] }, {}) });
  };
}

/** An agent whose only tool charges a card, by its declared effects; gives back how often it did for one call. */
function charger(effects: 'once' | 'idempotent') {
  const charged = new Map<string, number>();
  const charge = tool({
    name: 'charge',
    description: 'Charges the card.',
    effects,
    execute: (_args, { idempotencyKey }) => {
      charged.set(idempotencyKey, (charged.get(idempotencyKey) ?? 0) + 1);
      return 'charged';
    },
  });
  return {
    agent: (options: AgentOptions) => createAgent({ tools: [charge], ...options }),
    begin: () => charged.clear(),
    check: () => {
      const most = Math.max(0, ...charged.values());
      return most <= 1 || `the card was charged ${most} times for one call`;
    },
  };
}

test('an agent that is sound passes under all faults, and every kind of fault has met it', async () => {
  const first = seedOr(1);
  const seeds = Array.from({ length: cases(120, 100_000) }, (_, index) => first + index);
  const { failures, runs, coverage } = await simulate(clerk, { seeds });
  expect(failures).toEqual([]);
  expect(runs).toBe(seeds.length);
  const unmet = Object.entries(coverage.faults).filter(([name, count]) => count === 0 && !name.startsWith('mcp.'));
  expect(unmet).toEqual([]);
  expect(coverage.machines.map(({ machine }) => machine)).toEqual(['agent', 'llmCall', 'toolCall']);
  expect(coverage.machines[0]?.states.covered).toBeGreaterThan(5);
});

test('an agent keeps its laws while its MCP servers die, forget and change, and every kind of that has met it', async () => {
  const faults = Object.fromEntries(FAULT_NAMES.filter((name) => name.startsWith('mcp.')).map((name) => [name, 0.1]));
  const ran: string[] = [];
  const check = (run: CheckedRun) => void ran.push(...run.ran.map((call) => call.tool));
  const seeds = cases(20, 20_000);
  const found = await simulate(clerk, { seeds, servers, faults, check });
  expect(found.failures).toEqual([]);
  expect(found.waited).toEqual([]);
  expect(FAULT_NAMES.filter((name) => name.startsWith('mcp.') && found.coverage.faults[name] === 0)).toEqual([]);
  expect(ran).toEqual(expect.arrayContaining(['files_read', 'files_put', 'files_drop']));
  await expect(simulate(clerk({ silent: true }), { servers })).rejects.toThrow('needs a function that makes the agent');
});

test("an agent's own MCP servers, which know no virtual time, are refused and never started", async () => {
  const mcpServers = { files: { command: 'no-such-server' } };
  const own = (options: AgentOptions) => clerk({ mcpServers, ...options });
  const refused = /MCP servers do not follow virtual time, and the agent has some: files\./;
  await expect(simulate(own, { seeds: 1 })).rejects.toThrow(refused);
  await expect(simulate(own({ silent: true }), { seeds: 1 })).rejects.toThrow(refused);
  const child = createAgent({ name: 'child', children: [own({ name: 'grandchild', silent: true })], silent: true });
  const parent = (options: AgentOptions) => clerk({ children: [child], ...options });
  await expect(simulate(parent, { seeds: 1, servers: {} })).rejects.toThrow(refused);
  const onError = { invalidArgs: [recover.fix(() => null), recover.fix(own({ name: 'fixer', silent: true }))] };
  const repaired = (options: AgentOptions) => clerk({ onError, ...options });
  await expect(simulate(repaired, { seeds: 1, servers: {} })).rejects.toThrow(refused);
  const mending = tool({ name: 'mend', description: 'Mends.', execute: () => 'mended', onError });
  const mender = (options: AgentOptions) => createAgent({ tools: [mending], ...options });
  await expect(simulate(mender, { seeds: 1 })).rejects.toThrow(refused);
  // Replaced by others, or by none.
  expect(await simulate(own, { seeds: 3, servers })).toMatchObject({ runs: 3, failures: [] });
  expect(await simulate(own, { seeds: 3, servers: {} })).toMatchObject({ runs: 3, failures: [] });
});

test('tools get the context, also in a run that was interrupted and continues', async () => {
  const seen: unknown[] = [];
  const mine = tool({
    name: 'charge',
    description: 'Charges the card.',
    effects: 'idempotent',
    execute: (_args, { context }) => (seen.push(context), 'charged'),
  });
  const context = { userId: 17 };
  const make = (options: AgentOptions) => createAgent({ tools: [mine], ...options });
  const { coverage } = await simulate(make, { seeds: 20, faults: { 'process.crash': 0.5 }, model: once, context });
  expect(coverage.faults['process.crash']).toBeGreaterThan(5);
  expect(seen.length).toBeGreaterThan(20);
  expect(seen.every((one) => one === context)).toBe(true);
});

test('the same seed is the same run, and another seed another', async () => {
  const recordings: string[] = [];
  const check = ({ recording }: { recording(): string }) => void recordings.push(recording());
  await simulate(clerk, { seeds: [3, 4, 5, 3, 4, 5], check });
  expect(recordings.slice(3)).toEqual(recordings.slice(0, 3));
  expect(new Set(recordings).size).toBe(3);
});

test('seeds are bred from those that met something new, and a bred seed is repeated alone', async () => {
  const seen = new Map<number, string>();
  const check = (run: { readonly seed: number; recording(): string }) => void seen.set(run.seed, run.recording());
  const { runs } = await simulate(clerk, { seeds: 60, check });
  expect([runs, seen.size]).toEqual([60, 60]);
  const bred = [...seen].filter(([seed]) => seed > 2 ** 24);
  expect(bred).toHaveLength(30);
  const [seed, recording] = bred[7] ?? [0, ''];
  const again: string[] = [];
  await simulate(clerk, { seeds: [seed], check: (run) => void again.push(run.recording()) });
  expect(again).toEqual([recording]);
  // A bred run is much like its parent, and not the same.
  const parent: string[] = [];
  await simulate(clerk, { seeds: [Math.floor(seed / 2 ** 24)], check: (run) => void parent.push(run.recording()) });
  expect(parent).not.toEqual([recording]);
});

test('seeds count from the first on that is asked for', async () => {
  const seen: number[] = [];
  const model = (seed: number) => (seen.push(seed), hostileModel({ seed }));
  const { runs } = await simulate(clerk, { seeds: 6, firstSeed: 5001, model, faults: [] });
  expect(runs).toBe(6);
  expect(seen).toContain(5001);
  const plain = [...new Set(seen)].filter((seed) => seed < 2 ** 24);
  expect(plain).toEqual(plain.map((_, index) => 5001 + index));
  for (const wrong of [0, 1.5, 2 ** 24, NaN])
    await expect(simulate(clerk, { seeds: 6, firstSeed: wrong })).rejects.toThrow(
      "simulate: option 'firstSeed' must be a whole number from 1 to 16777215, and is",
    );
});

test('what happens for the first time is judged in full, and what is known by the share that is asked for', async () => {
  const wrong = agentWhoseReplaysDiverge();
  const first = await simulate(wrong, { seeds: [1], faults: [], model: ['Done.'], recheck: 0 });
  expect(first.failures.map(({ check }) => check)).toEqual(['replay']);
  const later = await simulate(wrong, { seeds: [1, 2, 3, 4], faults: [], model: ['Done.'], recheck: 0 });
  expect(later.failures.map(({ count }) => count)).toEqual([1]);
  const all = await simulate(wrong, { seeds: [1, 2, 3, 4], faults: [], model: ['Done.'], recheck: 1 });
  expect(all.failures.map(({ count }) => count)).toEqual([4]);
  const refused = simulate(clerk, { recheck: 2 });
  await expect(refused).rejects.toThrow("option 'recheck' must be a number from 0 to 1, and is 2.");
});

test('a call that must not be repeated may end otherwise than in a run without the crash', async () => {
  expect((await simulate(clerk, { seeds: [1566] })).failures).toEqual([]);
});

test('a tool that is charged twice after a crash is found, and the failure is a small recording', async () => {
  const { agent, ...checks } = charger('idempotent');
  const { failures } = await simulate(agent, { seeds: 120, model: once, ...checks });
  const [failure] = failures;
  expect(failures).toHaveLength(1);
  expect(failure?.reason).toBe('the card was charged 2 times for one call');
  expect(failure?.drawn.length).toBeLessThanOrEqual(3);
  expect(failure?.drawn.join()).toMatch(/crash|journal/);
  expect(failure?.records.left).toBeLessThanOrEqual(failure?.records.found ?? 0);
  const ended = await replay(failure?.recording ?? '', agent({}));
  expect(ended.result).toBe('Paid.');
  expect(transitions(failure?.recording ?? '').length).toBeGreaterThan(3);
});

test('the same tool is not charged twice where it says that it may run once', async () => {
  const { agent, ...checks } = charger('once');
  expect((await simulate(agent, { seeds: 120, model: once, ...checks })).failures).toEqual([]);
});

test('a claim about states is asked at every state', async () => {
  const always = ({ ran }: { readonly ran: readonly { readonly tool: string }[] }) =>
    ran.every(({ tool: name }) => name !== 'pay');
  const broken = await simulate(clerk, { seeds: 30, faults: [], always });
  expect(broken.failures.map(({ check }) => check)).toEqual(['always']);
  const kept = await simulate(clerk, { seeds: 30, faults: ['person.reject'], model: ['Done.'], always });
  expect(kept.ok).toBe(true);
});

describe('faults', () => {
  test('none happen where none are asked for', async () => {
    const { coverage } = await simulate(clerk, { seeds: 30, faults: [] });
    expect(Object.values(coverage.faults).every((count) => count === 0)).toBe(true);
  });

  test('one can be named alone, given a rate or left out', async () => {
    const alone = await simulate(clerk, { seeds: 30, faults: ['model.busy'] });
    const met = Object.entries(alone.coverage.faults).filter(([, count]) => count > 0);
    expect(met.map(([name]) => name)).toEqual(['model.busy']);
    const rated = await simulate(clerk, { seeds: 20, faults: { 'outside.cancel': 1, 'process.crash': false } });
    expect(rated.coverage.endings['cancelled']).toBeGreaterThan(15);
    expect(rated.coverage.faults['process.crash']).toBe(0);
  });

  test('one that there is not is refused with the nearest name', async () => {
    const wrong = Reflect.apply(simulate, undefined, [clerk, { faults: ['model.bussy'] }]);
    await expect(wrong).rejects.toThrow("there is no fault 'model.bussy'. Did you mean 'model.busy'?");
  });
});

describe('time', () => {
  const nap = tool({
    name: 'nap',
    description: 'Sleeps for a minute.',
    effects: 'none',
    execute: async () => {
      await new Promise((resolve) => setTimeout(resolve, 60_000));
      return new Date().toISOString();
    },
  });
  const replies = [{ content: '', toolCalls: [{ name: 'nap', arguments: {} }] }, 'Good morning.'];

  test('a minute passes at once, the same in every run, and the real time is back afterwards', async () => {
    const [began, timer] = [Date.now(), setTimeout];
    const results: string[] = [];
    const found = await simulate((options) => createAgent({ tools: [nap], ...options }), {
      seeds: 20,
      faults: [],
      model: replies,
      check: ({ recording }) => void results.push(/"data":"([^"]*)"/.exec(recording())?.[1] ?? ''),
    });
    expect(found.failures).toEqual([]);
    expect(found.waited).toEqual([]);
    expect([...new Set(results)]).toEqual(['2026-01-01T00:01:00.000Z']);
    expect(Date.now() - began).toBeLessThan(20_000);
    expect(setTimeout).toBe(timer);
  });

  test.skipIf(Number.parseInt(process.versions.node, 10) < 24)(
    'what else lives in the process has its own, and changes no run',
    async () => {
      const ends = async (): Promise<readonly string[]> => {
        const all: string[] = [];
        const check = ({ recording }: CheckedRun): void => void all.push(recording());
        const roll = tool({ name: 'roll', description: 'Rolls.', effects: 'none', execute: () => Math.random() });
        const gambler = (given: AgentOptions) => createAgent({ maxSteps: 5, tools: [look, pay, roll], ...given });
        const { failures } = await simulate(gambler, { seeds: 40, check, model: hostileModel(), recheck: 0 });
        return [...all, ...failures.map(({ reason }) => reason)];
      };
      const quiet = await ends();
      const heard: number[] = [];
      const began = Date.now();
      const ids = new Set<number>();
      const other = setInterval(() => {
        Math.random();
        crypto.getRandomValues(new Uint32Array(1)).forEach((id) => ids.add(id));
        setTimeout(() => heard.push(Date.now()), 5);
      }, 1);
      const beside = await ends();
      clearInterval(other);
      expect(beside).toEqual(quiet);
      expect(heard.length).toBeGreaterThan(3);
      expect([...ids].filter((id) => id > 0).length).toBeGreaterThan(3);
      expect(heard.filter((at) => at < began || at > began + 60_000)).toEqual([]);
    },
  );

  test('random numbers of every width are drawn, and the same for the same seed', async () => {
    const drawn: string[] = [];
    const draw = tool({
      name: 'draw',
      description: 'Draws.',
      effects: 'none',
      execute: () => {
        const arrays = [new Uint8Array(8), new Uint16Array(4), new Int32Array(2), new BigUint64Array(1)];
        // A view of a part of its buffer leaves the rest as it is.
        const part = new Uint8Array(new ArrayBuffer(8), 2, 4);
        drawn.push(...[...arrays, part].map((one) => crypto.getRandomValues(one).join(',')));
        return [...new Uint8Array(part.buffer)].filter((_, at) => at < 2 || at > 5);
      },
    });
    const { failures } = await simulate((options) => createAgent({ tools: [draw], ...options }), {
      seeds: [1, 2, 1],
      faults: [],
      recheck: 0,
      model: [{ content: '', toolCalls: [{ name: 'draw' }] }, 'Done.'],
      check: ({ recording }) => /"data":\[0,0,0,0\]/.test(recording()),
    });
    expect(failures).toEqual([]);
    expect(drawn.slice(10)).toEqual(drawn.slice(0, 5));
    expect(new Set(drawn).size).toBe(10);
    expect(drawn.filter((numbers) => /^[0,]*$/.test(numbers))).toEqual([]);
  });

  test('a tool that really waits is waited for, and named', async () => {
    const fetchIt = tool({
      name: 'fetch_it',
      description: 'Fetches.',
      effects: 'none',
      execute: () => really(15, 'it'),
    });
    const found = await simulate((options) => createAgent({ tools: [fetchIt], ...options }), {
      seeds: 3,
      faults: [],
      model: [{ content: '', toolCalls: [{ name: 'fetch_it', arguments: {} }] }, 'Done.'],
      check: ({ recording }) => recording().includes('"data":"it"'),
    });
    expect(found.failures).toEqual([]);
    expect(found.waited).toEqual(['fetch_it']);
  });
});

test('a process that is held up for seconds gives up no sooner on what really waits', async () => {
  const slow = tool({
    name: 'slow',
    description: 'Is slow.',
    effects: 'none',
    execute: async () => {
      await really(5);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
      return really(5, 'it');
    },
  });
  const found = await simulate((options) => createAgent({ tools: [slow], ...options }), {
    seeds: 1,
    faults: [],
    model: [{ content: '', toolCalls: [{ name: 'slow', arguments: {} }] }, 'Done.'],
    check: ({ recording }) => recording().includes('"data":"it"'),
  });
  expect(found.failures).toEqual([]);
});

test('a promise that nobody handles is a failure', async () => {
  const loose = tool({
    name: 'loose',
    description: 'Forgets a promise.',
    effects: 'none',
    execute: () => {
      void Promise.reject(new Error('forgotten'));
      return 1;
    },
  });
  const { failures } = await simulate((options) => createAgent({ tools: [loose], ...options }), {
    seeds: 3,
    faults: [],
    model: [{ content: '', toolCalls: [{ name: 'loose', arguments: {} }] }, 'Done.'],
  });
  expect(failures).toMatchObject([{ check: 'unhandled rejection', reason: 'forgotten', count: 3 }]);
});

describe('what a run leaves', () => {
  const once1 = [{ content: '', toolCalls: [{ name: 'work', arguments: {} }] }, 'Done.'];
  const problems = async (execute: () => unknown): Promise<readonly string[]> => {
    const work = tool({ name: 'work', description: 'Works.', effects: 'none', execute });
    const found = await simulate((options) => createAgent({ tools: [work], ...options }), {
      seeds: 2,
      faults: [],
      model: once1,
    });
    return found.failures.map(({ check, reason }) => `${check}: ${reason}`);
  };

  test.each<readonly [string, () => unknown, readonly string[]]>([
    [
      'a timer',
      () => void setTimeout(() => undefined, 5000),
      ['left behind: a timer of 5000 ms is still set when the run is over'],
    ],
    [
      'an interval',
      () => void setInterval(() => undefined, 700),
      ['left behind: a timer of 700 ms is still set when the run is over'],
    ],
    ['a timer that holds nothing', () => void setTimeout(() => undefined, 5000).unref(), []],
    ['an interval that holds nothing', () => void setInterval(() => undefined, 5000).unref(), []],
    ['a timer that was cleared', () => clearTimeout(setTimeout(() => undefined, 5000)), []],
  ])('%s', async (_what, execute, expected) => {
    expect(await problems(execute)).toEqual(expected);
  });

  test('a listener of the process, and none that is removed', async () => {
    const listen = () => undefined;
    const left = await problems(() => void process.on('SIGUSR2', listen));
    process.removeAllListeners('SIGUSR2');
    expect(left).toEqual(['left behind: the process has more listeners than before the run']);
    expect(await problems(() => void process.on('SIGUSR2', listen).off('SIGUSR2', listen))).toEqual([]);
  });
});

test('a secret that is printed is a failure, one that only a tool gets is none', async () => {
  const run = async (tell: (text: string) => void) => {
    const know = tool({
      name: 'know',
      description: 'Knows.',
      effects: 'none',
      execute: () => {
        tell('it is hunter2-hunter2\n');
        return { it: 'hunter2-hunter2' };
      },
    });
    const agent = (options: AgentOptions) => createAgent({ secrets: ['hunter2-hunter2'], tools: [know], ...options });
    return simulate(agent, { seeds: 3, faults: [], model: [{ content: '', toolCalls: [{ name: 'know' }] }, 'Done.'] });
  };
  expect((await run(() => undefined)).failures).toEqual([]);
  const { write } = process.stderr;
  const printed = await run((text) => void process.stderr.write(text));
  expect(printed.failures).toMatchObject([{ check: 'secrets', reason: 'secret number 1 stands in what was printed' }]);
  expect(process.stderr.write).toBe(write);
});

test('people talk to runs, once and again, over crashes, and nothing of it is lost or doubled', async () => {
  const said = { 'person.steer': 0.2, 'person.repeat': 0.3, 'process.crash': 0.1 };
  const { failures, coverage } = await simulate(clerk, { seeds: cases(50, 2000), faults: said });
  expect(failures).toEqual([]);
  expect(coverage.faults['person.steer']).toBeGreaterThan(25);
  expect(coverage.faults['person.repeat']).toBeGreaterThan(25);
  expect(coverage.faults['process.crash']).toBeGreaterThan(10);
});

test('the replies of a recording are what the model says', async () => {
  const agent = createAgent({
    tools: [look],
    model: scriptedModel([{ content: '', toolCalls: [{ name: 'look', arguments: { at: 'x' } }] }, 'Seen.']),
    silent: true,
  });
  const run = agent.run('Look');
  await run;
  const { failures } = await simulate(clerk, {
    seeds: 20,
    faults: ['tool.slow', 'process.crash'],
    model: run.recording(),
    check: ({ result, ran }) => result.result === 'Seen.' && ran.length >= 1,
  });
  expect(failures).toEqual([]);
});

test('an agent that is made already is simulated without crashes', async () => {
  const { ok, coverage } = await simulate(clerk({ silent: true }), { seeds: 80 });
  expect(ok).toBe(true);
  expect(coverage.faults['process.crash']).toBe(0);
  expect(coverage.faults['tool.throw']).toBeGreaterThan(0);
});

test('a simulation ends with its budget', async () => {
  const { runs } = await simulate(clerk, { seeds: 1_000_000, budgetMs: 200 });
  expect(runs).toBeGreaterThan(0);
  expect(runs).toBeLessThan(10_000);
});

test('a run resumed several times after its tools changed is read back in the order in which it was told', async () => {
  const view = tool({ name: 'view', description: 'Looks.', effects: 'none', execute: () => 1 });
  const call = (n: number) => ({ content: '', toolCalls: [{ name: 'view', arguments: { n } }] });
  const found = await simulate((options) => createAgent({ tools: [view], ...options }), {
    seeds: [27],
    faults: { 'process.crash': 0.1 },
    model: [call(1), call(2), call(3), call(4), 'Done.'],
  });
  expect(found.failures).toEqual([]);
  expect(found.coverage.faults['process.crash']).toBeGreaterThan(1);
});

import { describe, expect, test } from 'vitest';
import { type AgentOptions, type RunOptions, createAgent, tool } from '../../src/index.ts';
import { type AgentMaker, type FaultName, type SimulateOptions, simulate } from '../../src/testing/index.ts';
import { LinkFault } from '../../src/mcp/wire/faults.ts';
import { PendingRequests, type WireMessage } from '../../src/mcp/wire/pending-requests.ts';
import { FAULT_NAMES } from '../../src/testing/simulate/simulated-faults.ts';

/** An agent with a bug: which fault finds it, by which check, and which others do not. */
interface Planted extends SimulateOptions {
  readonly bug: string;
  readonly agent: AgentMaker;
  readonly found: FaultName;
  /** What the fault needs beside it, and what does not find the bug alone. */
  readonly beside?: readonly FaultName[];
  readonly by: string;
}

const call = (name: string) => ({ content: '', toolCalls: [{ name, arguments: {} }] });
const PAYS = [call('pay'), call('pay'), 'Paid.'];

let charged = 0;
const charge = tool({
  name: 'pay',
  description: 'Charges the card.',
  effects: 'idempotent',
  execute: () => ++charged,
});
const asks = tool({ name: 'pay', description: 'Pays.', effects: 'once', policy: 'confirm', execute: () => 'paid' });

type Lie = (really: () => Promise<unknown>, isOver: boolean) => unknown;

/** An agent whose runs answer something else where they are asked one thing. */
function lying(member: 'approve' | 'queue', answer: Lie) {
  return (options: AgentOptions) => {
    const agent = createAgent({ tools: [asks], ...options });
    const begin = agent.run;
    const run = (input: string, given?: RunOptions) => {
      const started = begin(input, given);
      let isOver = false;
      void started.finally(() => (isOver = true));
      return new Proxy(started, {
        get: (target, key): unknown => {
          const value: unknown = Reflect.get(target, key);
          if (key !== member || typeof value !== 'function') return value;
          return (...args: unknown[]) => answer(async () => Reflect.apply(value, target, args), isOver);
        },
      });
    };
    return Object.assign(agent, { run });
  };
}

/** A tool that keeps in memory what a later one needs. */
function forgetful(options: AgentOptions) {
  let opened = false;
  const open = tool({
    name: 'open',
    description: 'Opens an order.',
    effects: 'idempotent',
    execute: () => (opened = true),
  });
  const execute = () => (opened ? 'paid' : 'there is no order');
  const pay = tool({ name: 'pay', description: 'Pays.', effects: 'once', policy: 'confirm', execute });
  return createAgent({ tools: [open, pay], ...options });
}

const PLANTED: readonly Planted[] = [
  {
    bug: 'a card is charged again when the run is resumed',
    agent: (options) => createAgent({ tools: [charge], ...options }),
    found: 'process.abandon',
    by: 'check: the card was charged again',
    begin: () => (charged = 0),
    check: () => charged <= 2 || 'the card was charged again',
  },
  {
    bug: 'an order is forgotten when the run is parked',
    agent: forgetful,
    found: 'outside.park',
    by: 'check: the order is gone',
    model: [call('open'), call('pay'), 'Paid.'],
    check: ({ recording }) => !recording().includes('there is no order') || 'the order is gone',
  },
  {
    bug: 'nobody thinks of a run whose time is up',
    agent: (options) => createAgent({ tools: [charge], ...options }),
    found: 'outside.expire',
    by: 'check: there is no answer',
    check: ({ result }) => result.result === 'Paid.' || 'there is no answer',
  },
  {
    bug: 'nobody thinks of a run that is ended from outside',
    agent: (options) => createAgent({ tools: [charge], ...options }),
    found: 'outside.abandon',
    by: 'check: there is no answer',
    check: ({ result }) => result.status !== 'failed' || 'there is no answer',
  },
  {
    bug: 'an answer to a question that has expired is said to be taken',
    agent: lying('approve', (really, isOver) => (isOver ? really() : really().then(() => true))),
    found: 'person.expired',
    by: 'answers: an answer that nobody waits for was taken',
  },
  {
    bug: 'a message for the next run is said to be delivered, and never sent',
    agent: lying('queue', () => Promise.resolve({ delivered: true, step: 1, runId: 'next' })),
    found: 'person.queue',
    by: "messages: 'queued #' was said to be delivered, and is not written down",
  },
  {
    bug: 'a message that was taken back is said to be delivered',
    agent: lying('queue', (really) => really().then(() => ({ delivered: true, step: 1, runId: 'next' }))),
    found: 'person.withdraw',
    beside: ['person.queue'],
    by: "messages: 'queued #' was said to be delivered, and is not written down",
  },
];

describe.each(PLANTED)('$found', ({ bug, agent, found, beside = [], by, ...options }) => {
  const simulated = async (faults: readonly FaultName[], seeds: number) => {
    const rates = Object.fromEntries(faults.map((name) => [name, 0.2]));
    const none = Object.fromEntries(FAULT_NAMES.map((name) => [name, false]));
    return simulate(agent, { model: PAYS, ...options, seeds, faults: { ...none, ...rates } });
  };

  test(`finds that ${bug}`, async () => {
    const { failures, coverage } = await simulated([...beside, found], 60);
    expect(coverage.faults[found]).toBeGreaterThan(0);
    expect(failures.map(({ check, reason }) => `${check}: ${reason.replaceAll(/\d+/g, '#')}`)).toEqual([by]);
    const [{ drawn, only } = { drawn: [], only: [] }] = failures;
    expect(only.some((key) => key.startsWith(found))).toBe(true);
    expect(drawn.length).toBeLessThanOrEqual(3);
  });

  test('is what finds it', async () => {
    expect((await simulated(beside, 30)).failures).toEqual([]);
  });
});

test('mcp.duplicate finds that a second answer is taken for that of another request', async () => {
  const both = { content: '', toolCalls: [call('files_read'), call('files_read')].flatMap((one) => one.toolCalls) };
  const failures = async (rate: number) => {
    const rates = Object.fromEntries(FAULT_NAMES.map((name) => [name, name === 'mcp.duplicate' ? rate : 0]));
    const servers = { files: [{ name: 'read', annotations: { readOnlyHint: true } }] };
    const found = await simulate(createAgent, { seeds: 20, servers, faults: rates, model: [both, 'Read.'] });
    return found.failures.map(({ check, reason }) => `${check}: ${reason}`);
  };
  expect(await failures(0.5)).toEqual([]);
  const { refused } = PendingRequests.prototype;
  PendingRequests.prototype.refused = function broken(this: PendingRequests, message: WireMessage): boolean {
    const isSecond = message.method === undefined && this.find(message.id) === null;
    for (const other of isSecond ? this.open() : [])
      other.lose(new LinkFault('answer', 'what came was for another', { delivered: true }));
    return refused.call(this, message);
  };
  try {
    expect(await failures(0.5)).toEqual([
      'servers: a call of a server failed with protocol-error, and nothing had gone wrong for good',
    ]);
    expect(await failures(0)).toEqual([]);
  } finally {
    PendingRequests.prototype.refused = refused;
  }
});

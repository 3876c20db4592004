import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { type AgentOptions, createAgent, recover, tool } from '../../src/index.ts';
import { permissionStore } from '../../src/security/index.ts';
import type { SimulateOptions, SimulatedAgent } from '../../src/testing/index.ts';

/** An agent, and how it is simulated. */
export interface SimulatedSubject {
  readonly name: string;
  readonly agent: (options: AgentOptions) => SimulatedAgent;
  readonly options: SimulateOptions;
}

const SECRET = 'hunter2-hunter2';
const allowed = join(tmpdir(), `signalbox-simulated-${process.pid}.json`);

/** How often each call of a tool that may run once was begun, by its key; what was wrong with what a tool was given. */
const begun = new Map<string, number>();
let wrong = '';

const look = tool({
  name: 'look',
  description: 'Looks.',
  inputSchema: z.object({ at: z.string() }),
  effects: 'none',
  execute: async (args) => {
    const length = args.at.length;
    // A tool may do with its arguments what it likes.
    args.at = '';
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { seen: length, again: [SECRET, `${SECRET} and ${SECRET}`], [SECRET]: 1 };
  },
});
const pay = tool({
  name: 'pay',
  description: 'Pays.',
  inputSchema: z.object({ cents: z.number().int() }),
  effects: 'once',
  policy: 'confirm',
  execute: ({ cents }, { idempotencyKey }) => {
    begun.set(idempotencyKey, (begun.get(idempotencyKey) ?? 0) + 1);
    return { paid: cents };
  },
});
const flaky = tool({
  name: 'flaky',
  description: 'Fails now and then.',
  inputSchema: z.object({ n: z.number().int(), word: z.string() }),
  effects: 'idempotent',
  timeoutMs: 20_000,
  onError: { executionError: [recover.retry({ maxAttempts: 3, backoff: recover.exponential() })] },
  execute: ({ n, word }) => {
    if (word.includes('«secret:')) wrong = 'a tool was given a mark';
    if (n % 3 === 0) throw new Error('n is no good');
    return n;
  },
});

/** What must hold of every run, beside what a simulation checks by itself. */
function check({ result, recording }: { readonly result: { readonly result: string }; recording(): string }): string {
  const text = recording();
  if (wrong !== '') return wrong;
  if (Math.max(0, ...begun.values()) > 1) return 'a payment was made twice';
  const paid = [...begun.values()].reduce((sum, count) => sum + count, 0);
  const agreed = (text.match(/"type":"approval\.given"/g) ?? []).length;
  const isAllowed = text.includes('"always":true') || text.includes('rememberPermission');
  if (paid > agreed && !isAllowed) return `${paid} payments, and ${agreed} were agreed to`;
  const asked = text.includes('"name":"rememberPermission"') && text.includes('"t":"end"');
  const kept = permissionStore({ path: allowed, agent: 'clerk' }).isAlwaysAllowed('pay');
  const remembered = /"id":"[^"]*rememberPermission#\d+","ok":true/.test(text);
  if (asked && remembered && kept !== true) return 'always was said, and is not kept';
  if (!text.includes('"t":"end"')) return 'the recording has no end';
  if (/«secret:(?!1»)/.test(text)) return 'the only secret has two marks';
  if (text.includes('read only property')) return 'a tool was given arguments that it could not change';
  if (existsSync(`${allowed}.lock`)) return 'the permission file is still locked';
  return result.result === undefined ? 'there is no result' : '';
}

/** The key that each mark has stood for. */
const keys = new Map<string, string>();

const issue = tool({
  name: 'issue',
  description: 'Issues a key.',
  inputSchema: z.object({ to: z.string() }),
  effects: 'none',
  execute: ({ to }) => `sk-${to.padEnd(24, 'x')}`,
});
const use = tool({
  name: 'use',
  description: 'Uses a key.',
  inputSchema: z.object({ key: z.string(), mark: z.string() }),
  effects: 'none',
  execute: ({ key, mark }) => {
    if (key !== (keys.get(mark) ?? key)) wrong = 'a mark has stood for two keys';
    keys.set(mark, key);
    return 'used';
  },
});
const useKey = (number: number) => ({
  content: '',
  toolCalls: [{ name: 'use', arguments: { key: `«secret:${number}»`, mark: `${number}` } }],
});
const issueTo = (to: string) => ({ content: '', toolCalls: [{ name: 'issue', arguments: { to } }] });

function begin(): void {
  keys.clear();
  begun.clear();
  wrong = '';
  rmSync(allowed, { force: true });
  rmSync(`${allowed}.lock`, { force: true });
}

const clerk = (options: AgentOptions) =>
  createAgent({
    name: 'clerk',
    instructions: `You know ${SECRET}.`,
    secrets: [SECRET],
    maxSteps: 6,
    timeouts: { approvalMs: 3_600_000 },
    tools: [look, pay, flaky],
    ...options,
    permissions: permissionStore({ path: allowed }),
  });

const sayMark = { content: '', toolCalls: [{ name: 'flaky', arguments: { n: 1, word: '«secret:1»' } }] };
const payTwice = {
  content: '',
  toolCalls: [
    { name: 'pay', arguments: { cents: 1 } },
    { name: 'pay', arguments: { cents: 2 } },
    { name: 'look', arguments: { at: 'here' } },
  ],
};

/** What our source is simulated with when it is broken. */
export const SUBJECTS: readonly SimulatedSubject[] = [
  { name: 'clerk', agent: clerk, options: { begin, check } },
  { name: 'payments', agent: clerk, options: { begin, check, model: [payTwice, sayMark, payTwice, 'Done.'] } },
  {
    name: 'visitors',
    agent: clerk,
    options: {
      begin,
      check,
      faults: {
        'process.crash': 0.1,
        'outside.cancel': 0.03,
        'outside.release': 0.1,
        'outside.tools': 0.1,
        'person.late': 0.5,
        'person.steer': 0.2,
        'person.queue': 0.2,
        'journal.slow': false,
      },
    },
  },
  {
    name: 'keys',
    agent: (options) =>
      createAgent({ name: 'keeper', secrets: [SECRET], maxSteps: 9, tools: [issue, use], ...options }),
    options: {
      begin,
      check: () => wrong,
      model: [issueTo('ann'), useKey(2), issueTo('bob'), useKey(2), useKey(3), issueTo('cid'), useKey(2), 'Done.'],
    },
  },
  {
    name: 'servers',
    agent: (options) => createAgent({ maxSteps: 5, tools: [look], ...options }),
    options: {
      servers: {
        files: [
          { name: 'read', annotations: { readOnlyHint: true } },
          { name: 'put', annotations: { idempotentHint: true } },
          { name: 'drop', annotations: { destructiveHint: true } },
        ],
      },
      faults: {
        'mcp.before': 0.1,
        'mcp.during': 0.15,
        'mcp.after': 0.1,
        'mcp.session': 0.1,
        'mcp.list': 0.05,
        'mcp.duplicate': 0.1,
      },
    },
  },
];

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Agent } from '../../src/agent/agent-types.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { ModelError, type Message, type Model, type ModelReply } from '../../src/actors/model.ts';
import type { Run } from '../../src/agent/run/run.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { recover } from '../../src/recovery/recover.ts';
import { type Tool, tool } from '../../src/tools/tool.ts';
import { calls, plan } from '../support/replies.ts';

/** What has really happened, in whatever life: what tools did, and what has failed on its way. */
export interface World {
  readonly done: { readonly tool: string; readonly key: string; readonly life: number }[];
  /** Replies of models that were sent. */
  readonly replies: { life: number }[];
  readonly failed: string[];
}

/** One process of a run. A dead one does nothing more. */
export interface Life {
  readonly number: number;
  readonly world: World;
  isDead: boolean;
}

/** A run that is killed: what its agent is made of, and what is said to it meanwhile. */
export interface KilledRun {
  readonly agent: (life: Life) => AgentOptions;
  /** What a person does about a call that waits. */
  readonly answer?: (run: Run, callId: string) => Promise<unknown>;
  /** Said when this tool begins. */
  readonly say?: { readonly at: string; readonly how: 'steer' | 'queue' };
}

const never = new Promise<never>(() => undefined);

/** Dead processes do nothing, however far they were. */
async function alive(life: Life): Promise<void> {
  await wait(0);
  if (life.isDead) await never;
}

function doing(life: Life, name: string, more: Partial<Pick<Tool, 'effects' | 'policy'>> & { flaky?: boolean } = {}) {
  const { flaky = false, effects = 'once', policy = 'allow' } = more;
  return tool({
    name,
    description: `Does ${name}.`,
    effects,
    policy,
    ...(flaky
      ? { onError: { executionError: [recover.retry({ maxAttempts: 3, backoff: recover.constant(1) })] } }
      : {}),
    inputSchema: { type: 'object', properties: { n: { type: 'number' }, of: { type: 'string' } } },
    execute: async ({ n }: JsonObject, { idempotencyKey: key }) => {
      await alive(life);
      life.world.done.push({ tool: name, key, life: life.number });
      if (flaky && !life.world.failed.includes(name)) {
        life.world.failed.push(name);
        throw new Error('not yet');
      }
      await alive(life);
      return { [name]: n ?? 'done', text: name === 'large' ? 'x'.repeat(20_000) : '' };
    },
  });
}

/** Answers by how often it has answered in the conversation, so that one process continues where another stood. */
function saying(life: Life, replies: readonly (string | ModelReply | ModelError)[], name = 'model'): Model {
  return {
    id: name,
    complete: async ({ messages }) => {
      await alive(life);
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      const scripted = replies[turn] ?? 'Over.';
      if (turn === 1 && name === 'flaky' && !life.world.failed.includes(name)) {
        life.world.failed.push(name);
        throw new ModelError('server-error', 'try again', { status: 503 });
      }
      // A message for later is a run of its own, behind this one.
      if (replies[turn] !== undefined) life.world.replies.push({ life: life.number });
      if (scripted instanceof Error) throw scripted;
      if (scripted === HEARD) return { content: `Heard ${heard(messages)} time(s).` };
      return typeof scripted === 'string' ? { content: scripted } : scripted;
    },
  };
}

export const SAID = 'In French, please.';
const HEARD = '<heard>';
const heard = (messages: readonly Message[]): number => JSON.stringify(messages).split(SAID).length - 1;

const approve = (run: Run, callId: string): Promise<boolean> => run.approve(callId);
const none = 'none' as const;
const idempotent = 'idempotent' as const;

function child(life: Life, name: string, replies: readonly (string | ModelReply)[], more: AgentOptions = {}): Agent {
  return createAgent({
    name,
    description: `Does what a ${name} does.`,
    silent: true,
    model: saying(life, replies),
    ...more,
  });
}

const asking = (name: string) => calls([name, { task: 'Do your part.' }]);

/** Twenty runs, each with other things in it that can be interrupted. */
export const RUNS: Readonly<Record<string, KilledRun>> = {
  'one answer': { agent: (life) => ({ model: saying(life, ['Hello.']) }) },
  'a tool that must run once': {
    agent: (life) => ({ tools: [doing(life, 'pay')], model: saying(life, [calls(['pay', { n: 1 }]), 'Paid.']) }),
  },
  'three tools side by side': {
    agent: (life) => ({
      tools: [doing(life, 'look', { effects: none }), doing(life, 'mark', { effects: idempotent }), doing(life, 'pay')],
      model: saying(life, [calls(['look', { n: 1 }], ['mark', { n: 2 }], ['pay', { n: 3 }]), 'Done.']),
    }),
  },
  'four turns': {
    agent: (life) => ({
      tools: [doing(life, 'pay'), doing(life, 'mark', { effects: idempotent })],
      model: saying(life, [calls(['pay', { n: 1 }]), calls(['mark', { n: 2 }]), calls(['pay', { n: 3 }]), 'Done.']),
    }),
  },
  'a tool that fails first': {
    agent: (life) => ({
      tools: [doing(life, 'flaky', { effects: idempotent, flaky: true }), doing(life, 'pay')],
      model: saying(life, [calls(['flaky'], ['pay', { n: 1 }]), 'Done.']),
    }),
  },
  'a model that fails': {
    agent: (life) => ({
      retry: { backoff: recover.constant(1) },
      tools: [doing(life, 'pay')],
      model: saying(life, [calls(['pay', { n: 1 }]), 'Done.'], 'flaky'),
    }),
  },
  'a reply that must be corrected': {
    agent: (life) => ({
      tools: [doing(life, 'pay')],
      model: saying(life, [calls(['pay', '{"n": "not a number"}']), calls(['pay', { n: 1 }]), 'Done.']),
    }),
  },
  'a tool that there is not': {
    agent: (life) => ({
      tools: [doing(life, 'pay')],
      model: saying(life, [calls(['pya', { n: 1 }]), calls(['pay', { n: 2 }]), 'Done.']),
    }),
  },
  'an approval': {
    agent: (life) => ({
      tools: [doing(life, 'mail', { policy: 'confirm' })],
      model: saying(life, [calls(['mail', { n: 1 }]), 'Sent.']),
    }),
    answer: approve,
  },
  'an approval with other arguments': {
    agent: (life) => ({
      tools: [doing(life, 'mail', { policy: 'confirm' })],
      model: saying(life, [calls(['mail', { n: 1 }]), 'Sent.']),
    }),
    answer: (run, callId) => run.approve(callId, { args: { n: 7 } }),
  },
  'a call that is denied': {
    agent: (life) => ({
      tools: [doing(life, 'mail', { policy: 'confirm' }), doing(life, 'mark', { effects: idempotent })],
      model: saying(life, [calls(['mail', { n: 1 }], ['mark', { n: 2 }]), 'Not sent.']),
    }),
    answer: (run, callId) => run.reject(callId, 'not now'),
  },
  'two approvals side by side': {
    agent: (life) => ({
      tools: [
        doing(life, 'mail', { policy: 'confirm' }),
        doing(life, 'post', { policy: 'confirm', effects: idempotent }),
      ],
      model: saying(life, [calls(['mail', { n: 1 }], ['post', { n: 2 }]), calls(['mail', { n: 3 }]), 'Sent.']),
    }),
    answer: approve,
  },
  'a child agent': {
    agent: (life) => ({
      children: [child(life, 'digger', [calls(['dig', { n: 1 }]), 'Gold.'], { tools: [doing(life, 'dig')] })],
      model: saying(life, [asking('digger'), 'Done.']),
    }),
  },
  'children two deep, with an approval': {
    agent: (life) => {
      const miner = child(life, 'miner', [calls(['dig', { n: 1 }]), 'Gold.'], {
        tools: [doing(life, 'dig', { policy: 'confirm' })],
        confirm: 'wait',
      });
      return {
        children: [child(life, 'owner', [asking('miner'), 'Rich.'], { children: [miner] })],
        model: saying(life, [asking('owner'), 'Done.']),
      };
    },
    answer: approve,
  },
  'a plan': {
    agent: (life) => ({
      tools: [doing(life, 'look', { effects: none }), doing(life, 'pay')],
      model: saying(life, [plan(['look', { n: 1 }], ['pay', { n: 2 }], ['look', { of: '$PREV.pay' }]), 'Done.']),
    }),
  },
  'a plan with an approval and a step that fails first': {
    agent: (life) => ({
      tools: [
        doing(life, 'flaky', { effects: idempotent, flaky: true }),
        doing(life, 'mail', { policy: 'confirm' }),
        doing(life, 'pay'),
      ],
      model: saying(life, [plan(['flaky'], ['mail', { n: 1 }], ['pay', { n: 2 }]), 'Done.']),
    }),
    answer: approve,
  },
  'a message while it works': {
    agent: (life) => ({
      tools: [doing(life, 'listen', { effects: idempotent }), doing(life, 'pay')],
      model: saying(life, [calls(['listen', { n: 1 }]), calls(['listen', { n: 2 }], ['pay', { n: 3 }]), HEARD]),
    }),
    say: { at: 'listen', how: 'steer' },
  },
  'a message for later': {
    agent: (life) => ({
      tools: [doing(life, 'listen', { effects: idempotent })],
      model: saying(life, [calls(['listen', { n: 1 }]), HEARD]),
    }),
    say: { at: 'listen', how: 'queue' },
  },
  'a tool of a server': {
    agent: (life) => ({
      mcpServers: { notes: server() },
      tools: [doing(life, 'pay')],
      model: saying(life, [calls(['notes_note', { run: 'run', text: 'begun' }], ['pay', { n: 1 }]), 'Noted.']),
    }),
  },
  'large results and a budget of calls and steps': {
    agent: (life) => ({
      budget: { maxToolCalls: 3 },
      maxSteps: 3,
      tools: [doing(life, 'large', { effects: idempotent }), doing(life, 'pay')],
      model: saying(life, [
        calls(['large', { n: 1 }]),
        calls(['pay', { n: 2 }]),
        calls(['large', { n: 3 }]),
        calls(['pay', { n: 4 }]),
      ]),
    }),
  },
};

let place = '';
let notes: ReturnType<typeof createMcpConnection> | null = null;

/** Where the server of {@link RUNS} notes what it does. */
export function noteIn(folder: string): void {
  place = folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'run.jsonl'), '');
}

/** One server for all: it lives longer than the processes that are killed. */
function server(): ReturnType<typeof createMcpConnection> {
  const script = fileURLToPath(new URL('../chaos/children/mcp-notes.ts', import.meta.url));
  notes ??= createMcpConnection('notes', { command: process.execPath, args: [script, join(place, 'log'), place] });
  return notes;
}

export async function endServer(): Promise<void> {
  await notes?.disconnect();
}

/** The agent of a run, in one life. */
export function agentOf(run: KilledRun, life: Life, journal: JournalStore): Agent {
  return createAgent({ name: 'killed', seed: 7, silent: true, confirm: 'wait', journal, ...run.agent(life) });
}

/** Does what people do while a run goes on, in each life again: nobody knows what has arrived. */
export async function attend({ answer, say }: KilledRun, run: Run): Promise<void> {
  for await (const event of run) {
    if (event.type === 'approval.requested') void answer?.(run, event.callId).catch(() => undefined);
    if (event.type !== 'tool.started' || event.tool !== say?.at) continue;
    void run[say.how](SAID, { id: 'said' }).catch(() => undefined);
  }
}

import { describe, expect, test } from 'vitest';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import type { JsonObject } from '../../../src/json/json.ts';
import { recover } from '../../../src/recovery/recover.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../../src/testing/scripted-model.ts';
import { type Tool, tool } from '../../../src/tools/tool.ts';
import { calls, plan } from '../../support/replies.ts';

const retry = recover.retry({ maxAttempts: 2 });
const inputSchema = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };

/** A tool whose check gives `checks` one after the other, the last again and again. */
function pay(
  checks: readonly ((args: JsonObject) => JsonObject)[],
  more: Partial<Pick<Tool, 'policy' | 'onError'>> & { readonly execute?: (args: JsonObject) => unknown } = {},
) {
  const [ran, checked]: [unknown[], unknown[]] = [[], []];
  const made = tool({
    name: 'pay',
    description: 'Pays.',
    inputSchema,
    validateArgs: (args) => {
      checked.push(args);
      return checks[Math.min(checked.length, checks.length) - 1]?.(args) ?? args;
    },
    execute: more.execute ?? ((args) => ran.push(args)),
    policy: more.policy ?? 'confirm',
    onError: more.onError ?? { executionError: retry },
  });
  return { made, ran, checked };
}

/** Something that is no JSON: the check itself fails, and says nothing about the arguments. */
const broken = (): JsonObject => Reflect.get(Object({ args: { to: 1n } }), 'args');
const fine = (args: JsonObject): JsonObject => args;

function agentWith(tools: readonly Tool[], replies: readonly ScriptedReply[], more: AgentOptions = {}) {
  const asked: unknown[] = [];
  const agent = createAgent({
    model: scriptedModel(replies),
    tools,
    silent: true,
    confirm: ({ args }) => (asked.push(args), 'deny'),
    ...more,
  });
  return { agent, asked };
}

describe('a check that fails itself, and is tried again', () => {
  test.each([
    ['a call', calls(['pay', { to: 'Ann' }])],
    ['a step of a plan', plan(['pay', { to: 'Ann' }])],
  ])('does not let %s run unasked: it is checked again, then asked about', async (_what, reply) => {
    const { made, ran, checked } = pay([broken, fine]);
    const { agent, asked } = agentWith([made], [reply, 'Fine.']);
    await agent.run('Pay');
    expect([ran, asked]).toEqual([[], [{ to: 'Ann' }]]);
    expect(checked).toHaveLength(2);
  });

  test('never reaches the tool when it goes on failing', async () => {
    const { made, ran, checked } = pay([broken], { policy: 'allow' });
    const { agent } = agentWith([made], [calls(['pay', { to: 'Ann' }]), 'Fine.']);
    const { errorHistory } = await agent.run('Pay');
    expect([ran, checked.length]).toEqual([[], 2]);
    expect(errorHistory).toMatchObject([{ code: 'execution', tool: 'pay' }]);
  });

  test('the checked arguments are what runs, not those that the check had not given back yet', async () => {
    const { made, ran } = pay([broken, () => ({ to: 'Ann Smith' })], { policy: 'allow' });
    const { agent } = agentWith([made], [calls(['pay', { to: 'Ann' }]), 'Paid.']);
    await agent.run('Pay');
    expect(ran).toEqual([{ to: 'Ann Smith' }]);
  });

  test('a pause before the next try changes nothing about that', async () => {
    const paused = recover.retry({ maxAttempts: 2, backoff: recover.constant(1) });
    const { made, ran } = pay([broken, fine], { onError: { executionError: paused } });
    const { agent, asked } = agentWith([made], [calls(['pay', { to: 'Ann' }]), 'Fine.']);
    await agent.run('Pay');
    expect([ran, asked]).toEqual([[], [{ to: 'Ann' }]]);
  });

  test('edited arguments whose check fails are checked again before they run, and only they run', async () => {
    const { made, ran, checked } = pay([fine, broken, fine]);
    const { agent } = agentWith([made], [calls(['pay', { to: 'Ann' }]), 'Paid.'], { confirm: 'wait' });
    const run = agent.run('Pay');
    for await (const event of run)
      if (event.type === 'approval.requested') await run.approve(event.callId, { args: { to: 'Eve' } });
    expect(ran).toEqual([{ to: 'Eve' }]);
    expect(checked).toEqual([{ to: 'Ann' }, { to: 'Eve' }, { to: 'Eve' }]);
  });

  test('edited arguments whose check goes on failing do not run', async () => {
    const { made, ran } = pay([fine, broken]);
    const { agent } = agentWith([made], [calls(['pay', { to: 'Ann' }]), 'Fine.'], { confirm: 'wait' });
    const run = agent.run('Pay');
    for await (const event of run)
      if (event.type === 'approval.requested') await run.approve(event.callId, { args: { to: 'Eve' } });
    expect(ran).toEqual([]);
  });
});

describe('a tool that failed, and is tried again', () => {
  test('is neither checked nor asked about anew: the very same call had been', async () => {
    let tries = 0;
    const { made, checked } = pay([fine], {
      execute: () => {
        if (tries++ === 0) throw new Error('busy');
        return 'paid';
      },
    });
    const { agent, asked } = agentWith([made], [calls(['pay', { to: 'Ann' }]), 'Paid.'], {
      confirm: () => 'allow-once',
    });
    expect(await agent.run('Pay')).toMatchObject({ status: 'answered', toolsUsed: ['pay'] });
    expect([tries, checked.length, asked]).toEqual([2, 1, []]);
  });

  test('is asked about again when its arguments were mended meanwhile and the check of those failed', async () => {
    const steps = [recover.fix(() => ({ to: 'Eve' })), retry];
    const { made } = pay([fine, broken, fine], {
      execute: () => Promise.reject(new Error('busy')),
      onError: { executionError: steps },
    });
    const seen: unknown[] = [];
    const { agent } = agentWith([made], [calls(['pay', { to: 'Ann' }]), 'Fine.'], {
      confirm: ({ args }) => (seen.push(args), seen.length === 1 ? 'allow-once' : 'deny'),
    });
    await agent.run('Pay');
    expect(seen).toEqual([{ to: 'Ann' }, { to: 'Eve' }]);
  });
});

describe('an agent below another', () => {
  const chief = (below: AgentOptions, more: AgentOptions) => {
    const worker = createAgent({ name: 'worker', silent: true, ...below });
    return agentWith([], [calls(['worker', { task: 'Go' }]), 'Fine.'], { children: [worker], ...more });
  };

  test.each(['confirm', 'deny'] as const)('is not started unasked under the policy %s', async (defaultPolicy) => {
    const model = scriptedModel(['Done.']);
    const { agent, asked } = chief({ model }, { defaultPolicy });
    await agent.run('Go');
    expect(model.requests).toEqual([]);
    expect(asked).toEqual(defaultPolicy === 'confirm' ? [{ task: 'Go' }] : []);
  });

  test('is started once somebody agreed, and again after it failed without another question', async () => {
    const model = scriptedModel([new Error('down'), new Error('down'), 'Done.']);
    let asked = 0;
    const { agent } = chief(
      { model, retry: { maxAttempts: 2, backoff: recover.constant(0) } },
      { defaultPolicy: 'confirm', onError: { executionError: retry }, confirm: () => (asked++, 'allow-once') },
    );
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', toolsUsed: ['worker'] });
    expect(asked).toBe(1);
  });
});

describe('a policy that is not known', () => {
  test.each(['Allow', 'ALLOW ', 'yes', ''])('%j never lets a tool run', async (policy) => {
    const look = fakeTool('look');
    Reflect.set(look, 'policy', policy);
    const { agent, asked } = agentWith([], [calls(['look']), 'Fine.']);
    agent.tools.register(look);
    const result = await agent.run('Look');
    expect([look.calls, asked]).toEqual([[], []]);
    expect(JSON.stringify(result.messages)).toContain("Tool 'look' is denied by policy");
    expect(await agent.tools.execute('look')).toMatchObject({ status: 'error' });
  });
});

describe('a tool that becomes stricter while a run goes on', () => {
  test('is not run by a call of it that waits: what is denied now needs no answer any more', async () => {
    const { made, ran } = pay([fine]);
    const { agent } = agentWith([made], [calls(['pay', { to: 'Ann' }]), 'Fine.'], { confirm: 'wait' });
    const run = agent.run('Pay');
    for await (const event of run)
      if (event.type === 'approval.requested') {
        agent.tools.remove('pay');
        agent.tools.register({ ...made, policy: 'deny' });
      }
    expect(JSON.stringify((await run).messages)).toContain("Tool 'pay' is denied by policy");
    expect(ran).toEqual([]);
  });

  test('is asked about before it is tried again, and a call of it that runs is left to end', async () => {
    const asked: unknown[] = [];
    const look = fakeTool(
      'look',
      [
        () => {
          agent.tools.remove('look');
          agent.tools.register({ ...look, policy: 'confirm' });
          throw new Error('busy');
        },
      ],
      { onError: { executionError: recover.retry({ maxAttempts: 2, backoff: recover.constant(5) }) } },
    );
    const { agent } = agentWith([look], [calls(['look', { at: 1 }]), 'Fine.'], {
      confirm: ({ args }) => (asked.push(args), 'deny'),
    });
    await agent.run('Look');
    expect([look.calls, asked]).toEqual([[{ at: 1 }], [{ at: 1 }]]);
  });
});

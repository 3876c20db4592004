import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { ApprovalRequest } from '../../src/actors/ask-approval.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';

/** A store of permissions in memory, as anybody may write one. */
function memoryStore(...given: readonly string[]) {
  const allowed = new Set(given);
  return {
    allowed,
    isAlwaysAllowed: (tool: string) => allowed.has(tool),
    add: (tool: string) => void allowed.add(tool),
  };
}

const schema = { type: 'object', properties: { to: { type: 'string' }, euros: { type: 'integer' } }, required: ['to'] };
const pay = (to = 'Ann') => calls(['pay', { to }]);

function make(replies: readonly ScriptedReply[], options: AgentOptions = {}) {
  const tool = fakeTool('pay', [{ receipt: 7 }], { policy: 'confirm', inputSchema: schema });
  const store = memoryStore();
  const model = scriptedModel(replies);
  const agent = createAgent({ model, tools: [tool], permissions: store, silent: true, ...options });
  return { agent, tool, store, model };
}

async function until(run: AsyncIterable<RunEvent>, type: RunEvent['type']): Promise<RunEvent | undefined> {
  for await (const event of run) if (event.type === type) return event;
  return undefined;
}

const resultOf = (result: { readonly messages: readonly { readonly role: string; readonly content: unknown }[] }) =>
  String(result.messages.find(({ role }) => role === 'tool')?.content);

describe('a tool whose policy is confirm', () => {
  test('asks with the call id of the events, the tool, its arguments and a reason, and runs once allowed', async () => {
    const asked: ApprovalRequest[] = [];
    const { agent, tool } = make([pay(), 'Paid.'], { confirm: (request) => (asked.push(request), 'allow-once') });
    const run = agent.run('Pay Ann', { context: 'till 3' });
    const started = await until(run, 'tool.started');
    expect(await run).toMatchObject({ status: 'answered', toolsUsed: ['pay'] });
    expect(asked).toEqual([
      expect.objectContaining({
        tool: 'pay',
        args: { to: 'Ann' },
        reason: expect.stringMatching(/\S/),
        context: 'till 3',
      }),
    ]);
    expect(started).toMatchObject({ callId: asked[0]?.callId });
    expect(tool.calls).toHaveLength(1);
  });

  test('asks again next time after allow-once', async () => {
    let asked = 0;
    const { agent } = make([pay('Ann'), pay('Bob'), 'Paid.'], { confirm: () => (asked++, 'allow-once') });
    await agent.run('Pay both');
    expect(asked).toBe(2);
  });

  test('asks never again after always-allow: in this run, in the next, in a plan, nor another agent with the store', async () => {
    let asked = 0;
    const confirm = () => (asked++, 'always-allow' as const);
    const { agent, store, tool } = make(
      [pay('Ann'), plan(['pay', { to: 'Bob' }], ['pay', { to: 'Cid' }]), 'Paid.', pay('Dan'), 'Paid.'],
      { confirm },
    );
    await agent.run('Pay all');
    await agent.run('And Dan');
    expect(asked).toBe(1);
    expect(tool.calls).toHaveLength(4);
    expect([...store.allowed]).toEqual(['pay']);
    const other = make([pay(), 'Paid.'], { confirm, permissions: store });
    await other.agent.run('Pay');
    expect(asked).toBe(1);
  });

  test('within one plan, always-allow for a step holds for the next', async () => {
    let asked = 0;
    const { agent, tool } = make([plan(['pay', { to: 'Ann' }], ['pay', { to: 'Bob' }]), 'Paid.'], {
      confirm: () => (asked++, 'always-allow'),
    });
    await agent.run('Pay all');
    expect([asked, tool.calls.length]).toEqual([1, 2]);
  });

  test.each<[string, AgentOptions['confirm']]>([
    ['deny', () => 'deny'],
    ['a promise of deny', () => Promise.resolve('deny' as const)],
    ['something else', () => Reflect.get({ answer: 'yes' }, 'answer')],
    ['true', () => Reflect.get({ answer: true }, 'answer')],
    ['nothing', () => Reflect.get({}, 'answer')],
    [
      'an error',
      () => {
        throw new Error('no line');
      },
    ],
    ['a rejection', () => Promise.reject(new Error('no line'))],
  ])('does not run when the answer is %s', async (_what, confirm = 'wait') => {
    const { agent, tool } = make([pay(), 'Fine.'], { confirm });
    const run = agent.run('Pay');
    expect(await until(run, 'tool.denied')).toMatchObject({ tool: 'pay' });
    const result = await run;
    expect(tool.calls).toEqual([]);
    expect(resultOf(result)).toContain("Tool 'pay' execution denied by user");
    expect(result).toMatchObject({ status: 'answered', errorHistory: [], toolsUsed: [] });
    expect(result.states).not.toContain('ERROR_RECOVERY');
  });

  test('is denied in a silent agent without a callback', async () => {
    const { agent, tool } = make([pay(), 'Fine.']);
    const result = await agent.run('Pay');
    expect(resultOf(result)).toContain("Tool 'pay' requires confirmation but no callback is set");
    expect(tool.calls).toEqual([]);
  });

  test('runs in a silent agent without a callback where it was allowed before', async () => {
    const { agent, tool } = make([pay(), 'Paid.'], { permissions: memoryStore('pay') });
    await agent.run('Pay');
    expect(tool.calls).toHaveLength(1);
  });

  test('never asks about arguments that are invalid', async () => {
    let asked = 0;
    const { agent, tool } = make([calls(['pay', { euros: 5 }]), calls(['pay', '{"to": "An']), 'Hm.'], {
      confirm: () => (asked++, 'allow-once'),
    });
    const { errorHistory } = await agent.run('Pay');
    expect(asked).toBe(0);
    expect(tool.calls).toEqual([]);
    expect(errorHistory.map(({ code }) => code)).toEqual(['deserialization', 'invalid-args']);
  });

  test('asks about what will run: coerced and validated arguments', async () => {
    const asked: unknown[] = [];
    const { agent, tool } = make([calls(['pay', { to: 'Ann', euros: '5' }]), 'Paid.'], {
      confirm: ({ args }) => (asked.push(args), 'allow-once'),
    });
    await agent.run('Pay');
    expect(asked).toEqual([{ to: 'Ann', euros: 5 }]);
    expect(tool.calls).toEqual(asked);
  });

  test('may change the arguments that the callback gets without changing what runs', async () => {
    const { agent, tool } = make([pay(), 'Paid.'], {
      confirm: ({ args }) => (Reflect.set(args, 'to', 'Eve'), 'allow-once'),
    });
    await agent.run('Pay');
    expect(tool.calls).toEqual([{ to: 'Ann' }]);
  });

  test('a denied step ends its plan; the steps behind it do not run', async () => {
    const { agent, tool } = make([plan(['pay', { to: 'Ann' }], ['pay', { to: 'Bob' }]), 'Fine.'], {
      confirm: () => 'deny',
    });
    const result = await agent.run('Pay all');
    expect(tool.calls).toEqual([]);
    expect(result).toMatchObject({ status: 'answered', errorHistory: [] });
  });
});

describe("confirm: 'wait'", () => {
  test('leaves the call pending until run.approve, also in a silent agent', async () => {
    const { agent, tool } = make([pay(), 'Paid.'], { confirm: 'wait' });
    const run = agent.run('Pay');
    const asked = await until(run, 'approval.requested');
    expect(asked).toMatchObject({ tool: 'pay', args: { to: 'Ann' } });
    const callId = asked?.type === 'approval.requested' ? asked.callId : '';
    expect(run.pending).toEqual([
      expect.objectContaining({ runId: run.runId, callId, tool: 'pay', args: { to: 'Ann' } }),
    ]);
    expect(agent.pending()).toEqual(run.pending);
    expect(agent.pending('another run')).toEqual([]);
    expect(tool.calls).toEqual([]);
    const noCalls: string[] = JSON.parse('["unknown", null, 7, {}]');
    for (const none of noCalls) expect([await run.approve(none), await run.reject(none)]).toEqual([false, false]);
    expect(await run.approve(callId)).toBe(true);
    expect(await run.approve(callId)).toBe(false);
    expect(await run.reject(callId)).toBe(false);
    expect(await run).toMatchObject({ status: 'answered', toolsUsed: ['pay'] });
    expect(run.pending).toEqual([]);
  });

  test('run.reject tells the model why', async () => {
    const { agent, tool } = make([pay(), 'Fine.'], { confirm: 'wait' });
    const run = agent.run('Pay');
    await until(run, 'approval.requested');
    expect(await run.reject(run.pending[0]?.callId ?? '', 'not today')).toBe(true);
    const result = await run;
    expect(resultOf(result)).toContain("Tool 'pay' execution denied by user: not today");
    expect(tool.calls).toEqual([]);
  });

  test('always: true is remembered', async () => {
    const { agent, store } = make([pay('Ann'), pay('Bob'), 'Paid.'], { confirm: 'wait' });
    const run = agent.run('Pay');
    await until(run, 'approval.requested');
    expect(await agent.approve(run.runId, run.pending[0]?.callId ?? '', { always: true })).toBe(true);
    expect(await run).toMatchObject({ status: 'answered' });
    expect([...store.allowed]).toEqual(['pay']);
  });

  test('edited arguments are checked again before they run', async () => {
    const { agent, tool } = make([pay('Ann'), pay('Bob'), 'Paid.'], { confirm: 'wait' });
    const run = agent.run('Pay');
    await until(run, 'approval.requested');
    await run.approve(run.pending[0]?.callId ?? '', { args: { to: 'Ann', euros: '3' } });
    let second: string | undefined;
    for await (const event of run)
      if (event.type === 'approval.requested') {
        second = event.callId;
        if (second !== 'c1') break;
      }
    await run.approve(second ?? '', { args: { to: 5, euros: 'many' } });
    const { errorHistory } = await run;
    expect(tool.calls).toEqual([{ to: 'Ann', euros: 3 }]);
    expect(errorHistory).toEqual([expect.objectContaining({ code: 'deserialization', tool: 'pay' })]);
  });

  test('calls of one batch wait side by side and are answered one by one', async () => {
    const { agent, tool } = make([calls(['pay', { to: 'Ann' }, 'a'], ['pay', { to: 'Bob' }, 'b']), 'Done.'], {
      confirm: 'wait',
    });
    const run = agent.run('Pay');
    for await (const event of run) if (event.type === 'approval.requested' && run.pending.length === 2) break;
    const [first, second] = run.pending;
    expect(await run.approve(second?.callId ?? '')).toBe(true);
    expect(await run.reject(first?.callId ?? '')).toBe(true);
    const { messages } = await run;
    expect(tool.calls).toEqual([{ to: 'Bob' }]);
    expect(messages.filter(({ role }) => role === 'tool').map(({ toolCallId }) => toolCallId)).toEqual(['a', 'b']);
  });

  test('timeouts.approvalMs ends the wait as a denial', async () => {
    const { agent, tool } = make([pay(), 'Fine.'], { confirm: 'wait', timeouts: { approvalMs: 20 } });
    const result = await agent.run('Pay');
    expect(result).toMatchObject({ status: 'answered', errorHistory: [] });
    expect(resultOf(result)).toContain("Tool 'pay' execution denied by user");
    expect(tool.calls).toEqual([]);
  });

  test('cancelling ends the wait', async () => {
    const { agent, tool } = make([pay()], { confirm: 'wait' });
    const run = agent.run('Pay');
    await until(run, 'approval.requested');
    await run.cancel();
    expect(await run).toMatchObject({ status: 'cancelled' });
    expect(run.pending).toEqual([]);
    expect(tool.calls).toEqual([]);
  });

  test('beside a callback the first answer counts', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const { agent, tool } = make([pay(), 'Paid.'], {
      confirm: ({ signal }) => (asked.resolve(signal), new Promise(() => undefined)),
    });
    const run = agent.run('Pay');
    const signal = await asked.promise;
    expect(await run.approve(run.pending[0]?.callId ?? '')).toBe(true);
    expect(await run).toMatchObject({ status: 'answered' });
    expect(signal.aborted).toBe(true);
    expect(tool.calls).toHaveLength(1);
  });
});

describe('a tool whose policy is deny', () => {
  test('is not shown to the model, never asks, never runs, and is no error', async () => {
    const tool = fakeTool('launch', [null], { policy: 'deny' });
    let asked = 0;
    for (const toolCalling of ['native', 'json'] as const) {
      const reply = toolCalling === 'native' ? calls(['launch']) : '{"tool": "launch", "tool_args": {}}';
      const model = scriptedModel([reply, '{"answer": "I may not."}']);
      const agent = createAgent({
        model,
        tools: [tool, fakeTool('look')],
        toolCalling,
        silent: true,
        confirm: () => (asked++, 'always-allow'),
      });
      const result = await agent.run('Launch');
      expect(JSON.stringify(model.requests[0])).not.toContain('launch');
      expect(JSON.stringify(result.messages)).toContain("Tool 'launch' is denied by policy");
      expect(result).toMatchObject({ status: 'answered', errorHistory: [], toolsUsed: [] });
    }
    expect([asked, tool.calls.length]).toEqual([0, 0]);
  });

  test('is denied before its arguments are looked at', async () => {
    const tool = fakeTool('launch', [null], { policy: 'deny', inputSchema: schema });
    const model = scriptedModel([calls(['launch', '{"to": ']), 'I may not.']);
    const result = await createAgent({ model, tools: [tool], silent: true }).run('Launch');
    expect(resultOf(result)).toContain("Tool 'launch' is denied by policy");
    expect(result.errorHistory).toEqual([]);
  });
});

import { describe, expect, test, vi } from 'vitest';
import type { Model, ModelRequest } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Policy } from '../../src/tools/spec.ts';
import { interruptedAfter, lineCount } from '../journal/interrupted.ts';
import { calls } from '../support/replies.ts';

const SCHEMA = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };

/** A model that goes by the conversation, so that a new one goes on where the last stood. */
const answering = (...replies: readonly (ReturnType<typeof calls> | string)[]) => {
  const requests: ModelRequest[] = [];
  const model: Model = {
    id: 'remembering',
    complete: async (request) => {
      requests.push(request);
      const reply = replies[request.messages.filter(({ role }) => role === 'assistant').length] ?? 'Done.';
      return typeof reply === 'string' ? { content: reply } : reply;
    },
  };
  return { model, requests };
};

/** An agent whose only call has nonsense for arguments; its fixer looks the path up before it mends them. */
function writer(how: { readonly policy?: Policy; readonly fixer?: AgentOptions; readonly agent?: AgentOptions } = {}) {
  const lookUp = fakeTool('look_up', ['/found'], { effects: 'idempotent', policy: how.policy ?? 'allow' });
  const { model, requests } = answering(calls(['look_up', { name: 'notes' }]), '{"path": "/found"}');
  const fixer = createAgent({
    name: 'clerk',
    instructions: 'You know where files are.',
    model,
    tools: [lookUp],
    silent: true,
    ...how.fixer,
  });
  const write = fakeTool('write', ['written'], {
    inputSchema: SCHEMA,
    onError: { invalidArgs: [recover.fix(fixer), recover.substitute(() => 'stood in')] },
  });
  const agent = createAgent({
    name: 'writer',
    model: answering(calls(['write', 'nonsense'])).model,
    tools: [write],
    silent: true,
    ...how.agent,
  });
  return { agent, fixer, write, lookUp, requests };
}

describe('a repair agent runs below the call that it mends', () => {
  test('as itself: its model, instructions, temperature, length and tools, and it makes no plans', async () => {
    const { agent, write, lookUp, requests } = writer({ fixer: { temperature: 0.7, maxTokens: 99 } });
    const run = agent.run('Write', { runId: 'one' });
    const events: RunEvent[] = [];
    for await (const event of run) events.push(event);
    expect(await run).toMatchObject({ status: 'answered', toolsUsed: ['write'] });
    expect(lookUp.calls).toEqual([{ name: 'notes' }]);
    expect(write.calls).toEqual([{ path: '/found' }]);
    expect(requests).toHaveLength(2);
    expect(requests[0]).toMatchObject({ temperature: 0.7, maxTokens: 99 });
    expect(requests[0]?.messages[0]).toMatchObject({ role: 'system', content: 'You know where files are.' });
    expect(String(requests[0]?.messages[1]?.content)).toContain('"raw": "nonsense"');
    expect(requests[0]?.tools?.map(({ name }) => name)).toEqual(['look_up', 'escalate', 'throwException']);
    const below = events.filter(({ child }) => child === 'repair:clerk');
    expect(below.map(({ type }) => type)).toContain('tool.finished');
    expect(below.map(({ type }) => type)).toContain('model.replied');
    expect(events.filter(({ type }) => type === 'run.finished')).toHaveLength(1);
    const actors = new Set(run.transitions().map(({ actor }) => actor));
    expect([...actors]).toContain('agent/c1/childAgent');
    const again = replay(run.recording(), writer().agent);
    await again;
    expect(again.transitions()).toEqual(run.transitions());
  });

  test('and leaves its own conversation as it was', async () => {
    const { agent, fixer } = writer();
    await agent.run('Write');
    expect(fixer.history).toEqual([]);
    expect(fixer.tools.list().map(({ name }) => name)).toEqual(['look_up']);
  });

  test('in JSON mode it may answer in the envelope or without', async () => {
    for (const answer of ['{"path": "/found"}', '{"thought": "there", "answer": "{\\"path\\": \\"/found\\"}"}']) {
      const { model } = answering(answer);
      const { agent, write } = writer({ fixer: { model, toolCalling: 'json' } });
      await agent.run('Write');
      expect(write.calls, answer).toEqual([{ path: '/found' }]);
    }
  });

  test("its tools keep their policies: a person is asked, by the run's own handle", async () => {
    const { agent, write, lookUp } = writer({ policy: 'confirm', agent: { confirm: 'wait' } });
    const run = agent.run('Write');
    for await (const event of run) {
      if (event.type !== 'approval.requested') continue;
      expect(lookUp.calls).toEqual([]);
      expect(event).toMatchObject({ tool: 'look_up', child: 'repair:clerk' });
      expect(await run.approve(event.callId)).toBe(true);
    }
    expect(write.calls).toEqual([{ path: '/found' }]);
    const denied = writer({ policy: 'deny' });
    await denied.agent.run('Write');
    expect(denied.lookUp.calls).toEqual([]);
  });

  test('two of one name are two agents', async () => {
    const named = (path: string, seen: string[]) =>
      createAgent({
        name: 'clerk',
        tools: [fakeTool('look_up', [() => seen.push(path)])],
        model: answering(calls(['look_up', {}]), path === '' ? 'I do not know.' : `{"path": "${path}"}`).model,
        silent: true,
      });
    const seen: string[] = [];
    const write = fakeTool('write', ['written'], {
      inputSchema: SCHEMA,
      onError: { invalidArgs: [recover.fix(named('', seen)), recover.fix(named('/b', seen))] },
    });
    const model = answering(calls(['write', 'nonsense'])).model;
    const run = createAgent({ model, tools: [write], silent: true }).run('Write');
    const places = new Set<string>();
    for await (const { child } of run) if (child !== undefined) places.add(child);
    expect(write.calls).toEqual([{ path: '/b' }]);
    expect(seen).toEqual(['', '/b']);
    expect([...places]).toEqual(['repair:clerk', 'repair:clerk-2']);
  });

  test('every attempt gives its calls ids of their own', async () => {
    const lookUp = fakeTool('look_up', ['/found'], { effects: 'idempotent' });
    const { model } = answering(calls(['look_up', {}]), '{"size": 1}');
    const fixer = createAgent({ name: 'clerk', model, tools: [lookUp], silent: true });
    const write = fakeTool('write', ['written'], {
      inputSchema: SCHEMA,
      onError: { invalidArgs: recover.fix(fixer, { retries: 2 }) },
    });
    const agent = createAgent({ model: answering(calls(['write', 'nonsense'])).model, tools: [write], silent: true });
    const ids: string[] = [];
    for await (const event of agent.run('Write'))
      if (event.type === 'tool.started' && event.tool === 'look_up') ids.push(event.callId);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(2);
  });

  test('what one attempt used of the budget is gone for the next', async () => {
    const lookUp = fakeTool('look_up', ['/found'], { effects: 'idempotent' });
    const { model } = answering(calls(['look_up', {}]), '{"size": 1}');
    const fixer = createAgent({ name: 'clerk', model, tools: [lookUp], silent: true });
    const write = fakeTool('write', ['written'], {
      inputSchema: SCHEMA,
      onError: { invalidArgs: [recover.fix(fixer, { retries: 2 }), recover.substitute(() => 'stood in')] },
    });
    const agent = createAgent({
      model: answering(calls(['write', 'nonsense'])).model,
      tools: [write],
      budget: { maxToolCalls: 2 },
      silent: true,
    });
    const result = await agent.run('Write');
    expect(lookUp.calls).toHaveLength(1);
    expect(JSON.stringify(result.messages)).toContain('stood in');
  });

  test('one that takes too long is given up, its request aborted, and the next step is tried', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      let aborted = false;
      const model: Model = {
        id: 'silent',
        complete: (_request, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              aborted = true;
              reject(new Error('aborted'));
            });
          }),
      };
      const { agent, write } = writer({ fixer: { model, timeouts: { responseMs: 1_000_000 } } });
      const run = agent.run('Write');
      const waiting = run.then(({ messages }) => JSON.stringify(messages));
      await vi.advanceTimersByTimeAsync(179_000);
      expect([aborted, run.transitions().at(-1)?.to]).toEqual([false, expect.not.stringContaining('FED_BACK')]);
      await vi.advanceTimersByTimeAsync(2000);
      expect(aborted).toBe(true);
      expect(await waiting).toContain('stood in');
      expect(write.calls).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  test('what one that takes too long has used counts, and nothing is left of the budget for others', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const usage = { inputTokens: 7, outputTokens: 0, totalTokens: 7 };
      let asked = 0;
      const model: Model = {
        id: 'slow',
        complete: () =>
          asked++ === 0 ? Promise.resolve({ ...calls(['look_up', {}]), usage }) : new Promise<never>(() => undefined),
      };
      const again = ['nonsense', { path: '/a' }, { path: '/b' }].map((args) => calls(['write', args]));
      const { agent, lookUp, write } = writer({
        fixer: { model, timeouts: { responseMs: 1_000_000 } },
        agent: { model: answering(...again).model, budget: { maxToolCalls: 2 } },
      });
      const run = agent.run('Write');
      const output = run.then((result) => result);
      await vi.advanceTimersByTimeAsync(181_000);
      expect(await output).toMatchObject({ reason: 'budget', usage: { totalTokens: 7 } });
      expect([lookUp.calls.length, write.calls]).toEqual([1, [{ path: '/a' }]]);
      expect(await replay(run.recording(), agent)).toEqual(await output);
    } finally {
      vi.useRealTimers();
    }
  });

  test('its secrets stay out of the recording', async () => {
    const { agent, write } = writer({ fixer: { secrets: ['/found'] } });
    const run = agent.run('Write');
    await run;
    expect(write.calls).toEqual([{ path: '/found' }]);
    expect(run.recording()).not.toContain('/found');
  });

  test('chosen by a function it runs in the same way', async () => {
    const { fixer, lookUp } = writer();
    const write = fakeTool('write', ['written'], {
      inputSchema: SCHEMA,
      onError: { invalidArgs: () => recover.fix(fixer) },
    });
    const model = answering(calls(['write', 'nonsense'])).model;
    const agent = createAgent({ model, tools: [write], silent: true });
    const run = agent.run('Write');
    await run;
    expect(write.calls).toEqual([{ path: '/found' }]);
    expect(lookUp.calls).toHaveLength(1);
    expect(run.transitions().some(({ actor }) => actor.startsWith('agent/c1/childAgent'))).toBe(true);
  });
});

describe('a run that stopped while a repair agent worked', () => {
  test.each<[Policy, number]>([
    ['allow', 1],
    ['deny', 0],
  ])('goes on wherever it stopped; its tool is %s by then', async (policy, looked) => {
    const first = writer();
    const run = first.agent.run('Write', { runId: 'one' });
    await run;
    const recording = run.recording();
    const started = recording.split('\n').findIndex((line) => line.includes('"callTool"') && line.includes('look_up'));
    for (let lines = 1; lines <= started; lines++) {
      const journal = interruptedAfter(recording, lines);
      const { agent, write, lookUp } = writer({ policy, agent: { journal } });
      const resumed = agent.resume('one');
      expect(await resumed, `after line ${lines}`).toMatchObject({ status: 'answered' });
      expect(lookUp.calls, `after line ${lines}`).toHaveLength(looked);
      expect(write.calls, `after line ${lines}`).toEqual([{ path: '/found' }]);
      const again = replay(journal.text(), writer({ policy }).agent);
      await again;
      expect(again.transitions()).toEqual(resumed.transitions());
    }
    expect(lineCount(recording)).toBeGreaterThan(started);
  });

  test('is told of no change where there was none', async () => {
    const run = writer().agent.run('Write', { runId: 'one' });
    await run;
    const lines = run.recording().split('\n');
    const started = lines.findIndex((line) => line.includes('"callTool"') && line.includes('look_up'));
    const journal = interruptedAfter(lines.join('\n'), started);
    await writer({ agent: { journal } }).agent.resume('one');
    expect(journal.text()).not.toContain('tools.changed');
    const stricter = interruptedAfter(lines.join('\n'), started);
    await writer({ policy: 'deny', agent: { journal: stricter } }).agent.resume('one');
    expect(stricter.text()).toContain('tools.changed');
  });

  test('is not gone on with by a policy that nobody ever wrote', async () => {
    const run = writer().agent.run('Write', { runId: 'one' });
    await run;
    const lines = run.recording().split('\n');
    const told = lines.findIndex((line) => line.includes('"t":"outcome"') && line.includes('repairAgent'));
    const forged = lines.map((line, at) =>
      at === told ? line.replaceAll('"policy":"allow"', '"policy":"yes"') : line,
    );
    expect(forged).not.toEqual(lines);
    const journal = interruptedAfter(forged.join('\n'), told + 1);
    const { agent, lookUp } = writer({ agent: { journal } });
    await expect(agent.resume('one')).rejects.toMatchObject({ code: 'bad-recording' });
    expect(lookUp.calls).toEqual([]);
  });
});

describe('asked without a run', () => {
  const task = { tool: 'write', description: '', schema: SCHEMA, raw: 'nonsense', issues: [], attempts: [] };
  const io = { signal: new AbortController().signal };

  test('it mends, escalates or stops as it would below a call', async () => {
    const { fixer } = writer();
    expect(await fixer.repair(task, io)).toMatchObject({ kind: 'arguments', value: '{"path": "/found"}' });
    const saying = (reply: ReturnType<typeof calls>) =>
      createAgent({ name: 'clerk', model: scriptedModel([reply]), silent: true }).repair(task, io);
    expect(await saying(calls(['escalate', { reason: 'not mine', severity: 'low' }]))).toMatchObject({
      kind: 'escalate',
      reason: 'not mine',
      severity: 'low',
    });
    expect(await saying(calls(['throwException', { reason: 'never' }]))).toMatchObject({
      kind: 'throw',
      reason: 'never',
    });
  });

  test('by a registry that belongs to no agent', async () => {
    const { fixer, lookUp } = writer();
    const { tools } = createAgent({ journal: memoryJournal(), silent: true });
    const write = fakeTool('write', ['written'], {
      inputSchema: SCHEMA,
      onError: { deserializationError: recover.fix(fixer) },
    });
    tools.register(write);
    expect(await tools.execute('write', { size: 1 })).toEqual({ status: 'success', data: 'written' });
    expect([write.calls, lookUp.calls]).toEqual([[{ path: '/found' }], [{ name: 'notes' }]]);
  });
});

import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { Model, ModelReply } from '../../src/actors/model.ts';
import { fork } from '../../src/journal/replay/fork.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { recover } from '../../src/recovery/recover.ts';
import { type FakeTool, fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Policy } from '../../src/tools/spec.ts';
import { calls, plan } from '../support/replies.ts';
import { interruptedAfter, lineCount } from './interrupted.ts';

type Definition = NonNullable<Parameters<typeof fakeTool>[2]>;

/** A model that knows by the conversation how often it has answered, so that a new one goes on where the last stood. */
const answering = (...replies: readonly (ModelReply | string)[]): Model => ({
  id: 'remembering',
  complete: async ({ messages }) => {
    const reply = replies[messages.filter(({ role }) => role === 'assistant').length] ?? 'Done.';
    return typeof reply === 'string' ? { content: reply } : reply;
  },
});

const TWICE = answering(calls(['pay', { to: 'Ann' }]), calls(['pay', { to: 'Bob' }]));
const IN_A_PLAN = answering(plan(['pay', { to: 'Ann' }], ['pay', { to: 'Bob' }]));

function payer(policy: Policy, more: AgentOptions & { readonly pay?: Definition } = {}) {
  const { pay: definition = {}, ...options } = more;
  const pay = fakeTool('pay', ['paid'], { effects: 'idempotent', ...definition, policy });
  const agent = createAgent({ name: 'payer', model: TWICE, tools: [pay], silent: true, ...options });
  return { pay, agent };
}

const permissions = (allowed: boolean) => ({ isAlwaysAllowed: () => allowed, add: () => undefined });

/** The recording of a run under this policy, and what it paid, in order. */
async function recorded(policy: Policy, more: Parameters<typeof payer>[1] = {}) {
  const { agent, pay } = payer(policy, more);
  const run = agent.run('Pay', { runId: 'one' });
  await run;
  return { recording: run.recording(), paid: pay.calls };
}

/** How many runs of the tool the lines of a recording have brought to an end. */
function settled(lines: string): number {
  return lines.split('\n').filter((line) => line.startsWith('{"t":"outcome"') && line.includes('callTool')).length;
}

const denials = (journal: { readonly text: () => string }): number =>
  journal.text().split("Tool 'pay' is denied by policy").length - 1;

describe('a run that is taken up again after its tool was denied', () => {
  test.each([
    ['by calls', TWICE],
    ['by a plan', IN_A_PLAN],
  ])('does not run it, wherever it stopped (%s), and replays as it went', async (_how, model) => {
    const { recording, paid } = await recorded('allow', { model });
    expect(paid).toHaveLength(2);
    for (let lines = 1; lines < lineCount(recording); lines++) {
      const journal = interruptedAfter(recording, lines);
      const { agent, pay } = payer('deny', { model, journal });
      const run = agent.resume('one');
      const result = await run;
      expect(pay.calls, `after line ${lines}`).toEqual([]);
      expect(result.status, `after line ${lines}`).toBe('answered');
      for (const player of [agent, payer('allow', { model }).agent]) {
        const again = replay(journal.text(), player);
        expect({ ...(await again), durationMs: 0 }).toEqual({ ...result, durationMs: 0 });
        expect(again.transitions()).toEqual(run.transitions());
      }
      const after = journal.text().split('\n').slice(lines);
      expect(after.filter((line) => line.includes('"callTool"') && line.startsWith('{"t":"start"'))).toEqual([]);
    }
  });

  test('does not run it when it was approved while nobody drove the run', async () => {
    const first = payer('confirm', { confirm: 'wait' });
    const run = first.agent.run('Pay', { runId: 'one' });
    for await (const event of run) if (event.type === 'approval.requested') break;
    const journal = interruptedAfter(run.recording(), 99);
    await first.agent.close();
    const { agent, pay } = payer('deny', { journal, confirm: 'wait' });
    expect(await agent.approve('one', 'c1')).toBe(true);
    expect(await agent.resume('one')).toMatchObject({ status: 'answered', toolsUsed: [] });
    expect(pay.calls).toEqual([]);
    expect(denials(journal)).toBeGreaterThan(0);
  });

  test('denies a call of it that waits for a person, at once', async () => {
    const first = payer('confirm', { confirm: 'wait' });
    const run = first.agent.run('Pay', { runId: 'one' });
    for await (const event of run) if (event.type === 'approval.requested') break;
    const journal = interruptedAfter(run.recording(), 99);
    await first.agent.close();
    const { agent, pay } = payer('deny', { journal, confirm: 'wait' });
    const resumed = agent.resume('one');
    expect(await resumed).toMatchObject({ status: 'answered', errorHistory: [] });
    expect([pay.calls, resumed.pending]).toEqual([[], []]);
  });

  test('says of a call that had been running, and must run once, that nobody knows its outcome', async () => {
    const { recording } = await recorded('allow', { pay: { effects: 'once' } });
    const running = recording.split('\n').findIndex((line) => line.includes('"callTool"')) + 1;
    const journal = interruptedAfter(recording, running);
    const { agent, pay } = payer('deny', { journal, pay: { effects: 'once' } });
    const result = await agent.resume('one');
    expect(JSON.stringify(result.messages)).toMatch(/nobody knows whether it took effect/);
    expect(pay.calls).toEqual([]);
  });

  test('does not try it again after a failure before the crash', async () => {
    const retrying: Definition = {
      onError: { executionError: recover.retry({ maxAttempts: 3, backoff: recover.constant(60_000) }) },
    };
    const failing = fakeTool('pay', [new Error('busy')], { ...retrying });
    const first = createAgent({ name: 'payer', model: TWICE, tools: [failing], silent: true });
    const run = first.run('Pay', { runId: 'one' });
    while (!run.recording().includes('"name":"timer"')) await nextTick();
    const yesterday = new Date(Date.now() - 86_400_000).toISOString();
    const journal = interruptedAfter(run.recording().replace(/"at":"[^"]+"/, `"at":"${yesterday}"`), 99);
    await first.close();
    const { agent, pay } = payer('deny', { journal, pay: retrying });
    await agent.resume('one');
    expect(pay.calls).toEqual([]);
    expect(denials(journal)).toBeGreaterThan(0);
  });

  test('a tool that was switched off meanwhile does not run either', async () => {
    const { recording } = await recorded('allow');
    for (const lines of [2, 3, 4, 5]) {
      const { agent, pay } = payer('allow', { journal: interruptedAfter(recording, lines), pay: { enabled: false } });
      await agent.resume('one');
      expect(pay.calls).toEqual([]);
    }
  });
});

describe('a run that is taken up again after its tool was set to confirm', () => {
  test('asks before anything of it runs that had not ended, wherever it stopped', async () => {
    const { recording } = await recorded('allow');
    for (let lines = 1; lines < lineCount(recording); lines++) {
      const journal = interruptedAfter(recording, lines);
      const asked: unknown[] = [];
      const { agent, pay } = payer('confirm', { journal, confirm: ({ args }) => (asked.push(args), 'allow-once') });
      const result = await agent.resume('one');
      const before = settled(recording.split('\n').slice(0, lines).join('\n'));
      expect(pay.calls, `after line ${lines}`).toHaveLength(2 - before);
      expect(asked, `after line ${lines}`).toEqual(pay.calls);
      expect({ ...(await replay(journal.text(), agent)), durationMs: 0 }).toEqual({ ...result, durationMs: 0 });
    }
  });

  test('an "always" that was withdrawn is asked about again', async () => {
    const { recording } = await recorded('confirm', { permissions: permissions(true) });
    for (let lines = 1; lines < lineCount(recording); lines++) {
      const journal = interruptedAfter(recording, lines);
      const { agent, pay } = payer('confirm', { journal, permissions: permissions(false), confirm: () => 'deny' });
      await agent.resume('one');
      expect(pay.calls, `after line ${lines}`).toEqual([]);
    }
  });

  test('what a person agreed to before the crash runs without a second question', async () => {
    const { recording } = await recorded('confirm', { confirm: () => 'allow-once' });
    const approved = recording.split('\n').findIndex((line) => line.includes('allow-once')) + 1;
    const asked: unknown[] = [];
    const journal = interruptedAfter(recording, approved);
    const { agent, pay } = payer('confirm', { journal, confirm: ({ args }) => (asked.push(args), 'deny') });
    await agent.resume('one');
    expect([pay.calls, asked]).toEqual([[{ to: 'Ann' }], [{ to: 'Bob' }]]);
  });
});

describe('a run that is taken up again after its tool was loosened', () => {
  test('stays as strict as it was, also when its tools change later on', async () => {
    const { recording } = await recorded('confirm', { confirm: () => 'allow-once' });
    const approved = recording.split('\n').findIndex((line) => line.includes('allow-once')) + 1;
    const asked: unknown[] = [];
    const journal = interruptedAfter(recording, approved);
    const { agent, pay } = payer('allow', { journal, confirm: ({ args }) => (asked.push(args), 'deny') });
    const run = agent.resume('one');
    for await (const event of run)
      if (event.type === 'tool.finished' && !event.replayed) agent.tools.register(fakeTool('other'));
    expect([pay.calls, asked]).toEqual([[{ to: 'Ann' }], [{ to: 'Bob' }]]);
  });

  test('a denied tool stays denied, and the next run of the agent is free', async () => {
    const model = answering(calls(['pay', { to: 'Ann' }]));
    const { recording } = await recorded('deny', { model });
    const { agent, pay } = payer('allow', { model, journal: interruptedAfter(recording, 2) });
    await agent.resume('one');
    expect(pay.calls).toEqual([]);
  });

  test('an "always" said in the run itself holds for its next call', async () => {
    const { recording } = await recorded('confirm', { confirm: () => 'allow-once' });
    const kept = new Set<string>();
    const asked: unknown[] = [];
    const { agent, pay } = payer('confirm', {
      journal: interruptedAfter(recording, 2),
      permissions: { isAlwaysAllowed: (tool) => kept.has(tool), add: (tool) => void kept.add(tool) },
      confirm: ({ args }) => (asked.push(args), 'always-allow'),
    });
    await agent.resume('one');
    expect([asked, pay.calls.length]).toEqual([[{ to: 'Ann' }], 2]);
  });
});

describe('agents below', () => {
  function team(policies: { readonly worker: Policy; readonly pay: Policy }, more: AgentOptions = {}) {
    const pay = fakeTool('pay', ['paid'], { effects: 'idempotent', policy: policies.pay });
    const asks: unknown[] = [];
    const confirm = ({ tool }: { readonly tool: string }) => (asks.push(tool), 'deny' as const);
    const worker = createAgent({ name: 'worker', model: TWICE, tools: [pay], silent: true, confirm });
    const chief = createAgent({
      name: 'chief',
      model: answering(calls(['worker', { task: 'Pay' }])),
      children: [worker],
      defaultPolicy: policies.worker,
      silent: true,
      confirm,
      ...more,
    });
    return { chief, pay, asks };
  }

  async function recordedTeam(policies: Parameters<typeof team>[0] = { worker: 'allow', pay: 'allow' }) {
    const { chief } = team(policies);
    const run = chief.run('Pay', { runId: 'one' });
    await run;
    return run.recording();
  }

  test.each(['confirm', 'deny'] as const)(
    'an agent below runs none of its tools that is set to %s, wherever the run stopped',
    async (policy) => {
      const recording = await recordedTeam();
      for (let lines = 1; lines < lineCount(recording); lines++) {
        const journal = interruptedAfter(recording, lines);
        const { chief, pay } = team({ worker: 'allow', pay: policy }, { journal });
        const result = await chief.resume('one');
        expect(pay.calls, `after line ${lines}`).toEqual([]);
        const again = team({ worker: 'allow', pay: 'allow' }).chief;
        expect({ ...(await replay(journal.text(), again)), durationMs: 0 }).toEqual({ ...result, durationMs: 0 });
      }
    },
  );

  test.each(['confirm', 'deny'] as const)(
    'an agent below whose own tool is set to %s is stopped, and asks its model nothing more',
    async (policy) => {
      const recording = await recordedTeam();
      for (let lines = 1; lines < lineCount(recording); lines++) {
        const journal = interruptedAfter(recording, lines);
        const { chief, pay, asks } = team({ worker: policy, pay: 'allow' }, { journal });
        await chief.resume('one');
        expect(pay.calls, `after line ${lines}`).toEqual([]);
        const written = journal.text().split('\n').slice(lines);
        const started = written.filter((line) => line.startsWith('{"t":"start"') && line.includes('/childAgent/'));
        expect(started, `after line ${lines}`).toEqual([]);
        if (policy === 'deny') expect(asks).toEqual([]);
      }
    },
  );

  test('an agent below stays as strict as it was recorded, wherever the run stopped', async () => {
    const recording = await recordedTeam({ worker: 'allow', pay: 'confirm' });
    for (let lines = 1; lines < lineCount(recording); lines++) {
      const journal = interruptedAfter(recording, lines);
      const { chief, pay } = team({ worker: 'allow', pay: 'allow' }, { journal });
      await chief.resume('one');
      expect(pay.calls, `after line ${lines}`).toEqual([]);
    }
  });

  test('an agent below that is started again after a question gives its calls ids of their own', async () => {
    const recording = await recordedTeam();
    const running = recording.split('\n').findIndex((line) => line.includes('"callTool"')) + 1;
    const journal = interruptedAfter(recording, running);
    const { chief, pay } = team({ worker: 'confirm', pay: 'allow' }, { journal, confirm: () => 'allow-once' });
    await chief.resume('one');
    expect(pay.calls).toHaveLength(2);
    const ids = [...journal.text().matchAll(/"callId":"(c1[^"]*\.c?\d+)"/g)].map(([, id]) => id);
    expect(new Set(ids)).toEqual(new Set(['c1.1', 'c1-1.1', 'c1-1.2']));
  });
});

describe('a fork', () => {
  const forked = async (policy: Policy, was: Policy, more: Partial<Parameters<typeof fork>[2]> = {}) => {
    const { recording } = await recorded(was, { confirm: () => 'allow-once' });
    const counts: number[] = [];
    for (let at = 1; at < lineCount(recording); at++) {
      const asked: unknown[] = [];
      const { agent, pay } = payer(policy, {
        journal: memoryJournal(),
        confirm: ({ args }) => (asked.push(args), 'deny'),
      });
      const run = fork(recording, agent, { ...more, at });
      const result = await run;
      expect(result.status, `at ${at}`).toBe('answered');
      counts.push(pay.calls.length);
      const again = payer(policy).agent;
      expect({ ...(await replay(run.recording(), again)), durationMs: 0 }).toEqual({ ...result, durationMs: 0 });
    }
    return counts;
  };
  const none = (counts: readonly number[]) => counts.every((count) => count === 0);

  test.each<[Policy, Policy]>([
    ['deny', 'allow'],
    ['confirm', 'allow'],
    ['deny', 'confirm'],
  ])('of a run whose tool is %s by now, and was %s, runs it nowhere', async (now, was) => {
    expect(none(await forked(now, was))).toBe(true);
  });

  test('of a run whose tool was confirm asks as that did, though it is allowed by now', async () => {
    const counts = await forked('allow', 'confirm');
    expect(counts[0]).toBe(0);
  });

  test('from the very start offers its model nothing that is denied by now', async () => {
    const { recording } = await recorded('allow');
    const model = scriptedModel(['No.']);
    const { agent } = payer('deny', { model });
    await fork(recording, agent, { input: 'Pay' });
    expect(JSON.stringify(model.requests)).not.toContain('A fake pay');
  });

  test('that finds its outcomes in the rest of the recording really does nothing that is denied by now', async () => {
    expect(none(await forked('deny', 'allow', { then: 'recorded', input: 'Pay twice' }))).toBe(true);
  });
});

test('a replay that goes on with a model behind the recorded part runs nothing that is denied by now', async () => {
  const { recording } = await recorded('allow');
  for (const until of [1, 2, 3, 4, 5]) {
    const { agent, pay }: { agent: ReturnType<typeof createAgent>; pay: FakeTool } = payer('deny');
    await replay(recording, agent, { until, then: TWICE });
    expect(pay.calls, `until ${until}`).toEqual([]);
  }
});

test('a replay that goes on with a model keeps the tools of servers that are not connected now', async () => {
  const { recording } = await recorded('allow', { model: answering(calls(['pay'])) });
  const remote = recording.replace('"origin":{"kind":"local"}', '"origin":{"kind":"mcp","server":"bank","tool":"pay"}');
  const then = scriptedModel([calls(['nothing']), 'Done.']);
  const agent = createAgent({ name: 'payer', model: then, silent: true });
  const played =
    remote.split('\n').findIndex((line) => line.startsWith('{"t":"outcome"') && line.includes('callTool')) + 1;
  await replay(remote, agent, { until: played, then });
  expect(then.requests[1]?.tools?.map(({ name }) => name)).toContain('pay');
});

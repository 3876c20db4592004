import { describe, expect, test, vi } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';

const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
const turn = (reply: ReturnType<typeof calls>) => ({ ...reply, usage });

/** A model that gives these replies and is silent from then on; `silence` resolves when it is. */
function fallingSilent(...replies: readonly ReturnType<typeof turn>[]) {
  const { promise: silence, resolve } = Promise.withResolvers<void>();
  let next = 0;
  const model: Model = {
    id: 'silent',
    complete: () => {
      const reply = replies[next++];
      if (reply !== undefined) return Promise.resolve(reply);
      resolve();
      return new Promise<never>(() => undefined);
    },
  };
  return { model, silence };
}

/** So many agents, one below the other; each delegates to the next, and the last looks something up, then falls silent. */
function chain(length: number, ask: typeof plan = calls, options: AgentOptions = {}) {
  const { model, silence } = fallingSilent(turn(calls(['look', {}])));
  const look = fakeTool('look', ['seen']);
  let agent = createAgent({ name: 'last', description: 'Looks.', model, tools: [look], silent: true });
  for (let at = 1; at < length; at++) {
    const isFirst = at === length - 1;
    agent = createAgent({
      name: `agent_${at}`,
      description: 'Delegates.',
      model: scriptedModel([turn(ask([agent.name, { task: 'Look' }]))]),
      children: [agent],
      silent: true,
      ...(isFirst ? options : {}),
    });
  }
  return { agent, silence };
}

describe('what was used below a run counts, although it was stopped', () => {
  test.each([
    ['one agent', 2, calls],
    ['seven agents, one below the other', 8, calls],
    ['an agent that a step of a plan delegated to', 2, plan],
  ])('by a person: %s', async (_what, length, ask) => {
    const { agent, silence } = chain(length, ask);
    const run = agent.run('Go');
    await silence;
    await run.cancel();
    const result = await run;
    expect(result).toMatchObject({ status: 'cancelled', usage: { totalTokens: 15 * length } });
    expect((await replay(run.recording(), agent)).usage).toEqual(result.usage);
  });

  test('by its time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { agent, silence } = chain(2, calls, { timeouts: { totalMs: 60_000 } });
      const run = agent.run('Go');
      const output = run.then((result) => result);
      await silence;
      await vi.advanceTimersByTimeAsync(61_000);
      expect(await output).toMatchObject({ reason: 'timeout', usage: { totalTokens: 30 } });
    } finally {
      vi.useRealTimers();
    }
  });

  test('by a call beside it that stops the run', async () => {
    const { model, silence } = fallingSilent(turn(calls(['look', {}])));
    const child = createAgent({ name: 'child', description: 'Looks.', model, tools: [fakeTool('look', ['seen'])] });
    const stop = fakeTool('stop', [() => silence.then(() => Promise.reject(new Error('Stop!')))], {
      onError: { executionError: recover.throwException('Stop!') },
    });
    const agent = createAgent({
      model: scriptedModel([turn(calls(['child', { task: 'Look' }], ['stop', {}]))]),
      children: [child],
      tools: [stop],
      silent: true,
    });
    expect(await agent.run('Go')).toMatchObject({ reason: 'thrown', usage: { totalTokens: 30 } });
  });

  test('for now: a run that is released', async () => {
    const journal = memoryJournal();
    const { agent, silence } = chain(3, calls, { journal });
    const run = agent.run('Go');
    await silence;
    await run.release();
    expect(await run).toMatchObject({ status: 'waiting', usage: { totalTokens: 45 } });
  });

  test('and nothing of it twice, whether it has ended or not', async () => {
    const done = createAgent({
      name: 'done',
      description: 'Is quick.',
      model: scriptedModel([{ content: 'Done.', usage }]),
      silent: true,
    });
    const { model, silence } = fallingSilent(turn(calls(['look', {}])));
    const slow = createAgent({ name: 'slow', description: 'Looks.', model, tools: [fakeTool('look', ['seen'])] });
    const agent = createAgent({
      model: scriptedModel([turn(calls(['done', { task: 'Go' }], ['slow', { task: 'Go' }]))]),
      children: [done, slow],
      silent: true,
    });
    const run = agent.run('Go');
    await silence;
    await run.cancel();
    expect((await run).usage.totalTokens).toBe(45);
  });
});

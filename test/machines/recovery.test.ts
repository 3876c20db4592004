import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { ToolError } from '../../src/json/errors.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { recover } from '../../src/recovery/recover.ts';
import type { OnError, RepairTask } from '../../src/recovery/steps.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls, plan } from '../support/replies.ts';

const SCHEMA = {
  type: 'object',
  properties: { path: { type: 'string' }, size: { type: 'integer' } },
  required: ['path'],
};

/** Runs an agent that makes one call of `write` and then answers; gives what happened. */
async function oneCall(
  options: {
    readonly args?: JsonObject | string;
    readonly results?: Parameters<typeof fakeTool>[1];
    readonly onError?: OnError;
    readonly effects?: 'none' | 'once';
  },
  agentOptions: AgentOptions = {},
) {
  const write = fakeTool('write', options.results ?? [{ written: true }], {
    inputSchema: SCHEMA,
    effects: options.effects ?? 'once',
    ...(options.onError === undefined ? {} : { onError: options.onError }),
    ...(options.results?.some((result) => typeof result === 'function') === true ? { timeoutMs: 20 } : {}),
  });
  const make = () =>
    createAgent({
      model: scriptedModel([calls(['write', options.args ?? { path: '/a' }]), 'Done.']),
      tools: [write],
      silent: true,
      ...agentOptions,
    });
  const run = make().run('Write it');
  const result = await run;
  const steps = run
    .transitions()
    .filter(({ actor, to }) => actor === 'agent/c1' && to.startsWith('RECOVERING.'))
    .map(({ to }) => to.slice('RECOVERING.'.length));
  const again = replay(run.recording(), make());
  await again;
  expect(again.transitions()).toEqual(run.transitions());
  return {
    result,
    calls: write.calls,
    states: steps.filter((state) => !['CHOOSING_STEP', 'NEXT_STEP'].includes(state)),
    run,
  };
}

describe('onError', () => {
  test('fix(fn) mends argument text that could not be read, and it is validated again', async () => {
    const {
      result,
      calls: made,
      states,
    } = await oneCall({
      args: 'path is /a and size is 3',
      onError: { invalidArgs: recover.fix((text) => (text.includes('/a') ? '{"path": "/a", "size": "3"}' : null)) },
    });
    expect(made).toEqual([{ path: '/a', size: 3 }]);
    expect(states).toEqual(['FIXING']);
    expect(result).toMatchObject({ status: 'answered', errorHistory: [] });
  });

  test('a list is tried in order: fix that cannot, then sanitize, each a state', async () => {
    const { calls: made, states } = await oneCall({
      args: { path: 7.5, size: [] },
      onError: { deserializationError: [recover.fix(() => null), recover.sanitize(() => ({ path: '/clean' }))] },
    });
    expect(made).toEqual([{ path: '/clean' }]);
    expect(states).toEqual(['FIXING', 'SANITIZING']);
  });

  test('a fix that is wrong too goes on with the next slot or step, and ends fed back to the model', async () => {
    const {
      calls: made,
      states,
      result,
    } = await oneCall({ args: { size: 1 }, onError: { deserializationError: [recover.fix(() => '{"size": 2}')] } });
    expect(made).toEqual([]);
    expect(states).toEqual(['FIXING']);
    expect(result.errorHistory).toMatchObject([{ code: 'deserialization', tool: 'write' }]);
  });

  test('retry repeats a known failure with the same idempotency key, backing off in between', async () => {
    const keys: string[] = [];
    const flaky = tool({
      name: 'write',
      description: 'Writes.',
      onError: { executionError: recover.retry({ maxAttempts: 3, backoff: recover.constant(1) }) },
      execute: (_args, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        if (keys.length < 3) throw new Error('busy');
        return { written: true };
      },
    });
    const run = createAgent({ model: scriptedModel([calls(['write']), 'Done.']), tools: [flaky], silent: true }).run(
      'Write it',
    );
    expect(await run).toMatchObject({ status: 'answered', errorHistory: [], toolsUsed: ['write'] });
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(run.transitions().filter(({ to }) => to === 'RECOVERING.BACKING_OFF')).toHaveLength(2);
  });

  test('a call with an unknown outcome is repeated only where it is harmless, or the step says whenUnknown', async () => {
    const hang = [() => new Promise(() => undefined)];
    const retry = (whenUnknown: boolean): OnError => ({
      executionError: recover.retry({ maxAttempts: 2, whenUnknown }),
    });
    expect((await oneCall({ results: hang, onError: retry(false) })).calls).toHaveLength(1);
    expect((await oneCall({ results: hang, onError: retry(true) })).calls).toHaveLength(2);
    expect((await oneCall({ results: hang, onError: retry(false), effects: 'none' })).calls).toHaveLength(2);
  });

  test('substitute gives the result itself', async () => {
    const { result, states } = await oneCall({
      results: [new Error('disk full')],
      onError: { executionError: recover.substitute((error) => ({ instead: error.kind })) },
    });
    expect(states).toEqual(['SUBSTITUTING']);
    expect(String(result.messages.find(({ role }) => role === 'tool')?.content)).toBe(
      '{"status":"success","data":{"instead":"execution"}}',
    );
  });

  test('fix, sanitize and substitute get the error as their second argument', async () => {
    const kinds: unknown[] = [];
    const noted = (_first: unknown, error: ToolError): null => {
      kinds.push(error.kind);
      return null;
    };
    const steps = [recover.fix(noted), recover.sanitize(noted), recover.substitute(noted)];
    await oneCall({ results: [new Error('disk full')], onError: { executionError: steps } });
    expect(kinds).toEqual(['execution', 'execution', 'execution']);
  });

  test('a function of the error chooses; null means not handled', async () => {
    const chosen: OnError = {
      executionError: (error) =>
        error.kind === 'execution' && error.cause.message === 'busy' ? recover.retry({ maxAttempts: 2 }) : null,
    };
    expect((await oneCall({ results: [new Error('busy'), { ok: 1 }], onError: chosen })).states).toEqual([
      'ASKING_SLOT',
      'RETRYING',
    ]);
    expect((await oneCall({ results: [new Error('broken')], onError: chosen })).states).toEqual(['ASKING_SLOT']);
  });

  test('tool beats agent slot by slot, inherit() stands for what the agent does, an empty list for nothing', async () => {
    const agent: AgentOptions = {
      onError: {
        executionError: recover.retry({ maxAttempts: 2 }),
        deserializationError: recover.fix(() => '{"path": "/agent"}'),
      },
    };
    expect((await oneCall({ results: [new Error('busy'), {}] }, agent)).states).toEqual(['RETRYING']);
    expect(
      (await oneCall({ results: [new Error('busy'), {}], onError: { executionError: [] } }, agent)).states,
    ).toEqual([]);
    const inheriting = await oneCall(
      { args: { size: 1 }, onError: { deserializationError: [recover.sanitize(() => null), recover.inherit()] } },
      agent,
    );
    expect(inheriting.states).toEqual(['SANITIZING', 'FIXING']);
    expect(inheriting.calls).toEqual([{ path: '/agent' }]);
  });

  test('a deterministic repair agent gets the whole task and mends', async () => {
    const seen: RepairTask[] = [];
    const fixer = createAgent({
      name: 'fixer',
      implementedBy: (task) => {
        seen.push(task);
        return seen.length === 1 ? '{"size": "no"}' : { path: '/fixed' };
      },
    });
    const { calls: made } = await oneCall({
      args: { size: 'x' },
      onError: { deserializationError: recover.fix(fixer, { retries: 2 }) },
    });
    expect(made).toEqual([{ path: '/fixed' }]);
    expect(seen[0]).toMatchObject({ tool: 'write', raw: '{"size":"x"}', attempts: [{ arguments: '{"size":"x"}' }] });
    expect(seen[0]?.schema).toMatchObject({ required: ['path'] });
    expect(seen[0]?.issues.join()).toContain('/path');
    expect(seen[1]?.attempts).toHaveLength(2);
  });

  test('tokens of a repair agent count, and none is asked once the budget is spent', async () => {
    const usage = { inputTokens: 60, outputTokens: 40, totalTokens: 100 };
    const model = scriptedModel([
      { content: '{"size": 1}', usage },
      { content: '{"path": "/ok"}', usage },
    ]);
    const fixer = createAgent({ name: 'fixer', model, silent: true });
    const run = (maxTokens: number) =>
      oneCall(
        { args: { size: 1 }, onError: { deserializationError: recover.fix(fixer, { retries: 2 }) } },
        { budget: { maxTokens } },
      );
    const stopped = await run(100);
    expect(model.requests).toHaveLength(1);
    expect(stopped.result).toMatchObject({ reason: 'budget', usage: { totalTokens: 100 } });
  });

  test('a model-driven repair agent mends by its text, escalates or throws by its two tools', async () => {
    const fixer = (reply: Parameters<typeof scriptedModel>[0][number]) =>
      recover.fix(createAgent({ name: 'fixer', model: scriptedModel([reply]), silent: true }));
    const mended = await oneCall({ args: 'nonsense', onError: { invalidArgs: fixer('{"path": "/by-model"}') } });
    expect(mended.calls).toEqual([{ path: '/by-model' }]);
    const escalated = await oneCall({
      args: 'nonsense',
      onError: { invalidArgs: fixer(calls(['escalate', { reason: 'not mine', severity: 'LOW' }])) },
    });
    expect(escalated.result).toMatchObject({ status: 'answered', errorHistory: [{ code: 'escalation' }] });
    const thrown = await oneCall({
      args: 'nonsense',
      onError: { invalidArgs: fixer(calls(['throwException', { reason: 'never' }])) },
    });
    expect(thrown.result).toMatchObject({
      status: 'failed',
      reason: 'thrown',
      error: { code: 'thrown', message: 'never', tool: 'write' },
    });
  });

  test('steps are capped at eight', async () => {
    const { calls: made } = await oneCall({
      results: [new Error('busy')],
      onError: { executionError: recover.retry({ maxAttempts: 100 }) },
    });
    expect(made).toHaveLength(9);
  });
});

describe('giving up', () => {
  test.each(['low', 'medium', 'high'])(
    'escalate (%s) is fed back to the model when nobody takes it',
    async (severity) => {
      const { result } = await oneCall({
        results: [new Error('disk full')],
        onError: { executionError: recover.escalate('call the operator', severity) },
      });
      expect(result).toMatchObject({ status: 'answered', errorHistory: [{ code: 'escalation', tool: 'write' }] });
      expect(result.messages.some(({ content }) => String(content).includes('call the operator'))).toBe(true);
    },
  );

  test('escalate (critical) ends the run as failed', async () => {
    const { result } = await oneCall({
      results: [new Error('disk full')],
      onError: { executionError: recover.escalate('stop the press', 'critical') },
    });
    expect(result).toMatchObject({
      status: 'failed',
      reason: 'tool-error',
      error: { code: 'escalation', message: 'stop the press', tool: 'write' },
    });
  });

  test('throwException ends the run at once: siblings are aborted, results so far are kept', async () => {
    let aborted = false;
    const slow = tool({
      name: 'slow',
      description: 'Never ends.',
      execute: (_args, { signal }) => {
        signal.addEventListener('abort', () => (aborted = true));
        return new Promise(() => undefined);
      },
    });
    const late = () => new Promise((_resolve, reject) => setTimeout(() => reject(new Error('leak')), 5));
    const bad = fakeTool('bad', [late], { onError: { executionError: recover.throwException() } });
    const model = scriptedModel([calls(['quick', {}, 'a'], ['slow', {}, 'b'], ['bad', {}, 'c'])]);
    const run = createAgent({ model, tools: [fakeTool('quick', [{ n: 1 }]), slow, bad], silent: true }).run('Go');
    const result = await run;
    expect(result).toMatchObject({ status: 'failed', reason: 'thrown', toolsUsed: ['quick', 'bad'] });
    expect(aborted).toBe(true);
    const results = result.messages.filter(({ role }) => role === 'tool');
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(['a', 'b', 'c']);
    expect(String(results[0]?.content)).toContain('"n":1');
    await expect(run.orThrow()).rejects.toMatchObject({ name: 'ToolExecutionError', code: 'thrown' });
  });

  test('throwException in a plan ends the run at once', async () => {
    const bad = fakeTool('bad', [new Error('leak')], {
      onError: { executionError: recover.throwException('no further') },
    });
    const next = fakeTool('next');
    const result = await createAgent({
      model: scriptedModel([plan(['bad'], ['next'])]),
      tools: [bad, next],
      silent: true,
    }).run('Go');
    expect(result).toMatchObject({ status: 'failed', reason: 'thrown' });
    expect(next.calls).toEqual([]);
  });
});

describe('an onError that cannot mean what it says is refused', () => {
  const make = (onError: unknown) => () =>
    tool({ name: 'x', description: 'x', onError: onError as OnError, inputSchema: z.object({}), execute: () => null });
  test.each([
    [{ executionErrors: recover.retry() }, /no slot 'executionErrors'/],
    [{ executionError: [recover.escalate(), recover.retry()] }, /comes after escalate/],
    [{ invalidArgs: recover.retry({ whenUnknown: true }) }, /whenUnknown/],
    [{ invalidArgs: ['retry'] }, /entry 0 is not a step/],
  ])('%j', (onError, message) => {
    expect(make(onError)).toThrow(message);
  });
  test('wrong options of steps', () => {
    expect(() => recover.retry({ maxAttempts: 0 })).toThrow(/maxAttempts/);
    expect(() => recover.escalate('x', 'huge')).toThrow(/severity/);
  });
});

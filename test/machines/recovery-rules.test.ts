import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { createToolRegistry } from '../../src/agent/tools/registry.ts';
import type { Model } from '../../src/actors/model.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { recover } from '../../src/recovery/recover.ts';
import type { OnError, RepairTask } from '../../src/recovery/steps.ts';
import { skill } from '../../src/tools/skill.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const SCHEMA = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };

interface Given {
  readonly results?: Parameters<typeof fakeTool>[1];
  readonly args?: JsonObject | string;
  readonly onError?: OnError;
}

/** One call of `write`, and what became of it. */
async function oneCall({ results = [{ ok: 1 }], args = { path: '/a' }, onError }: Given, options: AgentOptions = {}) {
  const write = fakeTool('write', results, {
    inputSchema: SCHEMA,
    ...(onError === undefined ? {} : { onError }),
  });
  const model = scriptedModel([calls(['write', args]), 'Done.']);
  const run = createAgent({ model, tools: [write], silent: true, ...options }).run('Write it');
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  const states = run
    .transitions()
    .filter(({ actor, to }) => actor === 'agent/c1' && to.startsWith('RECOVERING.'))
    .map(({ to }) => to.slice('RECOVERING.'.length))
    .filter((state) => !['CHOOSING_STEP', 'NEXT_STEP'].includes(state));
  return { result: await run, events, states, calls: write.calls, run };
}

describe('a slot that is a function', () => {
  test('is asked about each failure, and a retry is counted through', async () => {
    const seen: string[] = [];
    const { states, calls: made } = await oneCall({
      results: [new Error('busy'), new Error('busy'), new Error('broken')],
      onError: {
        executionError: (error) => {
          const text = error.kind === 'execution' ? error.cause.message : '';
          seen.push(text);
          return text === 'busy' ? recover.retry({ maxAttempts: 5 }) : recover.substitute(() => 'none');
        },
      },
    });
    expect(states).toEqual(['ASKING_SLOT', 'RETRYING', 'ASKING_SLOT', 'RETRYING', 'ASKING_SLOT', 'SUBSTITUTING']);
    expect(made).toHaveLength(3);
    expect(new Set(seen)).toEqual(new Set(['busy', 'broken']));
  });

  test('is stopped by the same bounds as a list', async () => {
    const always = () => recover.retry({ maxAttempts: 2 });
    expect((await oneCall({ results: [new Error('no')], onError: { executionError: always } })).calls).toHaveLength(2);
    let turn = 0;
    const never = () => recover.retry({ maxAttempts: 2 + (turn++ % 2) });
    expect((await oneCall({ results: [new Error('no')], onError: { executionError: never } })).calls).toHaveLength(9);
  });

  test('may choose inherit(), and may be inherited', async () => {
    const agent: AgentOptions = { onError: { executionError: () => recover.substitute(() => 'by the agent') } };
    const inherits = recover.inherit();
    for (const executionError of [inherits, [inherits], [recover.fix(() => null), inherits], () => inherits]) {
      const { events } = await oneCall({ results: [new Error('no')], onError: { executionError } }, agent);
      expect(events).toContainEqual(expect.objectContaining({ type: 'tool.finished', ok: true }));
    }
  });

  test.each([
    ['a number', 7],
    ['a text', 'retry'],
    ['a list of anything', [1, null]],
    ['an object', {}],
  ])('that gives %s does not handle the error', async (_what, given) => {
    const { result } = await oneCall({
      results: [new Error('no')],
      onError: Object.fromEntries([['executionError', () => given]]),
    });
    expect(result).toMatchObject({ status: 'answered', errorHistory: [{ code: 'execution' }] });
  });
});

describe('a list goes on with its next step when what was mended', () => {
  const helper = createAgent({ implementedBy: () => ({ path: '/helped' }) });

  test('can be read now, but does not fit', async () => {
    const { states, calls: made } = await oneCall({
      args: 'nonsense',
      onError: { invalidArgs: [recover.fix(() => '{"size": 1}'), recover.fix(helper)] },
    });
    expect(states).toEqual(['FIXING', 'ASKING_REPAIR_AGENT']);
    expect(made).toEqual([{ path: '/helped' }]);
  });

  test('cannot be read any more', async () => {
    const { calls: made } = await oneCall({
      args: { size: 1 },
      onError: { deserializationError: [recover.fix(() => 'nonsense'), recover.fix(helper)] },
    });
    expect(made).toEqual([{ path: '/helped' }]);
  });

  test('does not fit after the tool had failed', async () => {
    const { calls: made } = await oneCall({
      results: [new Error('no such path'), { ok: 1 }],
      onError: { executionError: [recover.fix(() => '{"size": 1}'), recover.fix(helper)] },
    });
    expect(made).toEqual([{ path: '/a' }, { path: '/helped' }]);
  });

  test('is wrong in a way that has steps of its own, which are taken instead; none at all are none', async () => {
    const first = recover.fix(() => '{"size": 1}');
    const own = await oneCall({
      args: 'nonsense',
      onError: {
        invalidArgs: [first, recover.throwException()],
        deserializationError: recover.sanitize(() => ({ path: '/own' })),
      },
    });
    expect(own.calls).toEqual([{ path: '/own' }]);
    const none = await oneCall({
      args: 'nonsense',
      onError: { invalidArgs: [first, recover.fix(helper)], deserializationError: [] },
    });
    expect(none.states).toEqual(['FIXING']);
  });
});

describe('the end of a list', () => {
  test('is reached when the eight steps that may mend are used up', async () => {
    const { result, calls: made } = await oneCall({
      results: [new Error('busy')],
      onError: { executionError: [recover.retry({ maxAttempts: 50 }), recover.throwException('busy for too long')] },
    });
    expect(made).toHaveLength(9);
    expect(result).toMatchObject({ reason: 'thrown', error: { message: 'busy for too long' } });
  });

  test('is reached at once by a fixer that gives the same text again', async () => {
    let asked = 0;
    const fixer = createAgent({ implementedBy: () => (asked++, '{"size": 1}') });
    const { states, result } = await oneCall({
      args: { size: 1 },
      onError: { deserializationError: [recover.fix(fixer, { retries: 5 }), recover.escalate('cannot be mended')] },
    });
    expect(states).toEqual(['ASKING_REPAIR_AGENT']);
    expect(asked).toBe(1);
    expect(result.errorHistory).toMatchObject([{ code: 'escalation' }]);
  });

  test('escalates with the number of attempts and the original error', async () => {
    const { run } = await oneCall({
      results: [new Error('first'), new Error('second'), new Error('third')],
      onError: { executionError: [recover.retry({ maxAttempts: 3 }), recover.escalate()] },
    });
    expect(run.recording()).toContain('third');
    const raised = [];
    for await (const event of run) if (event.type === 'escalation.raised') raised.push(event);
    expect(raised).toMatchObject([{ source: 'write', reason: 'Tool execution failed: third', severity: 'high' }]);
  });
});

test('every cause is kept: each step says what it mends', async () => {
  const { events } = await oneCall({
    results: [new Error('first'), new Error('second'), { ok: 1 }],
    args: 'nothing',
    onError: {
      invalidArgs: recover.fix(() => ({ path: '/a' })),
      executionError: recover.retry({ maxAttempts: 3 }),
    },
  });
  const steps = events.flatMap((event) => (event.type === 'recovery.step' ? [event] : []));
  expect(steps.map(({ step, attempt }) => [step, attempt])).toEqual([
    ['fix', 1],
    ['retry', 2],
    ['retry', 3],
  ]);
  expect(steps.map(({ error }) => error)).toEqual([
    expect.stringContaining('Invalid arguments'),
    'Tool execution failed: first',
    'Tool execution failed: second',
  ]);
});

describe('an error that asks to wait', () => {
  const busy = (more: object, error = new Error('busy')) => Object.assign(error, more);
  const retry: OnError = { executionError: recover.retry({ maxAttempts: 2 }) };
  const waits = async (error: Error | { readonly [key: string]: unknown }, onError = retry) => {
    const results = [error instanceof Error ? error : () => error, { ok: 1 }];
    const { run, calls: made, result } = await oneCall({ results, onError });
    const pause = run
      .recording()
      .split('\n')
      .find((line) => line.includes('"name":"timer"'));
    return { made: made.length, result, pause };
  };

  test.each<[string, Error | { readonly [key: string]: unknown }]>([
    ['in retryAfterMs', busy({ retryAfterMs: 13 })],
    ['in retryAfter, seconds', busy({ retryAfter: 0.013 })],
    ['in its data', busy({ data: { retryAfterMs: 13 } })],
    ['in headers of fetch', busy({ response: { headers: new Headers({ 'retry-after': '0.013' }) } })],
    ['in plain headers', busy({ headers: { 'retry-after-ms': '13' } })],
    ['in a result that is an error', { status: 'error', error: 'busy', retryAfterMs: 13 }],
    ['in a result, seconds', { error: 'busy', retryAfter: 0.013 }],
  ])('%s is given that time before a retry without a backoff', async (_where, error) => {
    const { made, pause } = await waits(error);
    expect(made).toBe(2);
    expect(pause).toContain('"ms":13}');
  });

  test('is given the longer of its own time and the backoff', async () => {
    const onError = (ms: number): OnError => ({
      executionError: recover.retry({ maxAttempts: 2, backoff: recover.constant(ms) }),
    });
    expect((await waits(busy({ retryAfterMs: 3 }), onError(17))).pause).toContain('"ms":17}');
    expect((await waits(busy({ retryAfterMs: 19 }), onError(2))).pause).toContain('"ms":19}');
  });

  test('for more than a minute is not retried; the model is told how long', async () => {
    const { made, result } = await waits(busy({ retryAfter: 3600 }));
    expect(made).toBe(1);
    expect(JSON.stringify(result.messages)).toContain('3600 s');
  });

  test.each([
    ['minus a second', { retryAfter: -1 }],
    ['no number', { retryAfter: 'soon' }],
    ['NaN', { retryAfterMs: NaN }],
    ['an object', { retryAfterMs: {} }],
    [
      'a getter that throws',
      Object.defineProperty({}, 'data', {
        enumerable: false,
        get: () => {
          throw new Error('x');
        },
      }),
    ],
  ])('for %s asks for nothing', async (_what, more) => {
    const error = Object.defineProperties(new Error('busy'), Object.getOwnPropertyDescriptors(more));
    expect(await waits(error)).toMatchObject({ made: 2, pause: undefined });
  });
});

test('a tool that throws the code unknown-outcome is not repeated', async () => {
  const lost = Object.assign(new Error('the line broke'), { code: 'unknown-outcome' });
  const retry = (whenUnknown: boolean): OnError => ({ executionError: recover.retry({ whenUnknown }) });
  const { calls: made, result } = await oneCall({ results: [lost], onError: retry(false) });
  expect(made).toHaveLength(1);
  expect(JSON.stringify(result.messages)).toContain('Nobody knows whether');
  expect((await oneCall({ results: [lost], onError: retry(true) })).calls).toHaveLength(3);
});

describe('a repair agent', () => {
  const secret = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789';

  test('is told marks, not secrets; the tool gets the secret', async () => {
    const model = scriptedModel([({ messages }) => String(messages[1]?.content).match(/«secret:\d+»/)?.[0] ?? 'none']);
    const seen: RepairTask[] = [];
    const byCode = createAgent({ implementedBy: (task) => (seen.push(task), { path: task.raw }) });
    const byModel = createAgent({ model, silent: true });
    const onError: OnError = {
      deserializationError: [recover.fix(byModel), recover.fix(byCode)],
    };
    const { calls: made } = await oneCall({ args: { where: secret }, onError });
    expect(JSON.stringify([model.requests, seen])).not.toContain(secret);
    expect(JSON.stringify(model.requests)).toContain('«secret:');
    expect(made).toEqual([{ path: secret }]);
  });

  test('gets at most six earlier attempts, each shortened', async () => {
    const seen: RepairTask[] = [];
    const fixer = createAgent({
      implementedBy: (task) => (seen.push(task), JSON.stringify({ size: seen.length, text: 'x'.repeat(9000) })),
    });
    await oneCall({ args: { size: 0 }, onError: { deserializationError: recover.fix(fixer, { retries: 20 }) } });
    expect(seen).toHaveLength(8);
    expect(seen.at(-1)?.attempts).toHaveLength(6);
    expect(JSON.stringify(seen.at(-1)?.attempts).length).toBeLessThan(20_000);
  });

  test('swallows no cancellation: the run ends as cancelled and its request is aborted', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const model: Model = {
      complete: (_request, { signal }) => {
        asked.resolve(signal);
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
      },
    };
    const fixer = createAgent({ name: 'fixer', model, silent: true });
    const write = fakeTool('write', [null], {
      inputSchema: SCHEMA,
      onError: { deserializationError: recover.fix(fixer) },
    });
    const run = createAgent({ model: scriptedModel([calls(['write'])]), tools: [write], silent: true }).run('Write');
    const signal = await asked.promise;
    await run.cancel('enough');
    expect(await run).toMatchObject({ status: 'cancelled', reason: 'cancelled' });
    expect(signal.aborted).toBe(true);
    expect(write.calls).toEqual([]);
  });

  test('is aborted by the time of the whole run', async () => {
    const fixer = createAgent({ implementedBy: () => new Promise(() => undefined) });
    const { result } = await oneCall(
      { args: {}, onError: { deserializationError: recover.fix(fixer) } },
      { timeouts: { totalMs: 40 } },
    );
    expect(result).toMatchObject({ status: 'stopped', reason: 'timeout' });
  });
});

describe('a repair agent that would repair its own mistakes is refused when it is set up', () => {
  const broken = (fixer: ReturnType<typeof createAgent>, name = 'write') =>
    fakeTool(name, [null], { onError: { invalidArgs: [recover.fix(recover.json), recover.fix(fixer)] } });

  test('by a tool of its own', () => {
    const agent = createAgent({ name: 'main', silent: true });
    expect(() => agent.tools.register(broken(agent))).toThrow(
      /Tool 'write': onError lets an agent repair its own mistakes \(main → main\)/,
    );
    expect(agent.tools.size).toBe(0);
  });

  test('by way of other agents, their tools and skills', () => {
    const first = createAgent({ name: 'first', silent: true });
    const second = createAgent({
      name: 'second',
      skills: [skill({ name: 's', tools: [fakeTool('x')], onError: { executionError: recover.fix(first) } })],
      silent: true,
    });
    const third = createAgent({ name: 'third', onError: { unknownTool: recover.fix(second) }, silent: true });
    expect(() => first.tools.register(broken(third))).toThrow(/first → third → second → first/);
    const fourth = createAgent({ name: 'fourth', tools: [broken(third)], silent: true });
    expect(fourth.tools.size).toBe(1);
  });

  test('and where a function hides it, it is not asked at all', async () => {
    let asked = 0;
    const agent: ReturnType<typeof createAgent> = createAgent({
      model: scriptedModel([calls(['write', {}]), 'Done.']),
      tools: [
        fakeTool('write', [null], {
          inputSchema: SCHEMA,
          onError: { deserializationError: () => (asked++, recover.fix(agent, { retries: 100 })) },
        }),
      ],
      silent: true,
    });
    expect(await agent.run('Write')).toMatchObject({ status: 'answered', result: 'Done.' });
    expect(asked).toBeGreaterThan(0);
  });
});

test("a registry without an agent takes its tools' steps, and a registry of an agent its agent's", async () => {
  const onError: OnError = { unknownTool: recover.substitute(() => 'stood in') };
  const agent = createAgent({ onError, silent: true });
  expect(await agent.tools.execute('nothing')).toEqual({ status: 'success', data: 'stood in' });
  const tools = createToolRegistry();
  tools.register(fakeTool('write', [new Error('busy'), 1], { onError: { executionError: recover.retry() } }));
  expect(await tools.execute('write')).toEqual({ status: 'success', data: 1 });
});

describe('arguments that were cut off', () => {
  const cut = (value: unknown): string => {
    const text = JSON.stringify({ thought: 'I write it.', tool: 'write', tool_args: value });
    return text.slice(0, text.lastIndexOf('END'));
  };

  test.each([
    ['in a text', { path: '/notes.tEND' }],
    ['in a list in an object', { path: '/a', more: { list: ['x', 'yEND'] } }],
    ['behind a quote that belongs to the text', { path: 'say "hi"END' }],
  ])('%s stay open for onError, so that no repair takes them for whole', async (_where, value) => {
    const seen: string[] = [];
    const write = fakeTool('write', [{ ok: 1 }], {
      inputSchema: SCHEMA,
      onError: {
        invalidArgs: [
          recover.fix(recover.json),
          recover.fix((raw) => {
            seen.push(raw);
            return null;
          }),
        ],
      },
    });
    const model = scriptedModel([cut(value), '{"answer": "I could not."}']);
    const result = await createAgent({ model, tools: [write], toolCalling: 'json', silent: true }).run('Write it');
    expect(write.calls).toEqual([]);
    expect(result.errorHistory).toMatchObject([{ tool: 'write', code: 'invalid-args' }]);
    expect(seen).toHaveLength(1);
    expect(() => JSON.parse(seen[0] ?? '')).toThrow(SyntaxError);
  });

  test('are run once a function of onError has completed them', async () => {
    const write = fakeTool('write', [{ ok: 1 }], {
      inputSchema: SCHEMA,
      onError: { invalidArgs: recover.fix(() => ({ path: '/notes.txt' })) },
    });
    const model = scriptedModel([cut({ path: '/notes.tEND' }), '{"answer": "Done."}']);
    await createAgent({ model, tools: [write], toolCalling: 'json', silent: true }).run('Write it');
    expect(write.calls).toEqual([{ path: '/notes.txt' }]);
  });
});

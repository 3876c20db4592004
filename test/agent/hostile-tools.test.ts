import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { type ExecuteContext, tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

async function runOnce(behave: (context: ExecuteContext) => unknown, options: AgentOptions = {}) {
  const odd = tool({
    name: 'odd',
    description: 'Misbehaves.',
    timeoutMs: 40,
    execute: (_args, context) => behave(context),
  });
  const model = scriptedModel([calls(['odd', {}, 'a']), 'I see.']);
  const run = createAgent({ model, tools: [odd], silent: true, ...options }).run('Go');
  const result = await run;
  const told: string = String(result.messages.find(({ role }) => role === 'tool')?.content);
  return { run, result, told, odd };
}

test('promises that a tool forgot to await do not end the process when they fail', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  const fail = async (name: string) => Promise.reject(new Error(name));
  const results = [
    () => ['ada', 'eve'].map(fail),
    () => ({ status: 'success', data: { ada: fail('ada'), more: { eve: [fail('eve')] }, cycle } }),
    () => [fail('ada'), unreadable, fail('eve')],
  ];
  for (const result of results) expect((await runOnce(result)).told).toContain('a promise that was not awaited');
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

const unreadable = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error('do not read me');
    },
  },
);
const cycle: { self?: unknown } = {};
cycle.self = cycle;
const throwsWhenRead = Object.defineProperty({}, 'value', {
  enumerable: true,
  get: () => {
    throw new Error('do not read me');
  },
});

describe('a tool that fails is an error that the model is told, whatever it throws', () => {
  test.each<[string, () => unknown, string]>([
    [
      'an Error at once',
      () => {
        throw new Error('out of tea');
      },
      'out of tea',
    ],
    ['an Error later', () => Promise.reject(new Error('out of tea')), 'out of tea'],
    ['an Error that it returns', () => new Error('out of tea'), 'out of tea'],
    ['an Error that it returns later', () => Promise.resolve(new TypeError('out of tea')), 'out of tea'],
    ['a text', () => Promise.reject('no tea'), 'no tea'],
    [
      'null',
      () => {
        throw null;
      },
      'null',
    ],
    [
      'undefined',
      () => {
        throw undefined;
      },
      '',
    ],
    [
      'an object',
      () => {
        throw { reason: 'no tea' };
      },
      'no tea',
    ],
    [
      'a symbol',
      () => {
        throw Symbol('tea');
      },
      'tea',
    ],
    [
      'an object that cannot be read',
      () => {
        throw throwsWhenRead;
      },
      '',
    ],
    [
      'an Error with an unreadable message',
      () => {
        throw Object.defineProperty(new Error(), 'message', {
          get: () => {
            throw new Error('x');
          },
        });
      },
      '',
    ],
  ])('%s', async (_what, behave, text) => {
    const { result, told, run } = await runOnce(behave);
    expect(result).toMatchObject({ status: 'answered', result: 'I see.', toolsUsed: ['odd'] });
    expect(result.states).toContain('ERROR_RECOVERY');
    expect(result.errorHistory).toEqual([expect.objectContaining({ code: 'execution', tool: 'odd', step: 1 })]);
    expect(told).toContain('Tool execution failed: ');
    expect(told).toContain(text);
    expect(told).not.toContain('.ts:');
    expect(run.transitions().every(({ actor, event }) => actor !== '' && event !== '')).toBe(true);
  });
});

describe('a result that has no JSON form is an error of the tool, not of the run', () => {
  test.each<[string, () => unknown]>([
    ['a cycle', () => cycle],
    ['a BigInt', () => ({ id: 1n })],
    ['a Map', () => new Map([['a', 1]])],
    ['a Set inside', () => ({ list: [new Set([1])] })],
    ['a function', () => () => 1],
    ['a function inside', () => ({ call: () => 1 })],
    ['a symbol', () => Symbol('x')],
    ['a getter that throws', () => throwsWhenRead],
    ['a promise inside', () => ({ later: Promise.resolve(1) })],
    ['a response that was not read', () => new Response('{"a":1}')],
    [
      'a generator',
      () =>
        (async function* () {
          yield 1;
        })(),
    ],
    ['an expression', () => ({ found: /x/ })],
    ['search parameters', () => new URLSearchParams('a=1')],
    ['a stream', () => new Blob(['x']).stream()],
    ['a buffer without a view', () => new ArrayBuffer(8)],
    ['50 MB of text', () => 'x'.repeat(50_000_000)],
    ['a nest of 100 000 lists', () => Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], 1)],
  ])('%s', async (_what, behave) => {
    const { result, told } = await runOnce(behave);
    expect(result).toMatchObject({ status: 'answered', errorHistory: [{ code: 'execution', tool: 'odd' }] });
    expect(told).toContain('"status":"error"');
    expect(told.length).toBeLessThan(5000);
  });

  test.each<[string, unknown, unknown]>([
    ['undefined', undefined, null],
    ['null', null, null],
    ['a bare text', 'tea', 'tea'],
    ['zero', 0, 0],
    ['false', false, false],
    ['a list', [1, 'two'], [1, 'two']],
    ['an object', { tea: 3 }, { tea: 3 }],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['NaN', NaN, null],
    ['undefined members', { a: undefined, b: 1 }, { b: 1 }],
    [
      'a class instance',
      new (class Tea {
        grams = 3;
      })(),
      { grams: 3 },
    ],
    ['bytes', new Uint8Array([1, 2]), { 0: 1, 1: 2 }],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['an error among other members', { error: { at: 3 }, id: 5 }, { error: { at: 3 }, id: 5 }],
    ['no error', { error: null, id: 5 }, { error: null, id: 5 }],
    ['an empty error', { error: {} }, { error: {} }],
    ['a status of its own words', { status: 'active', id: 5 }, { status: 'active', id: 5 }],
  ])('%s is wrapped as the data of a success', async (_what, value, data) => {
    const { told, result } = await runOnce(() => value);
    expect(result.errorHistory).toEqual([]);
    expect(JSON.parse(told)).toEqual({ status: 'success', data });
  });

  test.each([
    [{ status: 'success', message: 'ok', data: { a: 1 }, instruction: 'Go on.' }, true],
    [{ status: 'partial', data: [1] }, true],
    [{ status: 'error', error: 'no tea' }, false],
    [{ error: 'no tea' }, false],
    [{ isError: true, message: 'no tea' }, false],
  ])('a result in the result format stays as it is: %j', async (value, good) => {
    const { told, result } = await runOnce(() => value);
    expect(JSON.parse(told)).toMatchObject(value);
    expect(result.errorHistory).toHaveLength(good ? 0 : 1);
    if (!good) expect(result.errorHistory[0]?.message).toContain('no tea');
  });
});

describe('an error that is no text is one for the model, and none of the run', () => {
  test.each([
    [{ status: 'error', error: { code: 'card_declined', message: 'no tea' } }, 'no tea (card_declined)'],
    [{ status: 'error', error: 42 }, '42'],
    [{ status: 'error', message: 'no tea' }, 'no tea'],
    [{ status: 'error', message: { text: 'no tea' } }, 'the tool reported an error without a message'],
    [{ error: { message: 'no tea' } }, 'no tea'],
    [{ error: { message: 'no tea', code: 500 }, id: 5 }, 'no tea (500)'],
    [{ error: { reason: 'no tea' } }, '{"reason":"no tea"}'],
    [
      { isError: true, content: [{ type: 'text', text: 'no' }, { type: 'image' }, { type: 'text', text: 'tea' }] },
      'no\ntea',
    ],
  ])('%j', async (value, text) => {
    const { told, result } = await runOnce(() => value);
    expect(result).toMatchObject({ status: 'answered', result: 'I see.' });
    expect(result.errorHistory[0]?.message).toBe(`Tool execution failed: ${text}`);
    expect(JSON.parse(told)).toMatchObject({ status: 'error', error: text });
  });
});

describe('a tool that is', () => {
  test('never done is stopped at its time; its signal aborts', async () => {
    let signal: AbortSignal | undefined;
    const { result, told } = await runOnce((context) => {
      ({ signal } = context);
      return new Promise(() => undefined);
    });
    expect(result.errorHistory).toEqual([expect.objectContaining({ code: 'timeout', tool: 'odd' })]);
    expect(told).toContain('40 ms');
    expect(signal?.aborted).toBe(true);
  });

  test('without a time of its own gets timeouts.toolMs', async () => {
    const slow = fakeTool('slow', [() => new Promise(() => undefined)]);
    const agent = createAgent({
      model: scriptedModel([calls(['slow']), 'Hm.']),
      tools: [slow],
      timeouts: { toolMs: 20 },
      silent: true,
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', errorHistory: [{ code: 'timeout' }] });
  });

  test('changing its arguments changes nothing for anybody else', async () => {
    const greedy = tool({
      name: 'greedy',
      description: 'Changes its arguments.',
      inputSchema: { type: 'object', properties: { list: { type: 'array', items: { type: 'number' } } } },
      execute: (args) => {
        Reflect.set(args, 'more', true);
        Reflect.apply(Array.prototype.push, Reflect.get(args, 'list'), [4]);
        return 'done';
      },
    });
    const model = scriptedModel([calls(['greedy', { list: [1] }]), 'Done.']);
    const run = createAgent({ model, tools: [greedy], silent: true }).run('Go');
    const finished: unknown[] = [];
    for await (const event of run) if (event.type === 'tool.finished') finished.push(event.args);
    expect(finished).toEqual([{ list: [1] }]);
    expect((await run).messages[1]?.toolCalls?.[0]?.arguments).toBe('{"list":[1]}');
    expect(await replay(run.recording(), createAgent({ model, tools: [greedy], silent: true }))).toMatchObject({
      status: 'answered',
    });
  });

  test('calling back into its own agent is told that it is busy', async () => {
    const self = fakeTool('self', [() => agent.run('Again')]);
    const agent = createAgent({ model: scriptedModel([calls(['self']), 'Hm.']), tools: [self], silent: true });
    const { errorHistory } = await agent.run('Go');
    expect(errorHistory[0]?.message).toContain('busy');
  });

  test('registering another tool, it is offered and can be called in the next turn', async () => {
    const second = fakeTool('second', [2]);
    const first = fakeTool('first', [() => agent.tools.register(second)]);
    const model = scriptedModel([calls(['first']), calls(['second']), 'Done.']);
    const agent = createAgent({ model, tools: [first], silent: true });
    expect(await agent.run('Go')).toMatchObject({
      status: 'answered',
      toolsUsed: ['first', 'second'],
      errorHistory: [],
    });
    expect(model.requests.map(({ tools }) => tools?.map(({ name }) => name))).toEqual([
      ['first', 'make_plan'],
      ['first', 'second', 'make_plan'],
      ['first', 'second', 'make_plan'],
    ]);
  });

  test('removed while it runs finishes, and is gone from the next turn on', async () => {
    const gone = fakeTool('gone', [() => agent.tools.remove('gone')]);
    const model = scriptedModel([calls(['gone']), calls(['gone']), 'Done.']);
    const agent = createAgent({ model, tools: [gone], silent: true });
    const { messages, errorHistory } = await agent.run('Go');
    expect(String(messages[2]?.content)).toContain('"status":"success"');
    expect(errorHistory).toEqual([expect.objectContaining({ code: 'unknown-tool', step: 2 })]);
    expect(gone.calls).toHaveLength(1);
  });

  test('given a context gets that very value, and it is neither shown to the model nor written', async () => {
    const seen: unknown[] = [];
    const context = { user: 'secret-user', db: new Map() };
    const model = scriptedModel([calls(['odd']), 'Done.']);
    const odd = tool({
      name: 'odd',
      description: 'Looks at its context.',
      validateArgs: (args, io) => (seen.push(io.context), args),
      execute: (_args, io) => void seen.push(io.context),
    });
    const run = createAgent({ model, tools: [odd], silent: true }).run('Go', { context });
    await run;
    expect(seen).toEqual([context, context]);
    expect(seen.every((value) => value === context)).toBe(true);
    expect(run.recording() + JSON.stringify(model.requests)).not.toContain('secret-user');
  });

  test('called gets our call id, unique in the run, and an idempotency key of its own', async () => {
    const seen: ExecuteContext[] = [];
    const odd = tool({ name: 'odd', description: 'Notes.', execute: (_args, io) => void seen.push(io) });
    const model = scriptedModel([
      calls(['odd', { n: 1 }, 'call_0'], ['odd', { n: 2 }, 'call_0']),
      calls(['odd', { n: 3 }, 'call_0']),
      'Done.',
    ]);
    await createAgent({ model, tools: [odd], silent: true }).run('Go');
    expect(new Set(seen.map(({ callId }) => callId)).size).toBe(3);
    expect(new Set(seen.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3);
    expect(seen.some(({ callId }) => callId === 'call_0')).toBe(false);
  });
});

test('a long result is cut head and tail for the model alone, and says so', async () => {
  const text = `${'a'.repeat(5000)}${'z'.repeat(5000)}`;
  const model = scriptedModel([calls(['big', {}, 'a']), 'Done.']);
  const run = createAgent({ model, tools: [fakeTool('big', [text])], maxToolResultChars: 300, silent: true }).run('Go');
  const full: unknown[] = [];
  for await (const event of run) if (event.type === 'tool.finished') full.push(event.result.data);
  const told = String((await run).messages.find(({ role }) => role === 'tool')?.content);
  expect(full).toEqual([text]);
  expect(run.recording()).toContain(text);
  expect(told.length).toBeLessThan(400);
  expect(told).toMatch(/^\{"status":"success","data":"aaa/);
  expect(told).toMatch(/zzz"\}$/);
  expect(told).toMatch(/\d+ characters/);
});

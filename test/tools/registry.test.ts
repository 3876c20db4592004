import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { createToolRegistry, type ToolRegistryOptions } from '../../src/agent/tools/registry.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { recover } from '../../src/recovery/recover.ts';
import { type Tool, tool } from '../../src/tools/tool.ts';

const add = () =>
  tool({
    name: 'add',
    description: 'Adds two numbers.',
    inputSchema: z.object({ a: z.number(), b: z.number().default(1) }),
    execute: ({ a, b }) => a + b,
  });

function registryWith(tools: readonly Tool[], options: ToolRegistryOptions = {}) {
  const registry = createToolRegistry(options);
  registry.register(...tools);
  return registry;
}

test.each(['null', ' null ', '"null"', ''])(
  'a model that calls with the arguments %j calls without any',
  async (text) => {
    const model = scriptedModel([{ content: '', toolCalls: [{ name: 'look', arguments: text }] }, 'Done.']);
    const { toolsUsed, errorHistory } = await createAgent({ model, tools: [fakeTool('look', [1])], silent: true }).run(
      'Go',
    );
    expect({ toolsUsed, errorHistory }).toEqual({ toolsUsed: ['look'], errorHistory: [] });
  },
);

describe('a registry without an agent', () => {
  test('takes null for no arguments, as models send it', async () => {
    const registry = registryWith([fakeTool('look', [1])]);
    for (const none of [null, undefined, {}])
      expect(await registry.execute('look', none)).toEqual({ status: 'success', data: 1 });
    expect(await registry.execute('look', [])).toMatchObject({ status: 'error' });
  });

  test('takes arguments as a model writes them, as text', async () => {
    const registry = registryWith([fakeTool('look', [1]), add()]);
    for (const none of ['null', ' ', '"null"', '{}'])
      expect(await registry.execute('look', none)).toEqual({ status: 'success', data: 1 });
    expect(await registry.execute('add', '{"a": "2", "b": 3}')).toEqual({ status: 'success', data: 5 });
    expect(await registry.execute('add', "{'a': 2,}")).toEqual({ status: 'success', data: 3 });
    expect(await registry.execute('add', { a: 2, b: 2 })).toEqual({ status: 'success', data: 4 });
    for (const unread of ['{"a": 2, "b": ', 'two and three', '[2, 3]', 5, true])
      expect(await registry.execute('add', unread)).toMatchObject({
        status: 'error',
        code: 'invalid-args',
        error: expect.stringMatching(/^Invalid arguments for 'add': /),
      });
  });

  test('a step of recovery gets the text as the model wrote it', async () => {
    const fix = vi.fn<() => string>(() => '{"a": 1}');
    const inputSchema = z.object({ a: z.number() });
    const onError = { invalidArgs: recover.fix(fix) };
    const one = {
      name: 'add',
      description: 'Adds one.',
      inputSchema,
      onError,
      execute: ({ a }: { a: number }) => a + 1,
    };
    const registry = registryWith([tool(one)]);
    expect(await registry.execute('add', '@a=1')).toEqual({ status: 'success', data: 2 });
    expect(fix.mock.calls).toMatchObject([['@a=1', { kind: 'invalid-args', rawArgs: '@a=1' }]]);
  });

  test('registers, finds, lists in order, removes and clears; size is a property', () => {
    const registry = registryWith([fakeTool('b'), fakeTool('a')]);
    expect(registry.size).toBe(2);
    expect(registry.list().map(({ name }) => name)).toEqual(['b', 'a']);
    expect([registry.has('a'), registry.has('c'), registry.find('c')]).toEqual([true, false, undefined]);
    expect(registry.find('a')?.name).toBe('a');
    expect([registry.remove('a'), registry.remove('a'), registry.size]).toEqual([true, false, 1]);
    registry.clear();
    expect([registry.size, registry.list()]).toEqual([0, []]);
  });

  test('refuses a second tool of one name, and then registers none of the list', () => {
    const registry = registryWith([fakeTool('a')]);
    expect(() => registry.register(fakeTool('b'), fakeTool('a'))).toThrow(/'a' is registered already/);
    expect(() => registry.register(fakeTool('c'), fakeTool('c'))).toThrow(/'c' is registered already/);
    expect(registry.size).toBe(1);
    registry.remove('a');
    registry.register(fakeTool('a'));
    expect(registry.size).toBe(1);
  });

  test.each([[undefined], [null], [5], ['look'], [{}], [{ name: 'look' }], [{ name: 'look', description: 'x' }]])(
    'refuses %j, which is no tool',
    (what) => {
      const registry = createToolRegistry();
      expect(() => Reflect.apply(registry.register, registry, [what])).toThrow(TypeError);
      expect(() => Reflect.apply(registry.register, registry, [what])).toThrow(/tool/i);
    },
  );

  test.each([
    ['defaultPolicy', { defaultPolicy: 'Deny' }],
    ['confirm', { confirm: 'wait' }],
    ['permissions', { permissions: {} }],
    ['timeouts', { timeouts: { toolMs: 0 } }],
    ['confrim', { confrim: () => 'deny' }],
  ])('refuses a wrong option %s by name', (name, options) => {
    expect(() => Reflect.apply(createToolRegistry, undefined, [options])).toThrow(new RegExp(name));
  });

  test('executes a tool as a model would: coercion, defaults and all', async () => {
    const registry = registryWith([add()]);
    expect(await registry.execute('add', { a: 2, b: 3 })).toEqual({ status: 'success', data: 5 });
    expect(await registry.execute('ADD', { a: '2' })).toEqual({ status: 'success', data: 3 });
  });

  test('has no loop guard', async () => {
    const look = fakeTool('look', [1]);
    const registry = registryWith([look]);
    for (let n = 0; n < 6; n++) expect(await registry.execute('look')).toEqual({ status: 'success', data: 1 });
    expect(look.calls).toHaveLength(6);
  });
});

describe('execute never throws, and gives a tool result', () => {
  test.each<[string, string, unknown, RegExp]>([
    ['an unknown tool', 'subtract', {}, /^Tool 'subtract' not found$/],
    ['arguments that do not fit', 'add', { a: 'two' }, /^Invalid arguments for 'add': /],
    ['a missing argument', 'add', {}, /^Invalid arguments for 'add': /],
    ['arguments that are no object', 'add', [1, 2], /^Invalid arguments for 'add': /],
    ['arguments that have no JSON form', 'add', { a: 1n }, /^Invalid arguments for 'add': /],
    ['a tool that is switched off', 'off', {}, /^Tool 'off' is disabled$/],
    ['a tool that is denied', 'denied', {}, /^Tool 'denied' is denied by policy$/],
    ['a tool that asks, with nobody to ask', 'asks', {}, /^Tool 'asks' requires confirmation but no callback is set$/],
    ['a tool that throws', 'broken', {}, /^Tool execution failed: out of order$/],
    ['a tool that takes too long', 'slow', {}, /^Tool execution failed: .*20 ms/],
    ['arguments that the author rejects', 'picky', { a: 1 }, /^Argument validation failed: not 1$/],
  ])('%s', async (_what, name, args, text) => {
    const registry = registryWith(
      [
        add(),
        tool({ name: 'off', description: 'Is off.', enabled: false, execute: () => 1 }),
        fakeTool('denied', [1], { policy: 'deny' }),
        fakeTool('asks', [1], { policy: 'confirm' }),
        fakeTool('broken', [new Error('out of order')]),
        fakeTool('slow', [() => new Promise(() => undefined)]),
        tool({
          name: 'picky',
          description: 'Is picky.',
          validateArgs: () => {
            throw new Error('not 1');
          },
          execute: () => 1,
        }),
      ],
      { timeouts: { toolMs: 20 } },
    );
    const result = await registry.execute(name, args);
    expect(result).toMatchObject({ status: 'error', error: expect.stringMatching(text) });
  });

  test('arguments that are null are none', async () => {
    const look = fakeTool('look', [1]);
    expect(await registryWith([look]).execute('look', null)).toMatchObject({ status: 'success' });
    expect(look.calls).toEqual([{}]);
  });

  test.each([[undefined], [null], [5], [{}], ['']])('a name that is %j', async (name) => {
    const registry = registryWith([add()]);
    expect(await Reflect.apply(registry.execute, registry, [name, {}])).toMatchObject({
      status: 'error',
      error: expect.stringMatching(/not found$/),
    });
  });

  test('a signal that lives longer than its calls keeps nothing of them', async () => {
    const registry = registryWith([fakeTool('look', [1, new Error('no')])]);
    const { signal } = new AbortController();
    for (const name of ['look', 'look', 'nothing']) await registry.execute(name, {}, { signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('a signal that aborts', async () => {
    const registry = registryWith([fakeTool('stuck', [() => new Promise(() => undefined)])]);
    const controller = new AbortController();
    const running = registry.execute('stuck', {}, { signal: controller.signal });
    controller.abort();
    expect(await running).toMatchObject({ status: 'error' });
    expect(await registry.execute('stuck', {}, { signal: AbortSignal.abort() })).toMatchObject({ status: 'error' });
  });

  test('a store of permissions that fails: it asks', async () => {
    const permissions = { isAlwaysAllowed: () => Promise.reject(new Error('gone')), add: () => undefined };
    const asks = fakeTool('asks', [1], { policy: 'confirm' });
    const registry = registryWith([asks], { permissions, confirm: () => 'allow-once' });
    expect(await registry.execute('asks')).toEqual({ status: 'success', data: 1 });
  });
});

describe('policies of a registry alone', () => {
  test('defaultPolicy holds for tools that name none', async () => {
    const registry = registryWith([fakeTool('plain'), fakeTool('free', [1], { policy: 'allow' })], {
      defaultPolicy: 'deny',
    });
    expect(await registry.execute('plain')).toMatchObject({ error: "Tool 'plain' is denied by policy" });
    expect(await registry.execute('free')).toMatchObject({ status: 'success' });
  });

  test('confirm is asked with the arguments and the context; deny denies', async () => {
    const asked: unknown[] = [];
    const asks = fakeTool('asks', [1], { policy: 'confirm' });
    const registry = registryWith([asks], {
      confirm: ({ tool: name, args, context }) => {
        asked.push([name, args, context]);
        return args.ok === true ? 'allow-once' : 'deny';
      },
    });
    expect(await registry.execute('asks', { ok: true }, { context: 'till 3' })).toMatchObject({ status: 'success' });
    expect(await registry.execute('asks', { ok: false })).toMatchObject({
      error: "Tool 'asks' execution denied by user",
    });
    expect(asked).toEqual([
      ['asks', { ok: true }, 'till 3'],
      ['asks', { ok: false }, undefined],
    ]);
    expect(asks.calls).toEqual([{ ok: true }]);
  });

  test('always-allow is kept in the store and not asked again', async () => {
    const allowed = new Set<string>();
    const permissions = {
      isAlwaysAllowed: (name: string) => allowed.has(name),
      add: (name: string) => void allowed.add(name),
    };
    let asked = 0;
    const registry = registryWith([fakeTool('asks', [1], { policy: 'confirm' })], {
      permissions,
      confirm: () => (asked++, 'always-allow'),
    });
    for (let n = 0; n < 3; n++) expect(await registry.execute('asks')).toMatchObject({ status: 'success' });
    expect([asked, [...allowed]]).toEqual([1, ['asks']]);
  });
});

describe('lookup', () => {
  const names = ['files_read', 'web_read', 'files_write', 'Ping', 'ping_host'];

  test.each<[string, string | null]>([
    ['files_read', 'files_read'],
    ['FILES_READ', 'files_read'],
    ['ping', 'Ping'],
    ['PING_HOST', 'ping_host'],
    ['write', 'files_write'],
    ['Write', 'files_write'],
    ['host', 'ping_host'],
    ['read', null],
    ['rite', null],
    ['files', null],
    ['files_', null],
    ['', null],
    ['_', null],
    ['constructor', null],
    ['__proto__', null],
  ])('%j means %j', async (wanted, meant) => {
    const tools = names.map((name) => fakeTool(name, [name]));
    const result = await registryWith(tools).execute(wanted);
    if (meant === null) expect(result).toMatchObject({ status: 'error', error: `Tool '${wanted}' not found` });
    else expect(result).toEqual({ status: 'success', data: meant });
  });

  test('an exact name beats one that differs in case', async () => {
    const registry = registryWith([fakeTool('Look', ['big']), fakeTool('look', ['small']), fakeTool('LOOK', ['all'])]);
    expect(await registry.execute('look')).toMatchObject({ data: 'small' });
    expect(await registry.execute('lOOk')).toMatchObject({ status: 'error' });
  });

  test('two candidates are none, and are suggested', async () => {
    const result = await registryWith(names.map((name) => fakeTool(name))).execute('read');
    expect(result.suggestion).toMatch(/files_read.*web_read/);
  });

  test('a near miss is suggested', async () => {
    const result = await registryWith(names.map((name) => fakeTool(name))).execute('files_raed');
    expect(result.suggestion).toContain('files_read');
  });

  test('a denied tool is not suggested', async () => {
    const registry = registryWith([fakeTool('launch', [1], { policy: 'deny' }), fakeTool('lunch')]);
    const result = await registry.execute('lanch');
    expect(result.suggestion).toContain('lunch');
    expect(result.suggestion).not.toContain('launch');
  });
});

import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createToolRegistry } from '../../src/agent/tools/registry.ts';
import { checkEvent } from '../../src/inspector/frames/event-schemas.ts';
import { type JsonObject, recoverArguments } from '../../src/parsing/index.ts';
import type { StandardSchema } from '../../src/tools/schema.ts';
import { tool } from '../../src/tools/tool.ts';

const good = { name: 'look', description: 'Looks.', execute: () => 1 };
const make = (definition: unknown) => () => Reflect.apply(tool, undefined, [definition]);

const itself: { not?: unknown } = {};
itself.not = itself;

describe('tool() refuses a wrong definition with the name of the tool and the member', () => {
  test.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /tool\(\)/],
    ['null', null, /tool\(\)/],
    ['no name', { ...good, name: undefined }, /name/],
    ['an empty name', { ...good, name: '' }, /name/],
    ['a name with a blank', { ...good, name: 'look up' }, /name.*look up/],
    ['a name with a slash', { ...good, name: 'a/b' }, /name/],
    ['a name that is too long', { ...good, name: 'x'.repeat(65) }, /name.*64/],
    ['the reserved name make_plan', { ...good, name: 'make_plan' }, /make_plan.*reserved/],
    ['no description', { name: 'look', execute: () => 1 }, /'look'.*description/],
    ['no execute', { name: 'look', description: 'x' }, /'look'.*execute/],
    ['execute that is no function', { ...good, execute: 'run' }, /'look'.*execute/],
    ['validateArgs that is no function', { ...good, validateArgs: true }, /'look'.*validateArgs/],
    ['an unknown policy', { ...good, policy: 'Deny' }, /'look'.*policy/],
    ['unknown effects', { ...good, effects: 'twice' }, /'look'.*effects/],
    ['a timeout of zero', { ...good, timeoutMs: 0 }, /'look'.*timeoutMs/],
    ['a timeout that is a text', { ...good, timeoutMs: '5s' }, /'look'.*timeoutMs/],
    ['a schema that is a text', { ...good, inputSchema: 'object' }, /'look'.*inputSchema/],
    ['a schema that is null', { ...good, inputSchema: null }, /'look'.*inputSchema/],
    ['a schema that is a list', { ...good, inputSchema: [] }, /'look'.*inputSchema/],
    ['a schema of a text', { ...good, inputSchema: { type: 'string' } }, /'look'.*object/],
    ['zod of a text', { ...good, inputSchema: z.string() }, /'look'.*object/],
    [
      'an unknown type inside',
      { ...good, inputSchema: { type: 'object', properties: { a: { type: 'strng' } } } },
      /'look'.*\/properties\/a\/type.*strng/,
    ],
    ['required that is no list', { ...good, inputSchema: { type: 'object', required: true } }, /'look'.*required/],
    ['properties that are a list', { ...good, inputSchema: { type: 'object', properties: [] } }, /'look'.*properties/],
    [
      'a schema that zod cannot write as JSON',
      { ...good, inputSchema: z.object({ when: z.date() }) },
      /'look'.*JSON Schema\. Pass.*jsonSchema/s,
    ],
    ['the shape of an object', { ...good, inputSchema: { city: z.string() } }, /'look'.*'city'.* of zod.*z\.object/],
    [
      'properties that are schemas of a library',
      { ...good, inputSchema: { type: 'object', properties: { city: z.string() } } },
      /'look'.*'city'.* of zod.*z\.object/,
    ],
    [
      'a schema with a function',
      { ...good, inputSchema: { properties: { n: { default: () => 1 } } } },
      /'look'.*at \/properties\/n\/default it holds a function/,
    ],
    ['a schema within itself', { ...good, inputSchema: itself }, /'look'.*holds .*\(a cycle\)/],
    ['enabled that is no boolean', { ...good, enabled: 'no' }, /'look'.*enabled/],
    ['polling that is no boolean', { ...good, polling: 1 }, /'look'.*polling/],
    ['atomic that is no boolean', { ...good, atomic: 1 }, /'look'.*atomic/],
  ])('%s', (_what, definition, text) => {
    expect(make(definition)).toThrow(TypeError);
    expect(make(definition)).toThrow(text);
  });

  test('a Standard Schema without JSON Schema needs jsonSchema beside it', () => {
    const standard = { '~standard': { version: 1, vendor: 'plain', validate: (value: unknown) => ({ value }) } };
    expect(make({ ...good, inputSchema: standard })).toThrow(/'look'.*plain.*jsonSchema/);
    expect(make({ ...good, inputSchema: standard, jsonSchema: { type: 'object' } })).not.toThrow();
    // Some libraries write their own part into it.
    expect(make({ ...good, inputSchema: standard, jsonSchema: { type: 'object', ...standard } })).not.toThrow();
  });
});

describe('tool() makes', () => {
  test('a frozen tool with the defaults of the contract', () => {
    const made = tool(good);
    expect(Object.isFrozen(made)).toBe(true);
    expect(made).toMatchObject({ policy: undefined, effects: 'once', atomic: false, polling: false, enabled: true });
    expect(made.inputSchema).toMatchObject({ type: 'object' });
  });

  test('a JSON Schema of its own, which nobody changes afterwards', () => {
    const properties: { [name: string]: JsonObject } = { city: { type: 'string' } };
    const made = tool({ ...good, inputSchema: { type: 'object', properties } });
    properties['country'] = { type: 'string' };
    expect(made.inputSchema).toEqual({ type: 'object', properties: { city: { type: 'string' } } });
  });

  test('the JSON Schema of zod, with descriptions and defaults', () => {
    const { inputSchema } = tool({
      ...good,
      inputSchema: z.object({ city: z.string().describe('City name'), days: z.number().default(3) }),
    });
    expect(inputSchema).toMatchObject({
      type: 'object',
      properties: { city: { type: 'string', description: 'City name' }, days: { type: 'number', default: 3 } },
      required: ['city'],
    });
  });

  test.each([['a.b'], ['größe'], ['a-b'], ['_x'], ['9lives'], ['x'.repeat(64)]])('a tool of the name %s', (name) => {
    expect(tool({ ...good, name }).name).toBe(name);
  });
});

describe('the check of a tool: JSON Schema, then the Standard Schema, then validateArgs', () => {
  const run = async (definition: Parameters<typeof tool>[0], args: unknown) => {
    const registry = createToolRegistry();
    registry.register(tool(definition));
    return registry.execute(definition.name, args);
  };

  test("zod's transforms and refinements hold, on coerced values", async () => {
    const inputSchema = z.object({ n: z.int().refine((n) => n % 2 === 0, 'must be even') });
    const execute = ({ n }: { n: number }) => n * 10;
    const registry = createToolRegistry();
    registry.register(tool({ ...good, inputSchema, execute }));
    expect(await registry.execute('look', { n: '4' })).toEqual({ status: 'success', data: 40 });
    expect(await registry.execute('look', { n: 3 })).toMatchObject({
      status: 'error',
      error: expect.stringMatching(/^Invalid arguments for 'look': .*\/n.*must be even/),
    });
  });

  test('what a schema makes of the arguments reaches validateArgs as it is, and execute as it is recorded', async () => {
    const day = z.iso.date().transform((text) => new Date(text));
    const inputSchema = z.object({ days: z.array(day), site: z.url().transform((text) => new URL(text)) });
    const seen: unknown[] = [];
    const registry = createToolRegistry();
    registry.register(
      tool({
        ...good,
        inputSchema,
        validateArgs: ({ days, site }) => void seen.push(days[0]?.getTime(), site.hostname),
        execute: ({ days, site }) => [days.map((one) => one.slice(0, 4)), site.toUpperCase()],
      }),
    );
    const args = { days: ['2026-11-27'], site: 'https://example.com' };
    expect(await registry.execute('look', args)).toMatchObject({ data: [['2026'], 'HTTPS://EXAMPLE.COM/'] });
    expect(seen).toEqual([Date.UTC(2026, 10, 27), 'example.com']);
  });

  test('a Standard Schema that checks later is awaited', async () => {
    const inputSchema: StandardSchema<{ n: number }, { n: number }> = {
      '~standard': {
        version: 1,
        vendor: 'plain',
        validate: async (value) => {
          await Promise.resolve();
          const n = Number(Reflect.get(Object(value), 'n'));
          return n > 5 ? { value: { n: n + 1 } } : { issues: [{ message: 'too small', path: ['n'] }] };
        },
      },
    };
    const registry = createToolRegistry();
    const jsonSchema = { type: 'object', properties: { n: { type: 'integer' } } };
    registry.register(tool({ ...good, inputSchema, jsonSchema, execute: ({ n }) => n }));
    expect(await registry.execute('look', { n: '7' })).toEqual({ status: 'success', data: 8 });
    expect(await registry.execute('look', { n: 1 })).toMatchObject({
      error: "Invalid arguments for 'look': /n: too small",
    });
  });

  test('a problem of the whole has no path, also where paths are lists of a class of their own', async () => {
    // As ArkType has them.
    class Path extends Array<string> {
      constructor(...keys: readonly string[]) {
        super();
        this.push(...keys);
      }
    }
    const validate = () => ({ issues: [{ message: 'must be sorted', path: new Path() }] });
    const inputSchema: StandardSchema = { '~standard': { version: 1, vendor: 'plain', validate } };
    const registry = createToolRegistry();
    registry.register(tool({ ...good, inputSchema, jsonSchema: { type: 'object' } }));
    const error = "Invalid arguments for 'look': must be sorted";
    expect(await registry.execute('look', {})).toMatchObject({ error });
    expect(recoverArguments({}, inputSchema)).toMatchObject({ error: { issues: [{ path: '' }] } });
    expect(await checkEvent({ type: 'go' }, { json: null, standard: inputSchema['~standard'] })).toMatchObject({
      message: 'This is not a valid go (must be sorted).',
    });
  });

  test.each<[string, (args: unknown) => unknown, unknown]>([
    ['gives the arguments to use', () => ({ n: 2 }), { status: 'success', data: { n: 2 } }],
    ['may be asynchronous', () => Promise.resolve({ n: 3 }), { status: 'success', data: { n: 3 } }],
    ['may give nothing', () => undefined, { status: 'success', data: { n: 1 } }],
    ['may give the same', (args) => args, { status: 'success', data: { n: 1 } }],
  ])('validateArgs %s', async (_what, validateArgs, result) => {
    expect(await run({ ...good, validateArgs, execute: (args) => args }, { n: 1 })).toEqual(result);
  });

  test.each<[string, () => unknown, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('no way');
      },
      /^Argument validation failed: no way$/,
    ],
    ['rejects', () => Promise.reject(new Error('no way')), /^Argument validation failed: no way$/],
    [
      'throws null',
      () => {
        throw null;
      },
      /^Argument validation failed: /,
    ],
    ['gives a list', () => [1], /^Argument validation failed: /],
    ['gives a text', () => 'fine', /^Argument validation failed: /],
    ['gives null', () => null, /^Argument validation failed: /],
    ['gives what has no JSON form', () => ({ n: 1n }), /^(Argument validation failed|Tool execution failed): /],
  ])('validateArgs that %s rejects them', async (_what, validateArgs, text) => {
    const ran: unknown[] = [];
    const result = await run({ ...good, validateArgs, execute: (args) => ran.push(args) }, { n: 1 });
    expect(result).toMatchObject({ status: 'error', error: expect.stringMatching(text) });
    expect(ran).toEqual([]);
  });

  test('validateArgs is not asked about arguments that do not fit the schema, and gets its context', async () => {
    const seen: unknown[] = [];
    const registry = createToolRegistry();
    registry.register(
      tool({
        ...good,
        inputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
        validateArgs: (args, { tool: name, callId, context, signal }) =>
          void seen.push([args, name, typeof callId, context, signal instanceof AbortSignal]),
      }),
    );
    await registry.execute('look', {}, { context: 5 });
    expect(seen).toEqual([]);
    await registry.execute('look', { n: 1 }, { context: 5 });
    expect(seen).toEqual([[{ n: 1 }, 'look', 'string', 5, true]]);
  });
});

describe('coercion of arguments', () => {
  const properties = {
    int: { type: 'integer' },
    num: { type: 'number' },
    text: { type: 'string' },
    flag: { type: 'boolean' },
    list: { type: 'array', items: { type: 'integer' } },
    object: { type: 'object', properties: { a: { type: 'integer' } } },
    nullable: { type: ['string', 'null'] },
    defaulted: { type: 'integer', default: 7 },
  };
  const registry = createToolRegistry();
  registry.register(tool({ ...good, inputSchema: { type: 'object', properties }, execute: (args) => args }));

  test.each([
    [{ int: '42' }, { int: 42 }],
    [{ int: '120.0' }, { int: 120 }],
    [{ num: '1.5' }, { num: 1.5 }],
    [{ text: 5 }, { text: '5' }],
    [{ list: '[1, 2]' }, { list: [1, 2] }],
    [{ object: '{"a": "3"}' }, { object: { a: 3 } }],
    [{ text: '{"a": 3}' }, { text: '{"a": 3}' }],
    [{ text: null }, {}],
    [{ nullable: null }, { nullable: null }],
  ])('%j becomes %j', async (given, used) => {
    expect(await registry.execute('look', given)).toEqual({ status: 'success', data: { defaulted: 7, ...used } });
  });

  test.each([
    [{ num: true }],
    [{ int: 1.5 }],
    [{ int: '1.5' }],
    [{ list: [1, 'x'] }],
    [{ flag: 'maybe' }],
    [{ int: '' }],
  ])('%j is refused', async (given) => {
    expect(await registry.execute('look', given)).toMatchObject({ status: 'error', code: 'deserialization' });
  });
});

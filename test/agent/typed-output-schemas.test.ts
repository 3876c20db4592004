import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { OutputSchema } from '../../src/agent/options/output-options.ts';
import { type Json, type JsonSchema, isJsonObject } from '../../src/json/json.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, envelope } from '../support/replies.ts';

const look = () => fakeTool('look', [(args) => args]);

async function outputOf(
  outputSchema: OutputSchema,
  reply: ScriptedReply,
  options: AgentOptions<unknown, OutputSchema> = {},
) {
  const agent = createAgent({ model: scriptedModel([reply]), outputSchema, silent: true, maxSteps: 1, ...options });
  return agent.run('Go');
}

const TREE = z.object({
  name: z.string(),
  get below() {
    return z.array(TREE);
  },
});

type Leaf = { kind: 'leaf'; size: number };
type Node = { kind: 'node'; below: (Leaf | Node)[] };
const NODE: z.ZodType<Leaf | Node> = z.lazy(() =>
  z.union([
    z.object({ kind: z.literal('leaf'), size: z.number() }),
    z.object({ kind: z.literal('node'), below: z.array(NODE) }),
  ]),
);

const SCHEMAS: readonly (readonly [string, OutputSchema, Json])[] = [
  ['an object', z.object({ name: z.string(), size: z.number() }), { name: 'cup', size: 3 }],
  ['a number', z.number(), 42],
  ['a text', z.string(), 'tea'],
  ['a boolean', z.boolean(), false],
  ['null or a number', z.number().nullable(), null],
  ['an enum', z.enum(['red', 'green']), 'green'],
  ['a list of texts', z.array(z.string()), ['a', 'b']],
  ['an empty list', z.array(z.object({ a: z.int() })), []],
  ['a list of objects', z.array(z.object({ a: z.int() })), [{ a: 1 }, { a: 2 }]],
  ['a tuple', z.tuple([z.string(), z.int()]), ['a', 1]],
  ['a map', z.record(z.string(), z.int()), { a: 1, b: 2 }],
  ['null or an object', z.object({ a: z.int() }).nullable(), null],
  ['a union of an object and a text', z.union([z.object({ a: z.int() }), z.string()]), { a: 1 }],
  ['a union of objects', z.union([z.object({ a: z.int() }), z.object({ b: z.string() })]), { b: 'x' }],
  ['a recursive object', TREE, { name: 'a', below: [{ name: 'b', below: [] }] }],
  ['a recursive union', NODE, { kind: 'node', below: [{ kind: 'node', below: [{ kind: 'leaf', size: 1 }] }] }],
  ['a list of a recursive object', z.array(TREE), [{ name: 'a', below: [{ name: 'b', below: [] }] }]],
  [
    'members named answer and thought',
    z.object({ answer: z.string(), thought: z.string() }),
    { answer: 'x', thought: 'y' },
  ],
  ['a member named answer alone', z.object({ answer: z.int() }), { answer: 4 }],
  ['a member named tool', z.object({ tool: z.string(), price: z.number() }), { tool: 'hammer', price: 3 }],
  [
    'members named as those of a call',
    z.object({ name: z.string(), arguments: z.object({ pro: z.string() }) }),
    { name: 'debate', arguments: { pro: 'yes' } },
  ],
  [
    'members named as those of a call in the envelope',
    z.object({ tool: z.string(), tool_args: z.object({ n: z.int() }) }),
    { tool: 'hammer', tool_args: { n: 1 } },
  ],
  [
    'a member named plan',
    z.object({ plan: z.array(z.object({ tool: z.string(), why: z.string() })) }),
    { plan: [{ tool: 'saw', why: 'wood' }] },
  ],
  ['a member named value', z.object({ value: z.int() }), { value: 1 }],
  ['a list of objects with a member named value', z.array(z.object({ value: z.int() })), [{ value: 1 }]],
  ['an open object', { type: 'object' }, { value: { a: 1 } }],
  [
    'a union of open objects',
    z.union([z.looseObject({ a: z.int().optional() }), z.looseObject({ b: z.int() })]),
    { a: 1 },
  ],
  [
    'definitions of a plain JSON Schema',
    {
      type: 'array',
      items: { $ref: '#/definitions/row' },
      definitions: { row: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } },
    },
    [{ n: 1 }],
  ],
];

function fits(schema: OutputSchema, value: unknown): boolean {
  return schema instanceof z.ZodType ? schema.safeParse(value).success : true;
}

describe.each(SCHEMAS)('%s', (_, schema, value) => {
  /** True for what Signalbox puts around a value that is no object. */
  const isWrapped = (asked: JsonSchema | undefined) =>
    isJsonObject(asked) && JSON.stringify(asked.required) === '["value"]' && !('value' in Object(value));

  test('comes as text', async () => {
    expect(await outputOf(schema, JSON.stringify(value))).toMatchObject({ success: true, output: value });
  });

  test('comes as text beside tools', async () => {
    expect(await outputOf(schema, JSON.stringify(value), { tools: [look()] })).toMatchObject({ output: value });
  });

  test('comes by the form that the server is asked to hold it to', async () => {
    const reply: ScriptedReply = ({ responseSchema }) => JSON.stringify(isWrapped(responseSchema) ? { value } : value);
    expect((await outputOf(schema, reply)).output).toEqual(value);
  });

  test('comes by a tool', async () => {
    const reply: ScriptedReply = ({ tools = [] }) => {
      const own = tools.filter(({ name }) => name.startsWith('final_answer'));
      const offered = own.at('a' in Object(value) ? 0 : -1);
      return calls([offered?.name ?? '', isWrapped(offered?.inputSchema) ? { value } : Object(value)]);
    };
    const result = await outputOf(schema, reply, { tools: [look()] });
    expect(result).toMatchObject({ errorHistory: [], toolsUsed: [] });
    expect(result.output).toEqual(value);
  });

  test('comes in the envelope', async () => {
    const options = { toolCalling: 'json', tools: [look()] } as const;
    expect(await outputOf(schema, envelope({ thought: 'so', answer: value }), options)).toMatchObject({
      output: value,
    });
    const inText = envelope({ thought: 'so', answer: JSON.stringify(value) });
    expect((await outputOf(schema, inText, options)).output).toEqual(value);
  });

  test('comes in an envelope that nobody asked for', async () => {
    const text = envelope({ thought: 'so', answer: value });
    const { success, output } = await outputOf(schema, text);
    // A text takes the whole, and so does an object that may have any members.
    const takesAll = fits(schema, text) || fits(schema, JSON.parse(text));
    expect(takesAll ? success : output).toEqual(takesAll ? true : value);
  });

  test('what does not fit is not accepted', async () => {
    const wrong = calls(['final_answer', { elsewhere: [[]] }], ['final_answer_2', { elsewhere: [[]] }]);
    const { success, output } = await outputOf(schema, wrong, { tools: [look()] });
    expect(success ? fits(schema, output) : output === null).toBe(true);
  });
});

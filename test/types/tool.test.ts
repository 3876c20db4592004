import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  type ArgsOf,
  type ExecuteContext,
  type InputOf,
  type Json,
  type JsonObject,
  type StandardSchema,
  type Tool,
  type ToolResult,
  type ValidateContext,
  createToolRegistry,
  tool,
} from '../../src/index.ts';

const named = { name: 'look', description: 'Looks.' };

describe('the types of tool()', () => {
  test('arguments follow from zod: what comes out of the schema', () => {
    const inputSchema = z.object({
      city: z.string(),
      days: z.int().default(3),
      unit: z.enum(['c', 'f']).optional(),
      when: z.string().transform((text) => text.length),
      tags: z.array(z.object({ id: z.number() })),
    });
    interface Args {
      city: string;
      days: number;
      unit?: 'c' | 'f' | undefined;
      when: number;
      tags: { id: number }[];
    }
    const made = tool({
      ...named,
      inputSchema,
      validateArgs: (args, context) => {
        expectTypeOf(args).toEqualTypeOf<Args>();
        expectTypeOf(context).toEqualTypeOf<ValidateContext>();
        return args;
      },
      execute: (args, context) => {
        expectTypeOf(args).toEqualTypeOf<Args>();
        expectTypeOf(context).toEqualTypeOf<ExecuteContext>();
        // @ts-expect-error -- there is no such argument
        return args.country;
      },
    });
    expectTypeOf(made).toExtend<Tool>();
    expectTypeOf<InputOf<typeof inputSchema>>().toEqualTypeOf<Args>();
  });

  test('arguments are as they are recorded: JSON', () => {
    const inputSchema = z.object({
      at: z.string().transform((text) => new Date(text)),
      sites: z.array(z.object({ url: z.string().transform((text) => new URL(text)) })).optional(),
      pair: z.tuple([z.string(), z.number()]),
      id: z.string().brand('id'),
      unknown: z.unknown(),
    });
    interface Args {
      at: string;
      sites?: { url: string }[] | undefined;
      pair: [string, number];
      id: string & z.core.$brand<'id'>;
      unknown: unknown;
    }
    const made = tool({
      ...named,
      inputSchema,
      validateArgs: ({ at, sites }) => [at.getTime(), sites?.[0]?.url.hostname],
      execute: (args) => {
        expectTypeOf(args).toEqualTypeOf<Args>();
      },
    });
    expectTypeOf(made).toExtend<Tool>();
    expectTypeOf<ArgsOf<typeof inputSchema>>().toEqualTypeOf<Args>();
    expectTypeOf<ArgsOf<{ type: 'object' }>>().toEqualTypeOf<JsonObject>();
  });

  test('arguments follow from any Standard Schema', () => {
    const inputSchema: StandardSchema<{ n: string }, { n: number }> = {
      '~standard': { version: 1, vendor: 'plain', validate: () => ({ value: { n: 1 } }) },
    };
    tool({
      ...named,
      inputSchema,
      jsonSchema: { type: 'object' },
      execute: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ n: number }>();
        expectTypeOf(args).not.toBeAny();
      },
    });
  });

  test('arguments of a JSON Schema, or of none, are a JSON object', () => {
    tool({
      ...named,
      inputSchema: { type: 'object' },
      execute: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>(),
    });
    tool({ ...named, execute: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>() });
  });

  test('what the contract does not allow does not compile', () => {
    // @ts-expect-error -- no such policy
    expect(() => tool({ ...named, policy: 'maybe', execute: () => 1 })).toThrow();
    // @ts-expect-error -- no such effects
    expect(() => tool({ ...named, effects: 'twice', execute: () => 1 })).toThrow();
    // @ts-expect-error -- no execute
    expect(() => tool({ ...named })).toThrow();
    // @ts-expect-error -- a misspelt member
    expect(() => tool({ ...named, execute: () => 1, polcy: 'deny' })).toThrow(/'policy'/);
  });

  test('a registry gives tool results', async () => {
    const registry = createToolRegistry();
    expectTypeOf(registry.size).toBeNumber();
    expectTypeOf(registry.find('x')).toEqualTypeOf<Tool | undefined>();
    const result = await registry.execute('x');
    expectTypeOf(result).toEqualTypeOf<ToolResult>();
    expectTypeOf(result.status).toEqualTypeOf<'success' | 'error' | 'partial'>();
    expectTypeOf(result.data).toEqualTypeOf<Json | undefined>();
  });
});

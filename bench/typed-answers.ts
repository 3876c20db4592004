/**
 * Compares typed answers with the AI SDK's `output` on the same broken replies, without a second turn: how many values are
 * right, wrong and refused. `--replies <folder>` takes half of them from rows of JSON lines, `{ input, expected }`.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { Output, generateText } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import { createAgent } from '../src/agent/create-agent.ts';
import { type Json, type JsonObject, isJsonObject } from '../src/json/json.ts';
import { SYNTAX_DAMAGE, WRAPPINGS } from '../test/parsing/damage-models.ts';

const COUNT = 500;
/** Replies that hold no whole value: words, and what a length limit cut off. */
const WITHOUT = 60;

interface Reply {
  readonly kind: string;
  readonly schema: z.ZodType;
  readonly text: string;
  readonly finishReason: 'stop' | 'length';
  /** The value that is meant; undefined where a value may not be made of it. */
  readonly value: JsonObject | undefined;
}

type Random = (below: number) => number;

function seeded(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const WORDS = 'amber birch cedar delta ember fjord grove heath inlet jetty knoll lagoon'.split(' ');

interface Kind {
  readonly schema: z.ZodType;
  readonly make: (random: Random) => JsonObject;
}

const Tree: z.ZodType = z.object({
  name: z.string(),
  get below() {
    return z.array(Tree);
  },
});

/** What applications ask for: flat and nested objects, lists, enums, unions, optional members, a tree. */
const KINDS: readonly Kind[] = [
  {
    schema: z.object({ name: z.string(), mail: z.string(), age: z.int() }),
    make: (random) => ({ name: text(random), mail: `${word(random)}@example.org`, age: 20 + random(60) }),
  },
  {
    schema: z.object({
      customer: z.string(),
      lines: z.array(z.object({ article: z.string(), count: z.int(), euros: z.number() })),
      paid: z.boolean(),
    }),
    make: (random) => ({ customer: text(random), lines: list(random, line), paid: random(2) === 0 }),
  },
  {
    schema: z.object({ sentiment: z.enum(['good', 'bad', 'mixed']), score: z.number(), reasons: z.array(z.string()) }),
    make: (random) => ({
      sentiment: pick(random, ['good', 'bad', 'mixed']),
      score: random(100) / 10,
      reasons: list(random, text),
    }),
  },
  {
    schema: z.object({ city: z.string(), days: z.array(z.object({ low: z.int(), high: z.int(), rain: z.boolean() })) }),
    make: (random) => ({
      city: text(random),
      days: list(random, (r) => ({ low: r(10), high: 10 + r(20), rain: r(2) === 0 })),
    }),
  },
  {
    schema: z.object({
      shape: z.discriminatedUnion('type', [
        z.object({ type: z.literal('circle'), radius: z.number() }),
        z.object({ type: z.literal('box'), width: z.number(), height: z.number() }),
      ]),
      label: z.string().optional(),
    }),
    make: (random) => ({
      shape:
        random(2) === 0 ? { type: 'circle', radius: 1 + random(9) } : { type: 'box', width: 1 + random(9), height: 2 },
      ...(random(2) === 0 ? {} : { label: text(random) }),
    }),
  },
  {
    schema: z.object({
      title: z.string(),
      due: z.string().nullable(),
      priority: z.enum(['low', 'high']),
      done: z.boolean(),
    }),
    make: (random) => ({
      title: text(random),
      due: random(2) === 0 ? null : `2026-0${1 + random(9)}-11`,
      priority: pick(random, ['low', 'high']),
      done: random(2) === 0,
    }),
  },
  { schema: Tree, make: (random) => tree(random, 3) },
  {
    schema: z.object({ servers: z.record(z.string(), z.object({ port: z.int(), on: z.boolean() })) }),
    make: (random) => ({
      servers: Object.fromEntries(
        WORDS.slice(0, 1 + random(3)).map((name) => [name, { port: 1 + random(9000), on: random(2) === 0 }]),
      ),
    }),
  },
];

function word(random: Random): string {
  return WORDS[random(WORDS.length)] ?? '';
}

function text(random: Random): string {
  return `${word(random)} ${word(random)}`;
}

function pick(random: Random, choices: readonly string[]): string {
  return choices[random(choices.length)] ?? '';
}

function list<T>(random: Random, make: (random: Random) => T): T[] {
  return Array.from({ length: 2 + random(3) }, () => make(random));
}

function line(random: Random): JsonObject {
  return { article: text(random), count: 1 + random(9), euros: random(1000) / 10 };
}

function tree(random: Random, depth: number): JsonObject {
  const below = depth === 0 ? [] : Array.from({ length: random(3) }, () => tree(random, depth - 1));
  return { name: word(random), below };
}

/** Values of other types than were asked for, as models write them. */
const TYPE_DAMAGE: readonly { readonly name: string; readonly damage: (value: JsonObject) => string }[] = [
  {
    name: 'numbers as texts',
    damage: (value) => JSON.stringify(value, (_, one: Json) => (typeof one === 'number' ? String(one) : one)),
  },
  {
    name: 'booleans as texts',
    damage: (value) => JSON.stringify(value, (_, one: Json) => (typeof one === 'boolean' ? String(one) : one)),
  },
  { name: 'a member too many', damage: (value) => JSON.stringify({ ...value, note: 'as you asked' }) },
  {
    name: 'inner JSON as text',
    damage: (value) =>
      JSON.stringify(mapMembers(value, (one) => (typeof one === 'object' && one !== null ? JSON.stringify(one) : one))),
  },
  {
    name: 'null for what was left out',
    damage: (value) => JSON.stringify('shape' in value ? { label: null, ...value } : value),
  },
  { name: 'an envelope around it', damage: (value) => JSON.stringify({ thought: 'I know it.', answer: value }) },
];

function mapMembers(value: JsonObject, change: (one: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one)]));
}

const PROSE = [
  'I could not find it.',
  'It is as you expected.',
  'Done! Anything else?',
  'I would need more details to answer that.',
];

/** A reply that is damaged in one or two of the ways in which models damage theirs. */
function generated(index: number, random: Random): Reply {
  const { schema, make } = KINDS[index % KINDS.length] ?? { schema: Tree, make: () => ({}) };
  const value = make(random);
  const wrapping = WRAPPINGS[random(WRAPPINGS.length)];
  const wrap = random(2) === 0 ? wrapping : WRAPPINGS[0];
  const isTyped = random(4) === 0;
  const damages = isTyped ? TYPE_DAMAGE : SYNTAX_DAMAGE;
  const damage = damages[random(damages.length)];
  const damaged = random(8) === 0 ? JSON.stringify(value) : (damage?.damage(value) ?? '');
  const kind = isTyped ? 'types' : wrap === WRAPPINGS[0] ? 'syntax' : 'syntax and wrapping';
  return { kind, schema, text: wrap?.wrap(damaged) ?? damaged, finishReason: 'stop', value };
}

/** A reply of which no value may be made. */
function without(index: number, random: Random): Reply {
  const { schema, make } = KINDS[index % KINDS.length] ?? { schema: Tree, make: () => ({}) };
  if (index % 2 === 0)
    return {
      kind: 'no value',
      schema,
      text: PROSE[random(PROSE.length)] ?? '',
      finishReason: 'stop',
      value: undefined,
    };
  const whole = JSON.stringify(make(random));
  return {
    kind: 'cut off',
    schema,
    text: whole.slice(0, 1 + random(whole.length - 1)),
    finishReason: 'length',
    value: undefined,
  };
}

/** Real replies whose value is known; the schema is that of the value. */
function real(folder: string, count: number, random: Random): readonly Reply[] {
  const rows = readdirSync(folder)
    .filter((name) => /^real_.*\.jsonl$/.test(name))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
    .map((row): Json => JSON.parse(row))
    .filter(isJsonObject)
    .filter(
      ({ expected, input }) => isJsonObject(expected) && Object.keys(expected).length > 0 && typeof input === 'string',
    );
  return Array.from({ length: Math.min(count, rows.length) }, (_, index): Reply => {
    const [row = {}] = rows.splice(random(rows.length), 1);
    const value = isJsonObject(row.expected) ? row.expected : {};
    const wrap = index % 2 === 0 ? WRAPPINGS[0] : WRAPPINGS[random(WRAPPINGS.length)];
    const input = typeof row.input === 'string' ? row.input : '';
    return { kind: 'real', schema: schemaOf(value), text: wrap?.wrap(input) ?? input, finishReason: 'stop', value };
  });
}

function schemaOf(value: Json): z.ZodType {
  if (Array.isArray(value)) return z.array(value.length === 0 ? z.unknown() : z.union(value.map(schemaOf)));
  if (isJsonObject(value))
    return z.object(Object.fromEntries(Object.entries(value).map(([name, one]) => [name, schemaOf(one)])));
  if (typeof value === 'number') return z.number();
  if (typeof value === 'boolean') return z.boolean();
  return value === null ? z.null() : z.string();
}

/** Gives the value, or undefined where it was refused. */
type Reader = (reply: Reply) => Promise<unknown>;

const signalbox: Reader = async ({ schema, text: content, finishReason }) => {
  const model = { complete: () => Promise.resolve({ content, finishReason }) };
  const { success, output } = await createAgent({ model, silent: true, maxSteps: 1, outputSchema: schema }).run(
    'Answer.',
  );
  return success ? output : undefined;
};

const aiSdk: Reader = async ({ schema, text: content, finishReason }) => {
  const model = new MockLanguageModelV4({
    doGenerate: {
      content: [{ type: 'text', text: content }],
      finishReason: { unified: finishReason, raw: finishReason },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      warnings: [],
    },
  });
  try {
    return (await generateText({ model, prompt: 'Answer.', maxRetries: 0, output: Output.object({ schema }) })).output;
  } catch {
    return undefined;
  }
};

interface Tally {
  right: number;
  wrong: number;
  refused: number;
}

/** A refusal is right where no value may be made of the reply. */
async function judged(
  read: Reader,
  replies: readonly Reply[],
  onWrong: (reply: Reply, found: unknown) => void,
): Promise<Map<string, Tally>> {
  const tallies = new Map<string, Tally>();
  for (const reply of replies) {
    // One after the other, as an application does.
    const found = await read(reply);
    const verdict = isDeepStrictEqual(found, reply.value) ? 'right' : found === undefined ? 'refused' : 'wrong';
    if (verdict !== 'right') onWrong(reply, found);
    for (const kind of [reply.kind, 'all']) {
      const tally = tallies.get(kind) ?? { right: 0, wrong: 0, refused: 0 };
      tally[verdict] += 1;
      tallies.set(kind, tally);
    }
  }
  return tallies;
}

const { values } = parseArgs({
  options: { replies: { type: 'string' }, seed: { type: 'string' }, show: { type: 'boolean' } },
});
const random = seeded(Number(values.seed ?? 1));
const taken = values.replies === undefined ? [] : real(values.replies, COUNT / 2, random);
const rest = Array.from({ length: COUNT - WITHOUT - taken.length }, (_, index) => generated(index, random));
const replies = [...taken, ...rest, ...Array.from({ length: WITHOUT }, (_, index) => without(index, random))];

for (const [name, read] of [
  ['Signalbox', signalbox],
  ['Vercel AI SDK', aiSdk],
] as const) {
  const tallies = await judged(read, replies, (reply, found) => {
    if (values.show === true && name === 'Signalbox')
      console.log(JSON.stringify({ ...reply, schema: undefined, found }));
  });
  for (const [kind, { right, wrong, refused }] of tallies) {
    const count = right + wrong + refused;
    const share = (part: number): string => `${((100 * part) / count).toFixed(1)} %`;
    console.log(`| ${name} | ${kind} (${count}) | ${share(right)} | ${share(wrong)} | ${share(refused)} |`);
  }
}

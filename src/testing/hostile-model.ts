import { type Model, type ModelIo, type ModelReply, type ModelRequest, ModelError } from '../actors/model.ts';
import { optionsOf, wrongOption } from '../json/known-options.ts';
import { MANY_RUNS, type ManyRuns, type ScriptedReply, begunAnew, scriptedReply } from './scripted-model.ts';
import {
  JSON_MISTAKES,
  OUTPUT_MISTAKES,
  type Mistake,
  garbling,
  losing,
  TEXT_MISTAKES,
  type Random,
  seeded,
} from './hostile/mistakes.ts';
import { replyOf, saidOf, inCalls } from './hostile/said.ts';
import { type Json, type JsonObject, type JsonSchema, isJsonObject } from '../json/json.ts';
import { toolsInPrompt } from './tools-in-prompt.ts';

/** Mistakes in what is called, and in the whole turn. */
const TURN_MISTAKES = {
  'wrong-name': losing(({ said, random }) =>
    inCalls(said, ({ name, args }) => ({
      name: random.pick([`${name}_now`, name.slice(1), 'search_the_web', `functions.${name}`, name.toUpperCase(), '']),
      args,
    })),
  ),

  'repeated-reply': losing(({ before, request }) => (before === null ? null : saidOf(before, request))),

  'doubled-call': garbling(({ said }) =>
    said.calls.length === 0 ? null : { ...said, calls: said.calls.flatMap((call) => [call, call]) },
  ),

  'same-ids': garbling(({ said }) =>
    said.calls.length === 0 ? null : { ...said, calls: said.calls.map((call) => ({ ...call, id: 'call_0' })) },
  ),

  'bad-plan': losing(({ said, random, request }) => {
    const plan = random.pick(['[]', '[{}]', '"first this, then that"', '[{"tool_args": {}}]', '[null, 3]']);
    return request.toolCalling === 'native' && (request.tools ?? []).length > 0
      ? { ...said, content: '', calls: [{ name: 'make_plan', args: `{"plan": ${plan}}` }] }
      : { ...said, calls: [], content: `{"thought": "I plan.", "plan": ${plan}}` };
  }),

  'server-error': losing(({ random }) =>
    random.pick([
      new ModelError('server-error', 'the server failed (hostile)', { status: 500 }),
      new ModelError('rate-limited', 'too many requests (hostile)', { status: 429, retryAfterMs: 1 }),
      new ModelError('connect-failed', 'the server hung up (hostile)'),
      new ModelError('bad-response', 'the reply was no reply (hostile)'),
    ]),
  ),

  'unreadable-call': losing(({ said, random }) => {
    const args = said.calls[0]?.args ?? said.content;
    const text = args.slice(0, random.below(args.length + 1));
    return new ModelError('malformed-tool-call', 'could not parse the tool call (hostile)', { data: { text } });
  }),

  'no-native-tools': losing(({ request }) =>
    request.toolCalling === 'native' ? new ModelError('no-native-tools', 'this model takes no tools (hostile)') : null,
  ),
} as const;

const MISTAKES = { ...JSON_MISTAKES, ...TEXT_MISTAKES, ...OUTPUT_MISTAKES, ...TURN_MISTAKES } as const;

/** The names of the mistakes that a hostile model can make. */
export type MistakeName = keyof typeof MISTAKES;

/** The replies of a hostile model, and its mistakes. */
export interface HostileModelOptions {
  /** The same seed makes the same mistakes. Default 1; in a simulation it is the seed of each run. */
  readonly seed?: number | undefined;
  /** The intended replies, one per request; the last is repeated. One lost to a mistake is sent again at the next request. */
  readonly replies?: readonly ScriptedReply[] | undefined;
  /** Or a model that gives them. With neither it calls random offered tools. */
  readonly model?: Model | undefined;
  /** Only these. Default: all of them. */
  readonly mistakes?: readonly MistakeName[] | undefined;
  /** The share of requests that go wrong, from 0 to 1. Default 0.5. */
  readonly rate?: number | undefined;
  readonly toolCalling?: 'native' | 'json' | undefined;
}

const checkOptions = optionsOf<HostileModelOptions>('hostileModel', 'docs/testing.md', {
  seed: true,
  replies: true,
  model: true,
  mistakes: true,
  rate: true,
  toolCalling: true,
});

/** A mistake that was made, at a request counted from 1. */
export interface MistakeMade {
  readonly request: number;
  readonly mistake: MistakeName;
}

/** A model that makes mistakes, and keeps which. */
export interface HostileModel extends Model {
  readonly requests: readonly ModelRequest[];
  readonly mistakesMade: readonly MistakeMade[];
}

/**
 * A model for tests that makes the mistakes of small local models: broken and cut JSON, fences and prose, dialects, wrong
 * names and types, empty and repeated replies, calls in two places at once, failing servers. The same seed makes the same
 * run. Throws a `TypeError` for an unknown mistake.
 *
 * @example
 * const model = hostileModel({ seed: 7, replies: [{ content: '', toolCalls: [{ name: 'look' }] }, 'Done.'] });
 * const result = await createAgent({ model, tools: [look], silent: true }).run('Look around');
 */
export function hostileModel(options: HostileModelOptions = {}): HostileModel {
  checkOptions(options);
  return hostile(options);
}

function hostile(options: HostileModelOptions): HostileModel & ManyRuns {
  const { seed = 1, replies, model, rate = 0.5, toolCalling = model?.toolCalling } = options;
  const names = checkedNames(options.mistakes);
  if (!(rate >= 0 && rate <= 1))
    throw wrongOption(`hostileModel: option 'rate' must be a number from 0 to 1, and is ${rate}.`);
  const requests: ModelRequest[] = [];
  const mistakesMade: MistakeMade[] = [];
  let position = 0;
  let before: ModelReply | null = null;

  const meant = async (request: ModelRequest, io: ModelIo, random: Random): Promise<ModelReply> => {
    if (model !== undefined) return model.complete(request, { ...io, onToken: () => undefined });
    const reply = replies?.[Math.min(position, replies.length - 1)];
    return reply === undefined ? inventReply(request, random) : scriptedReply(reply, request);
  };

  return {
    id: `hostile:${seed}`,
    ...(toolCalling === undefined ? {} : { toolCalling }),
    requests,
    mistakesMade,
    [MANY_RUNS]: {
      replies: replies?.length ?? null,
      begin: (run) =>
        hostile({ ...options, seed: run, ...(model === undefined ? {} : { model: begunAnew(model, run) }) }),
    },
    complete: async (request, io) => {
      io.signal.throwIfAborted();
      const number = requests.push(request);
      const random = seeded(seed * 7919 + number);
      const said = saidOf(await meant(request, io, random), request);
      const spoilt = random.chance(rate)
        ? spoil(names ?? allMistakes(request), { said, request, before, random })
        : null;
      if (spoilt !== null) mistakesMade.push({ request: number, mistake: spoilt.name });
      if (spoilt === null || MISTAKES[spoilt.name].keepsMeaning) position += 1;
      if (spoilt?.made instanceof Error) throw spoilt.made;
      const reply = replyOf(spoilt?.made ?? said);
      before = reply;
      if (request.stream)
        for (const text of reply.content.match(/\S+\s*|\s+/g) ?? []) io.onToken?.({ kind: 'text', text });
      return reply;
    },
  };
}

/** The first mistake that can be made here, starting from a random one. */
function spoil(
  names: readonly MistakeName[],
  making: Parameters<Mistake['make']>[0],
): { readonly name: MistakeName; readonly made: NonNullable<ReturnType<Mistake['make']>> } | null {
  const start = making.random.below(names.length);
  for (const name of [...names.slice(start), ...names.slice(0, start)]) {
    const made = MISTAKES[name].make(making);
    if (made !== null) return { name, made };
  }
  return null;
}

/** All possible mistakes: those in typed answers only if one is requested. */
function allMistakes({ tools = [] }: ModelRequest): readonly MistakeName[] {
  return tools.some(({ name }) => name.startsWith('final_answer')) ? ALL : OTHERS;
}

const ALL: readonly MistakeName[] = Object.keys(MISTAKES).filter(isMistake);

const OTHERS = ALL.filter((name) => !Object.hasOwn(OUTPUT_MISTAKES, name));

function checkedNames(names: readonly string[] | undefined): readonly MistakeName[] | undefined {
  const unknown = names?.find((name) => !isMistake(name));
  if (unknown !== undefined)
    throw wrongOption(`hostileModel: there is no mistake '${unknown}'. There are: ${ALL.join(', ')}.`);
  return names?.filter(isMistake);
}

function isMistake(name: string): name is MistakeName {
  return Object.hasOwn(MISTAKES, name);
}

/** A random reply: any of the offered tools with any arguments that fit, a plan, or an answer. */
function inventReply(request: ModelRequest, random: Random): ModelReply {
  const tools = toolsOf(request);
  const [first, ...others] = tools;
  if (first === undefined || random.chance(0.25)) return { content: 'That is all that I found out.' };
  const call = (): { readonly name: string; readonly arguments: JsonObject } => {
    const { name, schema } = random.pick([first, ...others]);
    return { name, arguments: objectFor(schema, random) };
  };
  if (random.chance(0.2)) {
    const steps = Array.from({ length: 1 + random.below(3) }, call);
    const plan = steps.map(({ name, arguments: args }) => ({ tool: name, tool_args: args }));
    return { content: '', toolCalls: [{ name: 'make_plan', arguments: { plan } }] };
  }
  return { content: '', toolCalls: Array.from({ length: 1 + random.below(2) }, call) };
}

function toolsOf({ tools, messages }: ModelRequest): readonly { readonly name: string; readonly schema: JsonSchema }[] {
  const system = messages[0]?.content;
  const known =
    tools?.map(({ name, inputSchema }) => ({ name, schema: inputSchema })) ??
    (typeof system === 'string' ? toolsInPrompt(system) : []);
  return known.filter(({ name }) => name !== 'make_plan');
}

function objectFor(schema: Json, random: Random): JsonObject {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties)) return {};
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  return Object.fromEntries(
    Object.entries(schema.properties).flatMap(([key, member]) =>
      required.includes(key) || random.chance(0.5) ? [[key, valueFor(member, random)]] : [],
    ),
  );
}

function valueFor(schema: Json, random: Random): Json {
  if (!isJsonObject(schema)) return 'anything';
  const choices: readonly Json[] = Array.isArray(schema.enum) ? schema.enum : [];
  const [choice, ...others] = choices;
  if (choice !== undefined) return random.pick([choice, ...others]);
  switch (schema.type) {
    case 'integer':
      return random.below(100);
    case 'number':
      return random.below(1000) / 10;
    case 'boolean':
      return random.chance(0.5);
    case 'array':
      return Array.from({ length: random.below(3) }, () => valueFor(schema.items ?? null, random));
    case 'object':
      return objectFor(schema, random);
    default:
      return random.pick(['Austin', 'a "quoted" word', 'C:\\temp', '', 'naïve ☕', 'two\nlines']);
  }
}

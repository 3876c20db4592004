import type { ModelReply, ModelRequest } from '../../actors/model.ts';
import { type Json, type JsonObject, type JsonSchema, isJsonObject } from '../../json/json.ts';
import { toolsInPrompt } from '../practice/tools-in-prompt.ts';
import type { Random } from './random.ts';

interface KnownTool {
  readonly name: string;
  readonly schema: JsonSchema;
}

/** A reply of a model that has no idea: any of the tools on offer with any arguments that fit, a plan, or an answer. */
export function inventReply(request: ModelRequest, random: Random): ModelReply {
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

function toolsOf({ tools, messages }: ModelRequest): readonly KnownTool[] {
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

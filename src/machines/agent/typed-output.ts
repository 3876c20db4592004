/**
 * Owns: answers that have a schema: how the model is asked for them, and what it receives about those that do not fit. Does
 * not own: how they are read out of replies (`read-answer.ts`), when all this happens (`agent.ts`), or the check by code.
 */
import type { ModelTool, ToolCalling } from '../../actors/model.ts';
import type { Issue } from '../../json/errors.ts';
import { deepFreeze, type Json, type JsonObject, type JsonSchema, isJsonObject } from '../../json/json.ts';
import type { Repair } from '../../parsing/repair/repairs.ts';
import { toolSlug } from '../../tools/lookup.ts';
import type { OutputSpec } from '../contract/agent-setup.ts';
import type { CallRequest } from '../tool-call/call-request.ts';

/** An answer in a reply, checked against the schema. */
export interface TypedAnswer {
  /** The call that brought it; null: the reply's text did. */
  readonly call: CallRequest | null;
  /** Coerced to the schema, where it fits. */
  readonly value: Json;
  /** What does not fit; empty: it does. */
  readonly issues: readonly Issue[];
  readonly repairs: readonly Repair[];
}

/** A tool with which the model gives its answer. */
export interface OutputTool {
  readonly tool: ModelTool;
  /** The answer stands under `value`, since arguments are an object and it is none. */
  readonly wraps: boolean;
}

/** How the model is asked for the answer, which follows from its schema and the tools. */
export interface ShownOutput {
  readonly spec: OutputSpec;
  /** Where calls are native: by a tool, held to the schema by the server, or as JSON in the text. */
  readonly way: 'tool' | 'native' | 'prompt';
  readonly tools: readonly OutputTool[];
}

/** The reserved name of the tool with which a model gives an answer that has a schema. */
export const FINAL_ANSWER = 'final_answer';

/** How the answer is asked for, beside tools of these names. */
export function shownOutput(spec: OutputSpec, names: readonly string[]): ShownOutput {
  const { mode, besideTools } = spec;
  const alone = names.length === 0;
  const native = mode === 'native' && (alone || besideTools);
  const way = mode === 'auto' ? (alone ? 'native' : 'tool') : mode === 'native' && !native ? 'prompt' : mode;
  return deepFreeze({ spec, way, tools: outputTools(spec.schema, new Set(names.map(plainName))) });
}

/** One tool for each member of a union of objects, else one. A name that is taken gets a number. */
function outputTools(schema: JsonSchema, taken: ReadonlySet<string>): readonly OutputTool[] {
  const members = unionOf(schema);
  if (members.length < 2) return [outputTool(schema, freeName(FINAL_ANSWER, taken))];
  const used = new Set(taken);
  return members.map((member, index) => {
    const title = typeof member.title === 'string' ? toolSlug(member.title) : '';
    const name = freeName(`${FINAL_ANSWER}_${title === '' ? index + 1 : title}`.slice(0, 60), used);
    used.add(plainName(name));
    return outputTool(member, name);
  });
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let count = 2; taken.has(plainName(free)); count++) free = `${name}_${count}`;
  return free;
}

/** A name without what models change in one: its case, and the signs between its words. */
function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** The output tool that a model calls by this name. */
export function outputToolNamed({ tools }: ShownOutput, name: string): OutputTool | undefined {
  return (
    tools.find(({ tool }) => tool.name === name) ?? tools.find(({ tool }) => plainName(tool.name) === plainName(name))
  );
}

function outputTool(schema: JsonSchema, name: string): OutputTool {
  const wraps = !isObjectSchema(schema);
  const said = isJsonObject(schema) && typeof schema.description === 'string' ? ` ${schema.description}` : '';
  const description = `Gives the final answer to the user and ends the task.${said}`;
  return { tool: { name, description, inputSchema: wraps ? wrapped(schema) : schema }, wraps };
}

/** True for the schema of an object. */
export function isObjectSchema(schema: JsonSchema): boolean {
  if (!isJsonObject(schema)) return false;
  return schema.type === 'object' || (schema.type === undefined && isJsonObject(schema.properties));
}

/** The members of a schema that is a union of objects, each with the definitions of the whole; none for any other. */
function unionOf(schema: JsonSchema): readonly JsonObject[] {
  if (!isJsonObject(schema)) return [];
  const { anyOf, oneOf, $defs, definitions, ...rest } = schema;
  const list = anyOf ?? oneOf;
  const plain = Object.keys(rest).every((key) => ['title', 'description', 'discriminator', '$schema'].includes(key));
  if (!Array.isArray(list) || !plain || refersToRoot(schema)) return [];
  const members = list.map((member: Json) => resolved(member, schema));
  const defs = { ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) };
  return members.every((member) => isJsonObject(member) && member.type === 'object')
    ? members.filter(isJsonObject).map((member) => ({ ...member, ...defs }))
    : [];
}

function resolved(member: Json, { $defs, definitions }: JsonObject): Json {
  const ref = isJsonObject(member) ? member.$ref : undefined;
  if (typeof ref !== 'string') return member;
  const [, where, name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const defs = where === 'definitions' ? definitions : $defs;
  return (isJsonObject(defs) ? defs[name] : undefined) ?? member;
}

/** An object with the schema's value under a name, for what only takes objects. Definitions stay where references look. */
export function wrapped(schema: JsonSchema, name = 'value', beside: JsonObject = {}): JsonObject {
  const { $defs, definitions, ...rest } = isJsonObject(schema) ? schema : { anyOf: [schema] };
  return {
    type: 'object',
    properties: { ...beside, [name]: moved(rest, name) },
    required: [name],
    additionalProperties: false,
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}

const TO_ROOT = /^#(?!\/(?:\$defs|definitions)\/)/;

/** True where a reference leads to the root of the schema, or to something in it that is not a definition. */
function refersToRoot(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.some(refersToRoot);
  if (!isJsonObject(schema)) return false;
  return Object.entries(schema).some(([key, member]) =>
    key === '$ref' && typeof member === 'string' ? TO_ROOT.test(member) : refersToRoot(member),
  );
}

/** The schema one level deeper: references to its own root and what is in it follow. */
function moved(schema: Json, name: string): Json {
  if (Array.isArray(schema)) return schema.map((one) => moved(one, name));
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, member]) => {
      const isOwn = key === '$ref' && typeof member === 'string' && TO_ROOT.test(member);
      return [key, isOwn ? `#/properties/${name}${member.slice(1)}` : moved(member, name)];
    }),
  );
}

/** The schema that a request asks the server to hold the reply to; null where it is asked for otherwise. */
export function responseSchemaOf({ spec, way }: ShownOutput): JsonObject | null {
  if (way !== 'native') return null;
  return isObjectSchema(spec.schema) && isJsonObject(spec.schema) ? spec.schema : wrapped(spec.schema);
}

/** What the system prompt says of the answer where calls are native. */
export function outputText({ spec, way, tools }: ShownOutput): string {
  const names = tools.map(({ tool }) => `'${tool.name}'`).join(' or ');
  if (way === 'tool') return `When you know the answer, call ${names} with it. Do not write it as text.`;
  return `Your answer must be one JSON value that fits this JSON Schema, and nothing else: no words around it.\n${JSON.stringify(spec.schema)}`;
}

/** What is wrong with an answer, a line for each place. */
export function problemText(issues: readonly Issue[]): string {
  const shown = issues
    .slice(0, MOST_ISSUES)
    .map(({ path, message }) => `- ${path === '' ? 'the answer' : path}: ${message}`);
  return [...shown, ...(issues.length > MOST_ISSUES ? [`- and ${issues.length - MOST_ISSUES} more`] : [])].join('\n');
}

const MOST_ISSUES = 10;

/** The message to a model whose answer does not fit, and how to send it again. */
export function outputCorrection(
  { tools, way, spec }: ShownOutput,
  given: TypedAnswer,
  toolCalling: ToolCalling,
): string {
  const byTool = given.call?.tool ?? (way === 'tool' && toolCalling === 'native' ? tools[0]?.tool.name : undefined);
  const again =
    byTool !== undefined
      ? `Call '${byTool}' with the whole answer.`
      : toolCalling === 'json'
        ? 'Send the whole answer again, as the value of "answer".'
        : 'Send the whole answer again, as JSON and nothing else.';
  const schema =
    given.call === null && byTool === undefined
      ? `\nThe JSON Schema of the answer: ${JSON.stringify(spec.schema)}`
      : '';
  return `Your answer was not accepted:\n${problemText(given.issues)}\n${again}${schema}`;
}

/** The message to a model whose run is about to end at a limit. */
export function lastTurnText({ tools, way }: ShownOutput, toolCalling: ToolCalling): string {
  const how =
    way === 'tool' && toolCalling === 'native'
      ? ` by calling ${tools.map(({ tool }) => `'${tool.name}'`).join(' or ')}`
      : '';
  return `This is your last turn, and no other tool can be called any more. Give the answer now${how}, with what you know.`;
}

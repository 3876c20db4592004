import { isList } from './depth.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';
import type { PlanStep, ToolCallRequest } from './reply.ts';
import { readPlan } from './plan.ts';
import { parseToolCallArguments } from './tool-call-arguments.ts';
import { isRegistered, type ToolNames } from './tool-names.ts';

/** What a JSON value says as a reply: the envelope's fields, or the tool calls that it spells. */
export interface Envelope {
  /** `envelope`: the agent's own format · `calls`: another way to write calls of registered tools. */
  readonly form: 'envelope' | 'calls';
  readonly thought: string;
  readonly goal: string;
  readonly answer?: string;
  readonly calls: readonly ToolCallRequest[];
  readonly plan?: readonly PlanStep[];
  readonly planError?: string;
}

/** Where the arguments of a call may stand, in order of preference. */
const ARGUMENT_KEYS = [
  'tool_args',
  'arguments',
  'args',
  'parameters',
  'action_input',
  'tool_input',
  'input',
  'tool_parameters',
];
const LIST_KEYS = ['tool_calls', '__tool_calls__', 'function_calls'];

/** Reads a value as a reply; undefined when it is neither the envelope nor calls of registered tools. */
export function readEnvelope(value: Json, tools: ToolNames | undefined, complete: boolean): Envelope | undefined {
  if (isList(value)) return readList(value, tools, complete);
  if (!isJsonObject(value)) return undefined;
  const calls = readCalls(value, tools, complete);
  const isEnvelope =
    typeof value['thought'] === 'string' || hasText(value['tool']) || 'answer' in value || 'plan' in value;
  if (!isEnvelope && calls.length === 0) return undefined;
  const answer = readAnswer(value['answer']);
  const { plan, planError } = readPlan(value['plan'], complete);
  return {
    form: isEnvelope ? 'envelope' : 'calls',
    thought: readText(value['thought']),
    goal: readText(value['goal']),
    calls,
    ...(answer === undefined ? {} : { answer }),
    ...(plan === undefined ? {} : { plan }),
    ...(planError === undefined ? {} : { planError }),
  };
}

/** A list is a reply when every item of it is one and none is an answer or a plan. */
function readList(items: readonly Json[], tools: ToolNames | undefined, complete: boolean): Envelope | undefined {
  const calls: ToolCallRequest[] = [];
  let thought = '';
  let envelopes = 0;
  for (let i = 0; i < items.length; i += 1) {
    const item = items[i] ?? null;
    const read = isJsonObject(item) ? readEnvelope(item, tools, complete || i < items.length - 1) : undefined;
    if (items.length === 1) return read;
    if (read === undefined || read.answer !== undefined || read.plan !== undefined || read.calls.length === 0)
      return undefined;
    if (read.form === 'envelope') envelopes += 1;
    thought = thought === '' ? read.thought : thought;
    calls.push(...read.calls);
  }
  return calls.length === 0 ? undefined : { form: envelopes > 0 ? 'envelope' : 'calls', thought, goal: '', calls };
}

function readCalls(value: JsonObject, tools: ToolNames | undefined, complete: boolean): readonly ToolCallRequest[] {
  for (const key of LIST_KEYS) {
    const list = value[key];
    if (!isList(list)) continue;
    return list.flatMap((item, i) => readForeignCall(item, tools, complete || i < list.length - 1));
  }
  const tool = value['tool'];
  if (typeof tool === 'string' && tool.trim() !== '') return [makeCall(tool.trim(), value, complete)];
  if (isJsonObject(tool)) return readForeignCall(tool, tools, complete);
  return readForeignCall(value, tools, complete);
}

/** `{name, arguments}`, `{function: {name, arguments}}`, `{tool_name, parameters}` and their like, registered names only. */
function readForeignCall(value: Json, tools: ToolNames | undefined, complete: boolean): readonly ToolCallRequest[] {
  if (!isJsonObject(value)) return [];
  if (typeof value['tool'] === 'string') return [makeCall(value['tool'], value, complete)];
  const inner = value['function'];
  const holder = isJsonObject(inner) ? inner : value;
  const name = firstText([holder['name'], holder['tool_name'], holder['function'], holder['action']]);
  if (name === undefined || !isRegistered(name, tools)) return [];
  if (argumentKey(holder) === undefined && Object.keys(holder).some((key) => !CALL_KEYS.has(key))) return [];
  const id = firstText([value['id'], value['tool_call_id']]);
  const call = makeCall(name, holder, complete);
  return [id === undefined ? call : { id, ...call }];
}

/** What may stand beside the name in a call without arguments. */
const CALL_KEYS = new Set([
  'name',
  'tool_name',
  'function',
  'action',
  'id',
  'type',
  'index',
  'tool_call_id',
  'description',
]);

function makeCall(name: string, holder: JsonObject, complete: boolean): ToolCallRequest {
  const key = argumentKey(holder);
  const raw = key === undefined ? {} : (holder[key] ?? {});
  if (typeof raw !== 'string') return { name, args: raw, complete };
  const read = parseToolCallArguments(raw);
  if (!read.ok) return { name, args: raw, complete, issues: [{ path: '', message: `arguments: ${read.reason}` }] };
  return { name, args: read.value, complete: complete && read.complete };
}

function argumentKey(holder: JsonObject): string | undefined {
  return ARGUMENT_KEYS.find((key) => Object.hasOwn(holder, key));
}

function firstText(values: readonly (Json | undefined)[]): string | undefined {
  for (const value of values) if (typeof value === 'string' && value.trim() !== '') return value.trim();
  return undefined;
}

function hasText(value: Json | undefined): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

function readText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Null and blank are no answer; a number or an object becomes text. */
function readAnswer(value: Json | undefined): string | undefined {
  const text = readText(value);
  return text.trim() === '' ? undefined : text;
}

import { argumentKey, callsOf, makeCall } from './calls-of.ts';
import { isList } from './depth.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';
import { hoistName } from './hoist-name.ts';
import type { PlanStep, Repair, ToolCallRequest } from './reply.ts';
import { readPlan } from './plan.ts';
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
  /** What had to be moved to read it. */
  readonly repairs?: readonly Repair[];
}

const LIST_KEYS = ['tool_calls', '__tool_calls__', 'function_calls'];

/** Reads a value as a reply; undefined when it is neither the envelope nor calls of registered tools. */
export function readEnvelope(value: Json, tools: ToolNames | undefined, complete: boolean): Envelope | undefined {
  if (isList(value)) return readList(value, tools, complete);
  if (!isJsonObject(value)) return undefined;
  const hoisted = typeof value['tool'] === 'string' ? undefined : hoistName(value);
  if (hoisted !== undefined) {
    const read = readEnvelope(hoisted.value, tools, complete);
    if (read !== undefined && read.calls.length > 0) return { ...read, repairs: [hoisted.repair] };
  }
  const calls = readCalls(value, tools, complete);
  const isEnvelope = hasEnvelopeKey(value);
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

/** `plan` is a common word: in an object of other keys it counts only when it looks like one. */
function hasEnvelopeKey(value: JsonObject): boolean {
  if (typeof value['thought'] === 'string' || hasText(value['tool']) || 'answer' in value) return true;
  if (!('plan' in value)) return false;
  return 'goal' in value || typeof value['plan'] === 'object' || Object.keys(value).length === 1;
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
  if (typeof tool === 'string' && tool.trim() !== '') return callOf(tool.trim(), value, complete);
  return readForeignCall(isJsonObject(tool) ? tool : value, tools, complete);
}

function callOf(name: string, holder: JsonObject, complete: boolean): readonly ToolCallRequest[] {
  const key = argumentKey(holder);
  return [makeCall(name, key === undefined ? {} : (holder[key] ?? {}), complete)];
}

/** `{name, arguments}` and its like count for registered names only; a `tool` names a call in any case. */
function readForeignCall(value: Json, tools: ToolNames | undefined, complete: boolean): readonly ToolCallRequest[] {
  if (!isJsonObject(value)) return [];
  if (typeof value['tool'] === 'string') return callOf(value['tool'], value, complete);
  return callsOf(value, complete).filter(({ name }) => isRegistered(name, tools));
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

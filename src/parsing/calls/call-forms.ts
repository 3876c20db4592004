import { isList } from '../../json/depth.ts';
import type { Issue } from '../../json/errors.ts';
import { type Building, type Json, type JsonObject, isJsonObject, setOwn } from '../../json/json.ts';
import type { Repair } from '../repair/repairs.ts';
import { parseToolCallArguments } from './arguments.ts';

/** A tool call as the model asked for it. `complete: false`: its arguments were cut off, so it never runs. */
export interface ToolCallRequest {
  readonly id?: string;
  readonly name: string;
  readonly args: Json;
  readonly complete: boolean;
  readonly issues?: readonly Issue[];
}

/** One step of a plan. `args` may hold `$PREV.field` and `$STEP_n.field` placeholders. */
export interface PlanStep {
  readonly tool: string;
  readonly args: Json;
  readonly complete: boolean;
}

/** Where the name of a tool may stand in the formats of the field. */
const NAME_KEYS = ['name', 'tool_name', 'function', 'tool', 'action', 'function_name', 'recipient_name'];

/** Where the arguments of a plan's step may stand, in order of preference; those of the envelope's tool, too. */
export const STEP_ARGUMENT_KEYS: readonly string[] = ['tool_args', 'arguments', 'args', 'parameters'];
/** Where else those of the envelope's tool may stand. */
export const ENVELOPE_ARGUMENT_KEYS: readonly string[] = [
  ...STEP_ARGUMENT_KEYS,
  'action_input',
  'tool_input',
  'tool_parameters',
  'params',
];
/** And those of a call in any other form. */
export const CALL_ARGUMENT_KEYS: readonly string[] = [...ENVELOPE_ARGUMENT_KEYS, 'input'];

/** What may stand beside the name of a call. Anything else makes it a definition, or data. */
const BESIDE = new Set([...NAME_KEYS, 'id', 'type', 'index', 'tool_call_id', 'thought', 'goal']);

/** The calls that the value of a marked block spells: `{name, arguments}`, `{function: {name, arguments}}`, or a list. */
export function callsOf(value: Json, complete: boolean): readonly ToolCallRequest[] {
  if (isList(value)) return value.flatMap((item, i) => callsOf(item, complete || i < value.length - 1));
  if (!isJsonObject(value)) return [];
  const holder = isJsonObject(value['function']) ? value['function'] : value;
  const name = NAME_KEYS.map((key) => holder[key]).find((found) => typeof found === 'string' && found.trim() !== '');
  if (typeof name !== 'string') return [];
  const key = CALL_ARGUMENT_KEYS.find((candidate) => Object.hasOwn(holder, candidate));
  if (key === undefined && Object.keys(holder).some((other) => !BESIDE.has(other))) return [];
  const raw = key === undefined ? {} : (holder[key] ?? {});
  if (isDefinition(raw)) return [];
  const call = makeCall(name.trim(), raw, complete);
  const id = value['id'] ?? value['tool_call_id'];
  return [typeof id === 'string' ? { id, ...call } : call];
}

/** True for a JSON Schema where arguments would stand: that is how a tool is described, not called. */
export function isDefinition(args: Json): boolean {
  return isJsonObject(args) && args['type'] === 'object' && isJsonObject(args['properties']);
}

/**
 * The calls that a value without any mark spells. It must be nothing but a call: one with a description is the
 * definition of a tool, one with other fields is data, and a name alone is a name, unless it stands in a list of calls.
 */
export function bareCallsOf(value: Json, complete: boolean, listed = false): readonly ToolCallRequest[] {
  if (isList(value)) return value.flatMap((item, i) => bareCallsOf(item, complete || i < value.length - 1, listed));
  return isJsonObject(value) && isBareCall(value, listed) ? callsOf(value, complete) : [];
}

function isBareCall(value: JsonObject, listed: boolean): boolean {
  const holder = isJsonObject(value['function']) ? value['function'] : value;
  const key = CALL_ARGUMENT_KEYS.find((candidate) => Object.hasOwn(holder, candidate));
  if (key === undefined && !listed) return false;
  const only = (object: JsonObject): boolean =>
    Object.keys(object).every((other) => other === key || BESIDE.has(other));
  return only(holder) && (holder === value || only(value));
}

/** A call with its arguments decoded where they are text; text that cannot be read stays, with an issue. */
export function makeCall(name: string, raw: Json, complete: boolean): ToolCallRequest {
  if (typeof raw !== 'string') return { name, args: raw, complete };
  const read = parseToolCallArguments(raw);
  if (!read.ok)
    return {
      name,
      args: raw,
      complete,
      issues: [{ path: '', message: `the arguments cannot be read: ${read.reason}` }],
    };
  return { name, args: read.value, complete: complete && read.complete };
}

/** A plan that can be run, or what is wrong with the one that was given; neither when there is none. */
interface ReadPlan {
  readonly plan?: readonly PlanStep[];
  readonly planError?: string;
}

const SHAPE = 'Give a non-empty list of steps, each {"tool": "<name>", "tool_args": {…}}';

/** Reads the `plan` of a reply. Null means no plan; anything else that is not a list of steps with a tool is malformed. */
export function readPlan(value: Json | undefined, complete: boolean): ReadPlan {
  if (value === undefined || value === null) return {};
  if (!isList(value)) {
    const found = isJsonObject(value) ? 'a single object' : `a ${typeof value}`;
    return { planError: `"plan" is ${found}, not a list. ${SHAPE}` };
  }
  if (value.length === 0) return { planError: `"plan" is an empty list. ${SHAPE}` };
  const plan: PlanStep[] = [];
  for (let i = 0; i < value.length; i += 1) {
    const step = value[i] ?? null;
    if (!isJsonObject(step)) return { planError: `Step ${i} of "plan" is no object. ${SHAPE}` };
    const tool = step['tool'];
    if (typeof tool !== 'string' || tool.trim() === '') return { planError: missingTool(step, i) };
    const args = readArguments(step);
    plan.push({ tool: tool.trim(), args: args.value, complete: (complete || i < value.length - 1) && args.complete });
  }
  return { plan };
}

function missingTool(step: JsonObject, index: number): string {
  const other = ['name', 'tool_name', 'function', 'action'].find((key) => typeof step[key] === 'string');
  const hint = other === undefined ? '' : ` It has "${other}" instead.`;
  return `Step ${index} of "plan" has no "tool".${hint} ${SHAPE}`;
}

function readArguments(step: JsonObject): { readonly value: Json; readonly complete: boolean } {
  const key = STEP_ARGUMENT_KEYS.find((candidate) => Object.hasOwn(step, candidate));
  const raw = key === undefined ? {} : (step[key] ?? {});
  if (typeof raw !== 'string') return { value: raw, complete: true };
  const read = parseToolCallArguments(raw);
  return read.ok ? { value: read.value, complete: read.complete } : { value: raw, complete: true };
}

const HOLDERS = ['arguments', 'parameters', 'tool_args', 'args'];
const NAMES = ['name', 'tool'];
const IDENTIFIER = /^[\p{L}_][\p{L}\p{N}_.-]{0,127}$/u;

/**
 * `{"arguments": {…, "name": "f"}`: the brace before `"name"` is missing, so the tool's name was swallowed by its
 * arguments. Gives the object with the name where it belongs; undefined when it does not look like that.
 */
export function hoistName(value: Json): { readonly value: JsonObject; readonly repair: Repair } | undefined {
  if (!isJsonObject(value)) return undefined;
  const holder = HOLDERS.find((key) => Object.hasOwn(value, key));
  const inner = holder === undefined ? undefined : value[holder];
  if (holder === undefined || !isJsonObject(inner) || NAMES.some((name) => Object.hasOwn(value, name)))
    return undefined;
  const last = Object.keys(inner).at(-1);
  const name = last === undefined ? undefined : inner[last];
  if (last === undefined || !NAMES.includes(last) || typeof name !== 'string' || !IDENTIFIER.test(name))
    return undefined;
  const args: Building = {};
  for (const [key, member] of Object.entries(inner)) if (key !== last) setOwn(args, key, member);
  const repair: Repair = {
    kind: 'hoisted-name',
    message: `the name "${name}" was taken out of the arguments`,
    cost: 2,
  };
  return { value: { ...value, [holder]: args, [last]: name }, repair };
}

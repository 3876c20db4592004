import { isList } from '../../json/depth.ts';
import { isJsonObject, type Json, type JsonObject } from '../../json/json.ts';
import type { ToolCallRequest } from '../reply.ts';
import { parseToolCallArguments } from '../recover/tool-call-arguments.ts';

/** Where the name of a tool may stand in the formats of the field. */
const NAME_KEYS = ['name', 'tool_name', 'function', 'tool', 'action', 'function_name', 'recipient_name'];
/** Where its arguments may stand, in order of preference. */
const ARGUMENT_KEYS = [
  'tool_args',
  'arguments',
  'args',
  'parameters',
  'action_input',
  'tool_input',
  'tool_parameters',
  'params',
  'input',
];
/** What may stand beside the name of a call. Anything else makes it a definition, or data. */
const BESIDE = new Set([...NAME_KEYS, 'id', 'type', 'index', 'tool_call_id', 'thought', 'goal']);

/** The calls that the value of a marked block spells: `{name, arguments}`, `{function: {name, arguments}}`, or a list. */
export function callsOf(value: Json, complete: boolean): readonly ToolCallRequest[] {
  if (isList(value)) return value.flatMap((item, i) => callsOf(item, complete || i < value.length - 1));
  if (!isJsonObject(value)) return [];
  const holder = isJsonObject(value['function']) ? value['function'] : value;
  const name = NAME_KEYS.map((key) => holder[key]).find((found) => typeof found === 'string' && found.trim() !== '');
  if (typeof name !== 'string') return [];
  const key = ARGUMENT_KEYS.find((candidate) => Object.hasOwn(holder, candidate));
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
  const key = ARGUMENT_KEYS.find((candidate) => Object.hasOwn(holder, candidate));
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

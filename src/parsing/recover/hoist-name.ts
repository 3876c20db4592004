import { type Building, setOwn, isJsonObject, type Json, type JsonObject } from '../../json/json.ts';
import type { Repair } from '../reply.ts';

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

import { isList, isTooLong, parseStrict } from '../../json/depth.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { DEFAULT_LIMITS } from '../repair/repairs.ts';
import { readAt } from '../repair/values-in-text.ts';
import type { FitContext } from './fit-context.ts';

/**
 * The value as the schema's type clearly means it, with the repair listed; undefined when there is no safe reading.
 * Never: boolean to number, fraction or rounded digits to integer, anything to null.
 */
export function coerceTo(type: Json, value: Json, context: FitContext): Json | undefined {
  const unwrapped = unwrap(type, value);
  if (unwrapped !== undefined) {
    context.repair('unwrapped', `the single ${isList(value) ? 'item' : 'member'} was taken out of its wrapping`, 2);
    return unwrapped;
  }
  switch (type) {
    case 'integer':
    case 'number':
      return toNumber(type, value, context);
    case 'string':
      return toText(value, context);
    case 'boolean':
      return toBoolean(value, context);
    case 'array':
      return toList(value, context);
    case 'object':
      return toObject(value, context);
    default:
      return undefined;
  }
}

/** `{"value": 5}` or `[5]` where a scalar is asked for. */
function unwrap(type: Json, value: Json): Json | undefined {
  if (type === 'array' || type === 'object' || type === 'null' || typeof value !== 'object' || value === null)
    return undefined;
  const inner = isList(value) ? value : Object.values(value);
  const only = inner.length === 1 ? inner[0] : undefined;
  if (only === undefined || only === null || typeof only === 'object') return undefined;
  const wanted = type === 'integer' ? Number.isInteger(only) : typeof only === type;
  return wanted ? only : undefined;
}

function toNumber(type: 'integer' | 'number', value: Json, context: FitContext): Json | undefined {
  if (typeof value !== 'string') return undefined;
  const number = readNumber(value);
  if (number === undefined || (type === 'integer' && (!Number.isInteger(number) || isTooLong(value)))) return undefined;
  context.repair('text-to-number', `the text ${JSON.stringify(value)} was read as the number ${number}`, 1);
  return number;
}

function toText(value: Json, context: FitContext): Json | undefined {
  if (typeof value !== 'number') return undefined;
  context.repair('number-to-text', `the number ${value} was read as text`, 1);
  return String(value);
}

function toBoolean(value: Json, context: FitContext): Json | undefined {
  const read =
    value === 0
      ? false
      : value === 1
        ? true
        : typeof value === 'string'
          ? BOOLEANS.get(value.trim().toLowerCase())
          : undefined;
  if (read === undefined) return undefined;
  context.repair('to-boolean', `${JSON.stringify(value)} was read as ${read}`, 1);
  return read;
}

const BOOLEANS = new Map([
  ['true', true],
  ['false', false],
  ['yes', true],
  ['no', false],
]);

function toList(value: Json, context: FitContext): Json | undefined {
  if (value === null) return undefined;
  const decoded = decode(value);
  if (isList(decoded)) {
    context.repair('decoded', 'JSON inside a text was read as a list', 1);
    return decoded;
  }
  context.repair('wrapped', 'a single value was read as a list of one', 1);
  return [value];
}

function toObject(value: Json, context: FitContext): Json | undefined {
  const decoded = decode(value);
  if (isJsonObject(decoded)) {
    context.repair('decoded', 'JSON inside a text was read as an object', 1);
    return decoded;
  }
  const only = isList(value) && value.length === 1 ? value[0] : undefined;
  if (!isJsonObject(only)) return undefined;
  context.repair('unwrapped', 'the single item was taken out of its list', 2);
  return only;
}

/** JSON inside a text, also when it is broken; never when it is cut off. */
function decode(value: Json): Json | undefined {
  if (typeof value !== 'string') return undefined;
  const strict = parseStrict(value, DEFAULT_LIMITS.maxDepth);
  if (strict !== undefined) return strict.value;
  const text = value.trim();
  if (!/^[{[]/.test(text)) return undefined;
  const { candidate, pairs } = readAt(text, 0, {
    from: 0,
    to: text.length,
    maxDepth: DEFAULT_LIMITS.maxDepth,
    fenced: false,
  });
  const usable = candidate !== undefined && candidate.complete && candidate.to === text.length;
  return usable && (pairs > 0 || isList(candidate.value)) ? candidate.value : undefined;
}

const PLAIN = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const GROUPED = /^[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/;
const UNDERSCORED = /^[+-]?\d+(?:_\d+)+(?:\.\d+(?:_\d+)*)?$/;
const FRACTION = /^([+-]?\d+(?:\.\d+)?)\s*\/\s*(\d+(?:\.\d+)?)$/;
const LONGEST = 400;

/** The number that a text spells: `12`, `120.0`, `05`, `1,234.5`, `82_461`, `1/5`. Undefined for anything else. */
export function readNumber(text: string): number | undefined {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > LONGEST) return undefined;
  if (PLAIN.test(trimmed)) return finite(Number(trimmed));
  if (GROUPED.test(trimmed)) return finite(Number(trimmed.replaceAll(',', '')));
  if (UNDERSCORED.test(trimmed)) return finite(Number(trimmed.replaceAll('_', '')));
  const fraction = FRACTION.exec(trimmed);
  return fraction === null ? undefined : finite(Number(fraction[1]) / Number(fraction[2]));
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

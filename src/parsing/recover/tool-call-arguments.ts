import { findCandidates } from './candidates.ts';
import { isJson, parseStrict } from '../../json/depth.ts';
import { isJsonObject, type Json } from '../../json/json.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import { parsePrefix } from './prefix.ts';
import type { Repair } from '../reply.ts';
import { jsonEquals } from '../schema/json-types.ts';

/** The arguments of a native tool call, read: a value, or the reason why there is none. */
export type ToolCallArguments =
  | { readonly ok: true; readonly value: Json; readonly complete: boolean; readonly repairs: readonly Repair[] }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads the `arguments` of a native tool call: the text that the model wrote, or an object that the server decoded.
 * Nothing, null (as text too) and blank text are `{}`; broken JSON is mended; cut JSON comes back with `complete: false`.
 */
export function parseToolCallArguments(raw: unknown, maxDepth: number = DEFAULT_LIMITS.maxDepth): ToolCallArguments {
  if (raw === undefined || raw === null) return whole({});
  if (typeof raw !== 'string') return fromValue(raw, maxDepth);
  const text = raw.trim();
  if (text === '') return whole({});
  if (text.length > DEFAULT_LIMITS.maxChars)
    return unreadable(`the arguments are longer than ${DEFAULT_LIMITS.maxChars} characters`);
  const strict = parseStrict(text, maxDepth);
  if (strict !== undefined) return whole(decodeTwice(strict.value, maxDepth) ?? {});
  const prefix = parsePrefix(text, 0, { to: text.length, maxDepth });
  if (prefix.kind === 'cut' && typeof prefix.value === 'object') {
    return { ok: true, value: prefix.value, complete: false, repairs: [] };
  }
  const found = findCandidates(text, { from: 0, to: text.length, maxDepth }).candidates;
  const [best, ...others] = found.filter(({ value }) => isJsonObject(value));
  if (best === undefined) return unreadable('the text holds no JSON object');
  if (others.some(({ value }) => !jsonEquals(value, best.value)))
    return unreadable('the text holds several JSON objects');
  return { ok: true, value: best.value, complete: best.complete, repairs: best.repairs };
}

/** Text inside text: `"{\"a\": 1}"` is the object that it spells. */
function decodeTwice(value: Json, maxDepth: number): Json {
  if (typeof value !== 'string') return value;
  if (value.trim() === '') return {};
  const inner = parseStrict(value, maxDepth);
  return inner !== undefined && typeof inner.value === 'object' ? inner.value : value;
}

/** A value that the server decoded already; what JSON cannot hold is written as JSON first, or refused. */
function fromValue(raw: unknown, maxDepth: number): ToolCallArguments {
  if (isJson(raw, maxDepth)) return whole(raw);
  if (typeof raw === 'object') {
    try {
      const strict = parseStrict(JSON.stringify(raw), maxDepth);
      if (strict !== undefined) return whole(strict.value);
    } catch {
      return unreadable('the arguments cannot be written as JSON');
    }
  }
  return unreadable(`the arguments are a ${typeof raw}, not JSON`);
}

function whole(value: Json): ToolCallArguments {
  return { ok: true, value, complete: true, repairs: [] };
}

function unreadable(reason: string): ToolCallArguments {
  return { ok: false, reason };
}

import { isJsonObject, type JsonObject } from '../../json/json.ts';
import { contentOf } from './content-of.ts';
import { readResult } from './read-result.ts';
import type { Finished, PracticeCall } from './scene.ts';

const RESULT = /^\[Result from ([^\]]+)\]:\s*/;

/** The calls of an exchange that have results, in order: native ones, those of envelopes, and the steps of plans. */
export function readFinished(exchange: readonly JsonObject[]): readonly Finished[] {
  const native = new Map<string, PracticeCall>();
  const written: PracticeCall[] = [];
  return exchange.flatMap((message): readonly Finished[] => {
    const text = contentOf(message);
    if (message['role'] === 'assistant') {
      for (const [id, call] of nativeCalls(message)) native.set(id, call);
      written.push(...writtenCalls(text));
      return [];
    }
    if (message['role'] === 'tool') {
      const id = message['tool_call_id'];
      const call = native.get(typeof id === 'string' ? id : '');
      return call === undefined ? [] : finishedBy(call, text);
    }
    const result = RESULT.exec(text);
    if (message['role'] !== 'user' || result === null) return [];
    const tool = result[1] ?? '';
    const at = written.findIndex((call) => call.tool === tool);
    const [call = { tool, args: {} }] = at === -1 ? [] : written.splice(at, 1);
    return finishedBy(call, text.slice(result[0].length));
  });
}

/** What a result says has been done; that of a native plan tells of all its steps. */
function finishedBy(call: PracticeCall, text: string): readonly Finished[] {
  const result = readResult(text);
  const steps: unknown = result.ok && isJsonObject(result.data) ? result.data['steps'] : undefined;
  if (!Array.isArray(steps)) return [{ ...call, result }];
  const planned = stepsOf(call.args);
  return steps.filter(isJsonObject).map((step, at) => ({
    tool: typeof step['tool'] === 'string' ? step['tool'] : '',
    args: planned[at]?.args ?? {},
    result: readResult(JSON.stringify(step['result'] ?? null)),
  }));
}

function nativeCalls(message: JsonObject): readonly (readonly [string, PracticeCall])[] {
  const calls: readonly unknown[] = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  return calls.filter(isJsonObject).map((call) => {
    const source = isJsonObject(call['function']) ? call['function'] : {};
    const args = objectIn(typeof source['arguments'] === 'string' ? source['arguments'] : '');
    const tool = typeof source['name'] === 'string' ? source['name'] : '';
    return [typeof call['id'] === 'string' ? call['id'] : '', { tool, args: args ?? {} }];
  });
}

/** Calls and plans that stand in a reply's text: as the whole of it, or as lines of it. */
function writtenCalls(text: string): readonly PracticeCall[] {
  const objects = [text, ...text.split('\n')].map(objectIn).filter((object) => object !== undefined);
  const seen = new Set<string>();
  return objects
    .flatMap((object) => [...callIn(object), ...stepsOf(object)])
    .filter((call) => {
      const key = JSON.stringify(call);
      return seen.has(key) ? false : seen.add(key);
    });
}

function callIn(object: JsonObject): readonly PracticeCall[] {
  const name = object['tool'] ?? object['name'];
  const args = object['tool_args'] ?? object['arguments'];
  return typeof name === 'string' ? [{ tool: name, args: isJsonObject(args) ? args : {} }] : [];
}

function stepsOf(object: JsonObject): readonly PracticeCall[] {
  const plan: unknown = Object.values(object).find(Array.isArray);
  return Array.isArray(plan) ? plan.flatMap((step: unknown) => (isJsonObject(step) ? callIn(step) : [])) : [];
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

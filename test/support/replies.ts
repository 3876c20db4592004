import type { ModelReply } from '../../src/actors/model.ts';
import type { JsonObject } from '../../src/json/json.ts';

/** A reply with native tool calls: `call('add', { a: 1 })`, or several. */
export function calls(
  ...list: readonly (readonly [name: string, args?: JsonObject | string, id?: string])[]
): ModelReply {
  return {
    content: '',
    toolCalls: list.map(([name, args = {}, id]) =>
      id === undefined ? { name, arguments: args } : { id, name, arguments: args },
    ),
  };
}

/** A reply that plans in native mode. */
export function plan(...steps: readonly (readonly [tool: string, args?: JsonObject])[]): ModelReply {
  return calls(['make_plan', { plan: steps.map(([tool, tool_args = {}]) => ({ tool, tool_args })) }]);
}

/** A reply that is the JSON envelope, as text. */
export function envelope(value: JsonObject): string {
  return JSON.stringify(value);
}

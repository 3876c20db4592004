import { type Json, type JsonObject, defined } from '../json/json.ts';
import { optionsOf } from '../json/known-options.ts';
import type { OnError } from '../recovery/steps.ts';
import { type ExecuteContext, type Tool, tool } from '../tools/tool.ts';

/** A tool that only records its calls and returns the given results. */
export interface FakeTool extends Tool {
  readonly calls: readonly JsonObject[];
}

/** Further options of a fake tool: members of a tool's definition. */
export interface FakeToolDefinition extends Partial<
  Pick<Tool, 'description' | 'policy' | 'effects' | 'atomic' | 'polling' | 'enabled' | 'timeoutMs'>
> {
  readonly inputSchema?: JsonObject | undefined;
  readonly onError?: OnError | undefined;
}

const checkDefinition = optionsOf<FakeToolDefinition>('fakeTool', 'docs/testing.md', {
  description: true,
  policy: true,
  effects: true,
  atomic: true,
  polling: true,
  enabled: true,
  timeoutMs: true,
  inputSchema: true,
  onError: true,
});

/**
 * A tool for tests. `results` are returned in order, the last one repeatedly; an `Error` is thrown, a function is called
 * with the arguments and the call's context. `calls` keeps the arguments of every call.
 *
 * @example const search = fakeTool('search', [{ hits: 3 }, new Error('offline')]);
 */
export function fakeTool(
  name: string,
  results: readonly (Json | Error | ((args: JsonObject, context: ExecuteContext) => unknown))[] = [null],
  definition: FakeToolDefinition = {},
): FakeTool {
  checkDefinition(definition, `fakeTool '${name}'`);
  const { policy, timeoutMs, ...others } = definition;
  const calls: JsonObject[] = [];
  const made = tool({
    ...others,
    name,
    description: others.description ?? `A fake ${name}.`,
    ...defined({ policy, timeoutMs }),
    execute: (args: JsonObject, context) => {
      calls.push(args);
      const result = results[Math.min(calls.length, results.length) - 1];
      if (result instanceof Error) throw result;
      return typeof result === 'function' ? result(args, context) : result;
    },
  });
  return { ...made, calls };
}

import { wrongOption } from '../../json/known-options.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import { toJson } from '../../json/to-json.ts';
import type { ChildSetup } from '../../machines/contract/agent-setup.ts';
import { endingInWords, type AnyResult } from '../../machines/contract/run-result.ts';
import { childResult } from '../../machines/tool-call/delegation.ts';
import type { ToolResult } from '../../tools/result.ts';
import { type Tool, tool } from '../../tools/tool.ts';
import type { ChildAgent } from '../options/option-types.ts';
import {
  type ChildPort,
  type Children,
  MAX_DEPTH,
  type Policies,
  type Preparing,
  portOf,
  toolName,
} from './child-port.ts';

const TASK: JsonObject = {
  type: 'object',
  properties: {
    task: {
      type: 'string',
      minLength: 1,
      description: 'What to do, with everything needed to do it: the agent sees nothing of this conversation.',
    },
  },
  required: ['task'],
};

/** The children of an agent. Throws a `TypeError` when two have one name, or agents would stand too deep. */
export function childrenOf(agents: readonly ChildAgent[]): Children {
  const children = new Map<string, ChildPort>();
  for (const agent of agents) {
    const name = toolName(agent.name);
    if (children.has(name))
      throw wrongOption(`createAgent: option 'children': two agents are named '${name}'. Give each a name of its own.`);
    const port = portOf(agent);
    if (port.depth >= MAX_DEPTH)
      throw wrongOption(
        `createAgent: option 'children': agents may be nested at most ${MAX_DEPTH} levels deep, and '${name}' is deeper.`,
      );
    children.set(name, port);
  }
  return children;
}

/** The tool with which a model delegates a task to a child. Called by code, it runs the child alone. */
export function childTool(name: string, child: ChildPort): Tool {
  return tool({
    name,
    description: child.description,
    inputSchema: TASK,
    execute: async ({ task }: JsonObject, { signal, context }) =>
      resultOf(await child.run(typeof task === 'string' ? task : '', { signal, context })),
  });
}

function resultOf(result: AnyResult): ToolResult {
  return result.status === 'answered' || result.status === 'stopped'
    ? childResult({ ...result, output: jsonOf(result.output) ?? result.result })
    : { status: 'error', error: endingInWords(result) };
}

function jsonOf(output: unknown): Json | null {
  const json = toJson(output);
  return json.ok ? json.value : null;
}

/** Has all children prepare, and gives what takes their setups as they stand then. */
export async function preparedChildren(children: Children, how: Preparing): Promise<() => readonly ChildSetup[]> {
  const makers = await Promise.all(
    [...children].map(async ([name, child]) => [name, await child.prepare(how)] as const),
  );
  return () => makers.map(([name, make]) => ({ tool: name, setup: make() }));
}

/** The setups of all children as they stand now; `owner`: of the conversation, whose "always allow" counts. */
export async function childrenNow(children: Children, owner?: string): Promise<readonly ChildSetup[]> {
  return Promise.all([...children].map(async ([name, child]) => ({ tool: name, setup: await child.setupNow(owner) })));
}

/** Recorded setups as these children would make them now; those of agents that no longer exist stay as recorded. */
export function replayedChildren(
  recorded: readonly ChildSetup[],
  children: Children,
  policies: Policies,
): readonly ChildSetup[] {
  return recorded.map((one) => {
    const child = children.get(one.tool);
    return child === undefined ? one : { tool: one.tool, setup: child.replayed(one.setup, policies) };
  });
}

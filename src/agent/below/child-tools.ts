import type { Json, JsonObject } from '../../json/json.ts';
import { toJson } from '../../json/to-json.ts';
import type { ChildSetup } from '../../machines/contract/agent-setup.ts';
import { endingInWords, type AnyResult } from '../../machines/contract/run-result.ts';
import { childResult } from '../../machines/tool-call/delegation.ts';
import type { Repairer } from '../../recovery/steps.ts';
import type { ToolResult } from '../../tools/result.ts';
import { type Tool, tool } from '../../tools/tool.ts';
import { CHILD, type ChildAgent } from '../options/option-types.ts';
import { fixersOf, type OwnedOnError } from '../tools/repair-circle.ts';
import { type ChildPort, type Children, MAX_DEPTH, type Policies, type RepairAgents } from './child-port.ts';

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
      throw new TypeError(
        `createAgent: option 'children': two agents are named '${name}'. Give each a name of its own.`,
      );
    const port = portOf(agent);
    if (port.depth >= MAX_DEPTH)
      throw new TypeError(
        `createAgent: option 'children': agents may be nested ${MAX_DEPTH} levels deep, and '${name}' is deeper.`,
      );
    children.set(name, port);
  }
  return children;
}

/** What an agent offers to those above it. */
export function portOf(agent: ChildAgent): ChildPort {
  const port = agent[CHILD];
  if (isChildPort(port)) return port;
  throw new TypeError(`'${agent.name}' is no agent of this version of signalbox. Use one copy of the package.`);
}

function isChildPort(port: object): port is ChildPort {
  return 'prepare' in port && 'ports' in port;
}

/** A tool's name may hold no blanks. */
export function toolName(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}_.-]+/gu, '_').slice(0, 64);
}

/** The tool by which a model hands a task to a child. Called by code, it runs the child on its own. */
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
export async function preparedChildren(children: Children, signal: AbortSignal): Promise<() => readonly ChildSetup[]> {
  const makers = await Promise.all(
    [...children].map(async ([name, child]) => [name, await child.prepare(signal)] as const),
  );
  return () => makers.map(([name, make]) => ({ tool: name, setup: make() }));
}

/** The setups of all children as they stand now. */
export async function childrenNow(children: Children): Promise<readonly ChildSetup[]> {
  return Promise.all([...children].map(async ([name, child]) => ({ tool: name, setup: await child.setupNow() })));
}

/** Recorded setups as these children would give them now; those of agents that are gone stay as recorded. */
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

/** Keeps the repair agents of an agent whose tools, skills and own options have these slots. */
export function repairAgents(onErrors: () => readonly OwnedOnError[]): RepairAgents {
  const known = new Map<string, ChildPort>();
  const nameOf = (port: ChildPort): string => {
    for (const [name, one] of known) if (one === port) return name;
    const plain = `repair:${toolName(port.name)}`;
    let name = plain;
    for (let n = 2; known.has(name); n++) name = `${plain}-${n}`;
    known.set(name, port);
    return name;
  };
  const meet = (fixer: Repairer): { readonly name: string; readonly port: ChildPort } | null => {
    const port = repairPortOf(fixer);
    return port === null ? null : { name: nameOf(port), port };
  };
  return {
    all: () => {
      for (const fixer of onErrors().flatMap(({ onError }) => fixersOf(onError))) meet(fixer);
      return known;
    },
    prepared: async (fixer, above, signal) => {
      const met = meet(fixer);
      if (met === null) return null;
      const { name, port } = met;
      if (above.some(({ options }) => options === port.ports.options))
        throw new Error(`The agent '${port.name}' cannot mend its own mistakes.`);
      return { tool: name, setup: (await port.prepare(signal))() };
    },
  };
}

function repairPortOf(fixer: Repairer): ChildPort | null {
  return isAgent(fixer) ? portOf(fixer).repairer : null;
}

function isAgent(fixer: object): fixer is ChildAgent {
  return CHILD in fixer;
}

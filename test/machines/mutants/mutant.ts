import { createAgent } from '../../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import type { OutputSchema } from '../../../src/agent/options/output-options.ts';
import type { ToolsChanged, Toolset } from '../../../src/machines/contract/agent-setup.ts';
import { agentMachine } from '../../../src/machines/agent/agent.ts';
import { toolCallMachine } from '../../../src/machines/tool-call/tool-call.ts';
import type { Json, JsonObject } from '../../../src/json/json.ts';
import type { ExploreOptions, View } from '../../../src/testing/index.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import type { Policy } from '../../../src/tools/spec.ts';

/** A machine of ours with one thing wrong, the agent that shows it, and the law that must catch it. */
export interface Mutant {
  readonly wrong: string;
  readonly machine: typeof agentMachine;
  readonly agent: AgentOptions<unknown, OutputSchema | undefined>;
  readonly law: string;
  /** What it must say, where another part of the law says something else of it. */
  readonly says?: RegExp;
  /** What is said from outside, where that shows it. */
  readonly events?: NonNullable<ExploreOptions['events']>;
  /** What comes of its leaves, where that shows it. */
  readonly outcomes?: NonNullable<ExploreOptions['outcomes']>;
}

/** The agent that shows a mutant: quick to explore, with no model and no output. */
export function mutantAgent(options: Mutant['agent']) {
  return createAgent({ model: scriptedModel([]), silent: true, maxSteps: 2, ...options });
}

/** Guards that are always or never true, and an action that does nothing. */
export const yes = (): boolean => true;
export const no = (): boolean => false;
export const nothing = (): void => undefined;

/**
 * The agent's machine with one place of the toolCall machine's drawing changed. The drawing itself stays as it is: only
 * the machine that was made meanwhile has the change. A `·` in a place is a dot within a name.
 */
export function callEdge(place: string, value: unknown): typeof agentMachine {
  const make = () => agentMachine.provide({ actors: { toolCall: toolCallMachine.provide({}) } });
  return redrawn(toolCallMachine, place, value, make);
}

/** What is made while one place of a machine's drawing is another. */
export function redrawn(
  { config }: { readonly config: unknown },
  place: string,
  value: unknown,
  make = () => agentMachine.provide({}),
): typeof agentMachine {
  const names = place.split('.').map((name) => name.replace('·', '.'));
  const last = names.pop() ?? '';
  const holder: unknown = names.reduce((at: unknown, name) => Reflect.get(Object(at), name), config);
  const before: unknown = Reflect.get(Object(holder), last);
  if (before === undefined) throw new Error(`There is no ${place} in the drawing.`);
  Reflect.set(Object(holder), last, value);
  try {
    return make();
  } finally {
    Reflect.set(Object(holder), last, before);
  }
}

/** Says once, at any moment, that all tools have another policy by now; `restart`: because the run was taken up again. */
export function becoming(policy: Policy, restart: 'restart' | 'live' | 'once') {
  return ({ context, path, open }: View) => {
    if (path.some((label) => label.startsWith('tools.changed'))) return [];
    const begun = open.flatMap(({ name, request }) => (name === 'callTool' ? [callIdOf(request)] : []));
    const notRepeated = restart === 'once' ? begun : [];
    const children: NonNullable<ToolsChanged['children']> = Reflect.get(
      Object(Reflect.get(Object(context), 'runInfo')),
      'children',
    );
    const told = {
      type: 'tools.changed',
      toolset: withPolicy(Reflect.get(Object(context), 'toolset'), policy),
      children: children.map(({ tool, setup }) => ({
        tool,
        setup: { ...setup, toolset: withPolicy(setup.toolset, policy) },
      })),
      ...(restart === 'live' ? {} : { restart: { begun, notRepeated } }),
    };
    const event: JsonObject & { readonly type: string } = JSON.parse(JSON.stringify(told));
    return [event];
  };
}

function withPolicy(toolset: Toolset, policy: Policy): Toolset {
  return { ...toolset, tools: toolset.tools.map((tool) => ({ ...tool, policy })) };
}

function callIdOf(request: Json): string {
  return String(Reflect.get(Object(request), 'callId'));
}

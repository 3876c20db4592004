import type { RunRecord } from '../journal/record.ts';
import type { AgentSetup, Toolset } from '../machines/agent-setup.ts';
import type { ToolSpec } from '../tools/spec.ts';
import type { AgentCore } from './agent-core.ts';
import { replayedChildren } from './child-tools.ts';

/**
 * The first line of a recording as this agent would have written it: its own instructions and local tools, everything
 * else as recorded. Equal to the recorded one unless the agent was changed.
 */
export function replayHead(recorded: RunRecord, core: AgentCore): RunRecord {
  const { instructions = '', systemPrompt } = core.options();
  return core.sealed({
    ...recorded,
    instructions: typeof instructions === 'string' ? instructions : '',
    promptByCode: typeof instructions === 'function' || systemPrompt !== undefined,
    toolset: replayToolset(recorded.toolset, core),
    ...(recorded.children === undefined ? {} : { children: replayedChildren(recorded.children, core.children) }),
  });
}

/** A child's recorded setup as it would give it now. */
export function replaySetup(recorded: AgentSetup, core: AgentCore): AgentSetup {
  const { instructions = '', systemPrompt, onEscalation } = core.options();
  return {
    ...recorded,
    instructions: typeof instructions === 'string' ? instructions : '',
    promptByCode: typeof instructions === 'function' || systemPrompt !== undefined,
    toolset: replayToolset(recorded.toolset, core),
    children: replayedChildren(recorded.children, core.children),
    escalates: onEscalation !== undefined,
  };
}

/** Recorded order; local tools as they are now, those that are gone left out, new ones at the end. */
function replayToolset(recorded: Toolset, core: AgentCore): Toolset {
  const allowed = new Set(recorded.tools.filter((tool) => tool.alwaysAllowed).map((tool) => tool.name));
  const own = new Map(
    core.registry
      .specs((name) => allowed.has(name))
      .filter((spec) => spec.origin.kind !== 'mcp')
      .map((spec) => [spec.name, spec]),
  );
  const known = recorded.tools.flatMap((tool): readonly ToolSpec[] => {
    if (tool.origin.kind === 'mcp') return [tool];
    const now = own.get(tool.name);
    own.delete(tool.name);
    return now === undefined ? [] : [now];
  });
  return {
    ...recorded,
    tools: [...known, ...own.values()],
    skills: core.registry.skills(),
    recovery: core.registry.recovery(),
  };
}

import type { OutsideEvent } from '../../actors/journal.ts';
import type { McpLogLevel } from '../../mcp/config/config.ts';
import { toJson } from '../../json/to-json.ts';
import type { Toolset } from '../../machines/contract/agent-setup.ts';
import type { AgentCore } from '../core/agent-core.ts';
import { childrenNow } from '../below/child-tools.ts';
import type { StartedRun } from './run-plan.ts';

/** Tells runs that go on what has become of tools and servers. */
export interface ToolNews {
  /** Hears of changes of the agents below, until what it gives back is called. */
  followChildren(): () => void;
}

function isGrave(level: McpLogLevel): boolean {
  return level !== 'debug' && level !== 'info' && level !== 'notice';
}

/** Follows an agent's tools and servers for its runs. `runs` holds the tools that each knows of; null before it began. */
export function toolNews(core: AgentCore, runs: Map<StartedRun, Toolset | null>): ToolNews {
  /** `below`: the tools of an agent below have changed. */
  const announce = async (below: boolean): Promise<void> => {
    if (runs.size === 0) return;
    const children = below ? toJson(await childrenNow(core.children)) : null;
    if (children?.ok === false) return;
    const granted = await core.granted();
    await Promise.all(
      [...runs].map(async ([started, known]) => {
        if (known === null) return;
        const toolset = core.toolset(started.granted === undefined ? granted : await started.granted());
        const json = toJson(toolset);
        if ((!below && known === toolset) || !json.ok || runs.get(started) !== known) return;
        runs.set(started, toolset);
        const changed: OutsideEvent = {
          type: 'tools.changed',
          toolset: json.value,
          ...(children === null ? {} : { children: children.value }),
        };
        // Where it cannot be written the run has ended, and says why.
        await started.send(changed).catch(() => false);
      }),
    );
  };
  core.mcp.onNews((news) => {
    if (news.type === 'mcp.log') {
      const told = core.redactor.redact({ ...news, grave: isGrave(news.level) });
      for (const started of runs.keys()) started.announce(told);
    }
    if (news.type !== 'mcp.changed') return;
    const { server, state, step } = news;
    const tools = core.mcp.connection(server)?.tools.length ?? 0;
    for (const started of runs.keys()) started.announce({ type: 'mcp.changed', server, state, step, tools });
  });
  core.registry.onChange(() => void announce(false));
  core.onRemembered(() => announce(false));
  return {
    followChildren: () => {
      const stop = [...core.children.values()].map((child) => child.onChange(() => void announce(true)));
      return () => {
        for (const end of stop) end();
      };
    },
  };
}

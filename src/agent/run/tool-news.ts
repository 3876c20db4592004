import type { OutsideEvent } from '../../actors/journal.ts';
import type { McpLogLevel } from '../../mcp/config/config.ts';
import type { McpHubNews } from '../../mcp/hub.ts';
import { toJson } from '../../json/to-json.ts';
import type { Toolset } from '../../machines/contract/agent-setup.ts';
import type { AgentCore } from '../core/agent-core.ts';
import { childrenNow } from '../below/child-tools.ts';
import type { StartedRun } from './run-plan.ts';

function isGrave(level: McpLogLevel): boolean {
  return level !== 'debug' && level !== 'info' && level !== 'notice';
}

/** Reports changed tools and servers to the live runs of an agent, and listens for changes only while there are such runs. */
export class ToolNews {
  readonly #core: AgentCore;
  /** With the tools that each knows; null before it began. */
  readonly #runs: Map<StartedRun, Toolset | null>;
  #following = 0;
  #stop: readonly (() => void)[] = [];

  constructor(core: AgentCore, runs: Map<StartedRun, Toolset | null>) {
    this.#core = core;
    this.#runs = runs;
  }

  /** Listens for a run, to the agents below too, until the returned function is called. */
  follow(): () => void {
    const { mcp, registry, children } = this.#core;
    if (this.#following === 0) {
      // Not assigned where it is made: V8 makes such functions in its old generation, where they keep agent and journal.
      const announce = (below: boolean): Promise<void> => this.#announce(below);
      this.#core.onRemembered = announce;
      this.#stop = [mcp.onNews((news) => this.#tell(news)), registry.onChange(() => void this.#announce(false))];
    }
    this.#following += 1;
    const below = [...children.values()].map((child) => child.onChange(() => void this.#announce(true)));
    return () => {
      for (const end of below) end();
      this.#following -= 1;
      if (this.#following > 0) return;
      this.#core.onRemembered = null;
      for (const end of this.#stop) end();
    };
  }

  #tell(news: McpHubNews): void {
    const { redactor, mcp } = this.#core;
    if (news.type === 'mcp.log') {
      const told = redactor.redact({ ...news, grave: isGrave(news.level) });
      for (const started of this.#runs.keys()) started.announce(told);
    }
    if (news.type !== 'mcp.changed') return;
    const { server, state, step } = news;
    const tools = mcp.connection(server)?.tools.length ?? 0;
    for (const started of this.#runs.keys()) started.announce({ type: 'mcp.changed', server, state, step, tools });
  }

  /** `below`: the tools of an agent below have changed. */
  async #announce(below: boolean): Promise<void> {
    await Promise.all([...this.#runs.keys()].map(async (started) => this.#announceTo(started, below)));
  }

  async #announceTo(started: StartedRun, below: boolean): Promise<void> {
    const core = this.#core;
    const known = this.#runs.get(started) ?? null;
    if (known === null) return;
    const children = below ? toJson(await childrenNow(core.children, started.owner)) : null;
    const toolset = core.toolset(await core.granted(started.owner));
    // It was told of another change meanwhile, which may have been read before this one.
    if (this.#runs.get(started) !== known) return this.#announceTo(started, below);
    const json = toJson(toolset);
    if (children?.ok === false || (!below && known === toolset) || !json.ok) return;
    this.#runs.set(started, toolset);
    const changed: OutsideEvent = {
      type: 'tools.changed',
      toolset: json.value,
      ...(children === null ? {} : { children: children.value }),
    };
    await started.send(changed).catch(() => false); // If it cannot be written the run has ended, and reports why.
  }
}

import { digest } from '../actors/digest.ts';
import { toJson } from '../actors/to-json.ts';
import type { Toolset } from '../machines/agent-setup.ts';
import type { Json } from '../parsing/json.ts';
import type { AgentCore } from './agent-core.ts';
import type { StartedRun } from './start-run.ts';

/** The runs of one agent that go on, and what they know of its tools. */
export interface LiveRuns {
  readonly core: AgentCore;
  add(run: StartedRun): void;
  /** A run goes on with a toolset that was recorded; what is different now is told to it. */
  follow(run: StartedRun, recorded: Toolset | Json): void;
  forget(run: StartedRun): void;
  /** Waits for what a run needs, as one that starts does, at most until the signal aborts. */
  ready(signal: AbortSignal): Promise<void>;
}

/** Watches over runs that have a past; `runs` are all runs of the agent, with the tools that each knows of. */
export function liveRuns(
  core: AgentCore,
  runs: Map<StartedRun, Toolset | null>,
  followChildren: () => () => void,
): LiveRuns {
  const unfollow = new Map<StartedRun, () => void>();
  const tellDifference = async (run: StartedRun, recorded: Toolset | Json): Promise<void> => {
    const toolset = core.toolset(await core.allowed());
    if (!runs.has(run)) return;
    runs.set(run, toolset);
    const now = toJson(core.vault.seal(toolset));
    const before = toJson(recorded);
    if (!now.ok || (before.ok && digest(before.value) === digest(now.value))) return;
    await run.send({ type: 'tools.changed', toolset: now.value });
  };
  return {
    core,
    add: (run) => {
      runs.set(run, null);
      unfollow.set(run, followChildren());
    },
    follow: (run, recorded) => void tellDifference(run, recorded),
    forget: (run) => {
      runs.delete(run);
      unfollow.get(run)?.();
      unfollow.delete(run);
    },
    ready: async (signal) => void (await core.prepare({ signal })),
  };
}

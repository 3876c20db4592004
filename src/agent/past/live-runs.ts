import { digest } from '../../json/digest.ts';
import type { OutsideEvent } from '../../actors/journal.ts';
import type { OwnRedactor } from '../../actors/redactor.ts';
import { toJson } from '../../json/to-json.ts';
import { type KnownTools, lastKnown, repairSetups } from '../../journal/format/recorded-tools.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { AgentSetup, ChildSetup, PromptChange, Restart, Toolset } from '../../machines/contract/agent-setup.ts';
import { isJsonObject } from '../../json/json.ts';
import { heldTo } from '../../tools/spec.ts';
import type { AgentCore } from '../core/agent-core.ts';
import { childrenNow } from '../below/child-tools.ts';
import { ownerIn } from '../options/run-options.ts';
import type { StartedRun } from '../run/run-plan.ts';

/** The live runs of one agent, and what they know of its tools. */
export type LiveRuns = ReturnType<typeof liveRuns>;

/** The live runs of an agent with the tools that each knows, and the listeners for changed tools and for the end of a run. */
export interface RunsOf {
  readonly runs: Map<StartedRun, Toolset | null>;
  readonly news: { follow(): () => void };
  rest(): void;
}

/** Watches over runs that have a past. */
export function liveRuns(core: AgentCore, of: RunsOf) {
  const { runs } = of;
  const unfollow = new Map<StartedRun, () => void>();
  const tellDifference = async (run: StartedRun, known: KnownTools, { redact }: OwnRedactor): Promise<void> => {
    const toolset = core.toolset(await core.granted(run.owner));
    if (runs.get(run) !== known.toolset) return;
    runs.set(run, toolset);
    const now = toJson(redact(toolset));
    if (now.ok && !isSameJson(known.toolset, now.value)) await run.send({ type: 'tools.changed', toolset: now.value });
  };
  return {
    core,
    add: (run: StartedRun): void => {
      runs.set(run, null);
      unfollow.set(run, of.news.follow());
    },
    /** A run continues with the tools that were reported to it; any changes since then are reported to it. */
    follow: (run: StartedRun, known: KnownTools, redactor: OwnRedactor): void => {
      // It is told of every change from now on. If one cannot be written the run has ended, and reports why.
      runs.set(run, known.toolset);
      void tellDifference(run, known, redactor).catch(() => undefined);
    },
    forget: (run: StartedRun): void => {
      runs.delete(run);
      unfollow.get(run)?.();
      unfollow.delete(run);
      of.rest();
    },
    /** Waits for what a run needs, like a new run does, at most until the signal aborts; returns what it would start with. */
    ready: async (signal: AbortSignal): Promise<AgentSetup> => (await core.prepare({ signal }))(),
  };
}

/** How a run continues after these records. */
interface Continued {
  readonly past: Pick<Recording, 'head' | 'lines'>;
  /**
   * `now`: the run gets the tools as they stand. `recorded`: it keeps those that it had, and takes over only what has
   * become stricter about them.
   */
  readonly tools: 'now' | 'recorded';
  readonly restart: Restart;
  /** What becomes of the prompt; null: it stays. */
  readonly prompt?: PromptChange | null;
  readonly redact: <T>(value: T) => T;
}

/**
 * The changes of the tools since a recording was made, as the event that the run receives before anything else; the
 * machine keeps the policies that it had.
 */
export async function restartNews(
  core: AgentCore,
  { past, tools, restart, prompt = null, redact }: Continued,
): Promise<{ readonly event: OutsideEvent | null; readonly known: KnownTools }> {
  const asked = repairSetups(past);
  const { toolset: knownTools, children: below } = lastKnown(past);
  const before = { toolset: knownTools, children: [...below, ...asked] };
  const owner = ownerIn(past.head);
  const toolset = core.toolset(await core.granted(owner));
  const repairers = new Map(
    [...core.ports.repairers.all()].filter(([name]) => asked.some(({ tool }) => tool === name)),
  );
  const now = redact({ toolset, children: await childrenNow(new Map([...core.children, ...repairers]), owner) });
  const known = tools === 'now' ? now : strictest(before, now);
  const areSame = isSameJson(before.toolset, known.toolset);
  const isBelow = isSameJson(toolsBelow(before.children), toolsBelow(known.children));
  const told = toJson({
    toolset: known.toolset,
    ...(isBelow ? {} : { children: known.children }),
    restart,
    ...(prompt === null ? {} : { prompt }),
  });
  if ((areSame && isBelow && prompt === null) || !told.ok || !isJsonObject(told.value))
    return { event: null, known: before };
  return { event: { ...told.value, type: 'tools.changed' }, known };
}

/** The tools as they were, with what has become stricter about those that are still there. */
function strictest(before: KnownTools, now: KnownTools): KnownTools {
  const tools = before.toolset.tools.map((was) => {
    const tool = now.toolset.tools.find(({ name }) => name === was.name);
    return tool === undefined ? was : heldTo(was, tool);
  });
  const children = before.children.map(({ tool, setup }): ChildSetup => {
    const child = now.children.find((one) => one.tool === tool);
    return child === undefined ? { tool, setup } : { tool, setup: { ...setup, ...strictest(setup, child.setup) } };
  });
  return { toolset: { ...before.toolset, tools }, children };
}

/** The tools of agents below, without what is new whenever an agent is asked for its setup. */
function toolsBelow(children: readonly ChildSetup[]): readonly object[] {
  return children.map(({ tool, setup }) => ({ tool, toolset: setup.toolset, below: toolsBelow(setup.children) }));
}

/** Whether two values are the same JSON. */
export function isSameJson(one: unknown, other: unknown): boolean {
  const [a, b] = [toJson(one), toJson(other)];
  return a.ok && b.ok && digest(a.value) === digest(b.value);
}

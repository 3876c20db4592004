import { EXPLORE, type Explorable } from '../../journal/replay/replay.ts';
import { explorePaths } from '../../testing/explore/explore-paths.ts';
import type { ExploreOptions } from '../../testing/explore/explore-options.ts';
import { UsageError, loadModule, ofUser } from '../command/command.ts';
import { writeFound } from '../command/out-folder.ts';

/** What `signalbox verify` reports about one agent. */
export interface VerifiedAgent {
  readonly agent: string;
  readonly tools: readonly { readonly name: string; readonly policy: string; readonly ran: boolean }[];
  readonly maxSteps: number;
  readonly ok: boolean;
  readonly exhaustive: boolean;
  readonly bounds: readonly string[];
  readonly laws: readonly { readonly name: string; readonly says: string; readonly held: boolean }[];
  readonly violations: readonly BrokenLaw[];
  readonly configurations: number;
  readonly events: number;
  readonly depth: number;
  /** How many paths ended for which reason. */
  readonly endings: { readonly [reason: string]: number };
  readonly seconds: number;
}

/** A law that is broken, and where the counterexample was written; null where that could not be. */
export interface BrokenLaw {
  readonly law: string;
  readonly message: string;
  readonly state: string;
  readonly path: readonly string[];
  readonly file: string | null;
}

/** Explores an agent, writes counterexamples into the folder, and ends the servers that the agent has started. */
export async function verifyAgent(
  { name, agent, close }: LoadedAgent,
  limits: Pick<ExploreOptions, 'maxSteps' | 'maxPaths' | 'maxSeconds' | 'onProgress'>,
  folder: string,
): Promise<VerifiedAgent> {
  const began = performance.now();
  try {
    const { head } = await agent[EXPLORE]('Explore.');
    const found = await explorePaths(agent, limits);
    const violations = found.violations.map(({ counterexample, ...violation }): BrokenLaw => {
      const file = writeFound(folder, `${fileName(name)}.${violation.law}.jsonl`, counterexample);
      return { ...violation, file };
    });
    const endings: { [reason: string]: number } = {};
    for (const { reason } of found.paths) endings[reason ?? 'none'] = (endings[reason ?? 'none'] ?? 0) + 1;
    const { ok, exhaustive, bounds, configurations, events, depth } = found;
    return {
      agent: name,
      tools: head.toolset.tools.map((tool) => ({
        name: tool.name,
        policy: tool.policy,
        ran: found.ran.includes(tool.name),
      })),
      maxSteps: limits.maxSteps ?? head.options.maxSteps,
      ok,
      exhaustive,
      bounds,
      laws: found.laws,
      violations,
      configurations,
      events,
      depth,
      endings,
      seconds: Math.round((performance.now() - began) / 100) / 10,
    };
  } finally {
    await close();
  }
}

function fileName(agent: string): string {
  return agent.replaceAll(/[^\p{L}\p{N}_-]+/gu, '-');
}

/** An agent that a module exports. */
interface LoadedAgent {
  /** The agent's own name, and beside it the export's where the module has several. */
  readonly name: string;
  readonly agent: Explorable;
  close(): Promise<void>;
}

/**
 * Runs a module and returns the agents that it exports, or those that its default export returns, if that is a function;
 * `wanted` names one export, agent or function. Throws a `UsageError` when there is none.
 */
export async function loadAgents(file: string, wanted?: string): Promise<readonly LoadedAgent[]> {
  const module = await loadModule(file);
  const names = Object.keys(module).join(', ');
  if (wanted !== undefined && !(wanted in module))
    throw new UsageError(`'${file}' has no export '${wanted}'${names === '' ? '' : `, but ${names}`}.`);
  const found: { readonly name: string; readonly agent: Explorable }[] = [];
  for (const [name, exported] of Object.entries(module)) {
    if (wanted !== undefined && name !== wanted) continue;
    // A function is called only if it is clearly the one that makes the agent: other functions may do anything.
    const value = wanted === name || name === 'default' ? await made(exported, name, file) : exported;
    for (const agent of Array.isArray(value) ? value : [value]) if (isAgent(agent)) found.push({ name, agent });
  }
  const different = found.filter(({ agent }, index) => found.findIndex((other) => other.agent === agent) === index);
  if (different.length === 0) {
    throw new UsageError(
      `'${file}' exports no agent${names === '' ? '' : ` (it exports: ${names})`}. Export what createAgent() gives, or a function that gives it: export default createAgent({ … }). A function of another name is named with --export.`,
    );
  }
  return different.map(({ name, agent }) => ({
    name: nameOf(agent, different.length > 1 ? name : 'default'),
    agent,
    close: () => closed(agent),
  }));
}

/** What a function returns; anything else unchanged. */
function made(exported: unknown, name: string, file: string): Promise<unknown> {
  const make = (): unknown => (typeof exported === 'function' ? Reflect.apply(exported, undefined, []) : exported);
  return ofUser(`'${name}' of '${file}' made no agent`, make);
}

function isAgent(value: unknown): value is Explorable {
  return typeof value === 'object' && value !== null && EXPLORE in value;
}

function nameOf(agent: Explorable, exported: string): string {
  const own: unknown = Reflect.get(agent, 'name');
  const name = typeof own === 'string' ? own : 'agent';
  return exported === 'default' ? name : `${name} (${exported})`;
}

/** Ends the servers that an agent has started. */
async function closed(agent: Explorable): Promise<void> {
  const close: unknown = Reflect.get(agent, 'close');
  if (typeof close === 'function') await Reflect.apply(close, agent, []);
}

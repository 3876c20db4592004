import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EXPLORE } from '../../journal/replay/replay.ts';
import { explorePaths } from '../../testing/explore/explore-paths.ts';
import type { ExploreOptions } from '../../testing/explore/options.ts';
import { makeFolder } from '../../security/folders.ts';
import type { LoadedAgent } from './verify-load.ts';

/** What `signalbox verify` tells of one agent. */
export interface Verdict {
  readonly agent: string;
  readonly tools: readonly { readonly name: string; readonly policy: string; readonly ran: boolean }[];
  readonly maxSteps: number;
  readonly ok: boolean;
  readonly exhaustive: boolean;
  readonly bounds: readonly string[];
  readonly laws: readonly { readonly name: string; readonly says: string; readonly held: boolean }[];
  readonly violations: readonly BrokenLaw[];
  readonly configurations: number;
  readonly moves: number;
  readonly depth: number;
  /** How many paths ended for which reason. */
  readonly endings: { readonly [reason: string]: number };
  readonly seconds: number;
}

/** A law that is broken, and where the counterexample was written. */
export interface BrokenLaw {
  readonly law: string;
  readonly message: string;
  readonly state: string;
  readonly path: readonly string[];
  readonly file: string;
}

/** Explores an agent, writes counterexamples into the folder, and ends the servers that the agent has started. */
export async function verifyAgent(
  { name, agent, close }: LoadedAgent,
  limits: Pick<ExploreOptions, 'maxSteps' | 'maxPaths' | 'maxSeconds' | 'onProgress'>,
  folder: string,
): Promise<Verdict> {
  const began = performance.now();
  try {
    const { head } = await agent[EXPLORE]('Explore.');
    const found = await explorePaths(agent, limits);
    const violations: BrokenLaw[] = [];
    for (const { counterexample, ...violation } of found.violations) {
      const file = join(folder, `${fileName(name)}.${violation.law}.jsonl`);
      makeFolder(folder);
      await writeFile(file, counterexample, { mode: 0o600 });
      violations.push({ ...violation, file });
    }
    const endings: { [reason: string]: number } = {};
    for (const { reason } of found.paths) endings[reason ?? 'none'] = (endings[reason ?? 'none'] ?? 0) + 1;
    const { ok, exhaustive, bounds, configurations, moves, depth } = found;
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
      moves,
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

import type { RunResult } from '../../machines/contract/run-result.ts';
import type { AgentCore } from '../agent-core.ts';
import type { ChildPort } from './child-port.ts';
import { repairCore } from './repair.ts';
import { replaySetup } from '../past/replay-head.ts';

const LONGEST_SUMMARY = 300;

/** Does a task by an agent, beside whatever that does else. */
export type RunBeside = (core: AgentCore, ...given: Parameters<ChildPort['run']>) => PromiseLike<RunResult>;

/** What an agent offers to agents above it. */
export function ownPort(core: AgentCore, run: RunBeside): ChildPort {
  let repairer: ChildPort | null = null;
  return portOf(core, run, () => {
    if (core.options().implementedBy !== undefined) return null;
    repairer ??= portOf(repairCore(core), run, () => repairer);
    return repairer;
  });
}

function portOf(core: AgentCore, run: RunBeside, repairer: () => ChildPort | null): ChildPort {
  return {
    name: core.name,
    get description() {
      return describe(core);
    },
    get repairer() {
      return repairer();
    },
    depth: 1 + Math.max(0, ...[...core.children.values()].map((child) => child.depth)),
    ports: core.ports,
    prepare: (signal) => core.prepare({ signal }),
    setupNow: () => core.setupNow(),
    replayed: (recorded, policies) => replaySetup(recorded, core, policies),
    secrets: () => core.secrets(),
    hidden: () => core.hidden(),
    onChange: (listener) => {
      const stop = [
        core.registry.onChange(listener),
        ...[...core.children.values()].map((child) => child.onChange(listener)),
      ];
      return () => {
        for (const end of stop) end();
      };
    },
    run: (task, io) => run(core, task, io),
  };
}

/** What the model above is told that this agent is for. */
function describe(core: AgentCore): string {
  const { description, instructions } = core.options();
  if (description !== undefined) return description;
  const about = typeof instructions === 'string' ? (instructions.trim().split('\n')[0] ?? '') : '';
  const short = about.length > LONGEST_SUMMARY ? `${about.slice(0, LONGEST_SUMMARY)} …` : about;
  return `Hands a task to the agent '${core.name}' and gives back its answer.${short === '' ? '' : ` It was told: ${short}`}`;
}

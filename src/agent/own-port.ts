import type { RunResult } from '../machines/run-result.ts';
import type { AgentCore } from './agent-core.ts';
import type { ChildPort } from './child-port.ts';
import { replaySetup } from './replay-head.ts';

const LONGEST_SUMMARY = 300;

/** What an agent offers to agents above it. `run` does a task beside whatever the agent does else. */
export function ownPort(core: AgentCore, run: ChildPort['run']): ChildPort {
  return {
    name: core.name,
    get description() {
      return describe(core);
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
    run: (task, io): PromiseLike<RunResult> => run(task, io),
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

import { lazyMembers } from '../../json/json.ts';
import type { OwnRedactor } from '../../actors/redactor.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { AgentSetup, Toolset } from '../../machines/contract/agent-setup.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import { heldTo, type ToolSpec } from '../../tools/spec.ts';
import type { ChildPort, Policies, Preparing } from '../below/child-port.ts';
import { replayedChildren } from '../below/child-tools.ts';
import type { AgentCore } from './agent-core.ts';
import { repairCore } from './repair.ts';

const LONGEST_SUMMARY = 300;

/** Does a task with an agent, independently of its other work. */
export type RunBeside = (core: AgentCore, ...given: Parameters<ChildPort['run']>) => PromiseLike<AnyResult>;

/** What an agent offers to agents above it. */
export function ownPort(core: AgentCore, run: RunBeside): ChildPort {
  let repairer: ChildPort | null = null;
  return portOf(core, run, () => {
    if (core.options.implementedBy !== undefined) return null;
    repairer ??= portOf(repairCore(core), run, () => repairer);
    return repairer;
  });
}

function portOf(core: AgentCore, run: RunBeside, repairer: () => ChildPort | null): ChildPort {
  return lazily(
    {
      name: core.name,
      depth: 1 + Math.max(0, ...[...core.children.values()].map((child) => child.depth)),
      ports: core.ports,
      prepare: (how: Preparing) => core.prepare(how),
      setupNow: (owner?: string) => core.setupNow(owner),
      replayed: (recorded: AgentSetup, policies: Policies) => replaySetup(recorded, core, policies),
      secrets: () => core.redaction.secrets(),
      hidden: () => core.redaction.hidden(),
      names: () => core.redaction.names(),
      onChange: (listener: () => void) => {
        const stop = [
          core.registry.onChange(listener),
          ...[...core.children.values()].map((child) => child.onChange(listener)),
        ];
        return () => {
          for (const end of stop) end();
        };
      },
      run: (...given: Parameters<ChildPort['run']>) => run(core, ...given),
    },
    { core, repairer },
  );
}

const lazily = lazyMembers<
  { readonly core: AgentCore; readonly repairer: () => ChildPort | null },
  Pick<ChildPort, 'description' | 'repairer'>
>({ description: ({ core }) => describe(core), repairer: ({ repairer }) => repairer() });

/** What this agent is for, as described to the parent's model. */
function describe(core: AgentCore): string {
  const { description, instructions } = core.options;
  if (description !== undefined) return description;
  const about = typeof instructions === 'string' ? (instructions.trim().split('\n')[0] ?? '') : '';
  const short = about.length > LONGEST_SUMMARY ? `${about.slice(0, LONGEST_SUMMARY)} …` : about;
  return `Hands a task to the agent '${core.name}' and gives back its answer.${short === '' ? '' : ` It was told: ${short}`}`;
}

/** A resumed or forked run keeps the policies that it began with: they do not belong to any one agent. */
export function policiesFor({ head, lines }: Recording): Policies {
  return head.parent !== undefined || lines.some(({ t }) => t === 'restart') ? 'recorded' : 'own';
}

/**
 * The first line of a recording as this agent would have written it: its own instructions and local tools, everything
 * else as recorded. Equal to the recorded one unless the agent was changed.
 */
export function replayHead(
  recorded: RunRecord,
  core: AgentCore,
  policies: Policies,
  redactor: OwnRedactor = core.redactor,
): RunRecord {
  const now = {
    ...replayOwn(recorded, core, policies),
    ...(recorded.children === undefined
      ? {}
      : { children: replayedChildren(recorded.children, core.children, policies) }),
  };
  return core.redaction.redacted(now, redactor);
}

/** A child's recorded setup as it would give it now. */
export function replaySetup(recorded: AgentSetup, core: AgentCore, policies: Policies): AgentSetup {
  return {
    ...replayOwn(recorded, core, policies),
    children: replayedChildren(recorded.children, core.children, policies),
    escalates: core.options.onEscalation !== undefined,
  };
}

function replayOwn<TSetup extends RunRecord | AgentSetup>(recorded: TSetup, core: AgentCore, policies: Policies) {
  const { instructions = '', systemPrompt } = core.options;
  const { output, ...rest } = recorded;
  const now = replayedOutput(output, core);
  return {
    // With its keys where they stand in the recording: a replay's own recording is the same text.
    ...(now.output === undefined ? rest : recorded),
    instructions: typeof instructions === 'string' ? instructions : '',
    promptByCode: typeof instructions === 'function' || systemPrompt !== undefined,
    toolset: replayToolset(recorded.toolset, core, policies),
    ...now,
  };
}

/** What the answer must be: as the agent defines it now, unless the run had its own schema. Mode and model stay as recorded. */
function replayedOutput(output: RunRecord['output'], core: AgentCore): Pick<AgentSetup, 'output'> {
  if (output?.ofRun === true) return { output };
  const own = core.ports.output?.spec(output?.besideTools ?? false);
  return own === undefined ? {} : { output: own };
}

/** Recorded order; local tools as they are now, those that are gone left out, new ones at the end. */
function replayToolset(recorded: Toolset, core: AgentCore, policies: Policies): Toolset {
  const keys = new Set(recorded.tools.filter((tool) => tool.alwaysAllowed).map((tool) => tool.name));
  const own = new Map(
    core.registry
      .specs({ keys, outdated: new Map() })
      .filter((spec) => spec.origin.kind !== 'mcp')
      .map((spec) => [spec.name, spec]),
  );
  const known = recorded.tools.flatMap((tool): readonly ToolSpec[] => {
    if (tool.origin.kind === 'mcp') return [tool];
    const now = own.get(tool.name);
    own.delete(tool.name);
    return now === undefined ? [] : [underPolicies(tool, now, policies)];
  });
  return {
    ...recorded,
    tools: [...known, ...own.values()],
    skills: core.registry.skills(),
    recovery: core.registry.recovery(),
  };
}

function underPolicies(was: ToolSpec, now: ToolSpec, policies: Policies): ToolSpec {
  if (policies === 'own') return now;
  const { policy, enabled, alwaysAllowed, needsApproval } = policies === 'recorded' ? was : heldTo(now, was);
  const { needsApproval: _, ...rest } = now;
  return { ...rest, policy, enabled, alwaysAllowed, ...(needsApproval ? { needsApproval } : {}) };
}

import { type AgentSetup, DEFAULT_SETTINGS } from '../../machines/contract/agent-setup.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import { repairRequest, repairedBy } from '../../machines/tool-call/tool-recovery.ts';
import type { ToolError } from '../../json/errors.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { recover } from '../../recovery/recover.ts';
import { SEVERITIES, readSeverity } from '../../recovery/verdicts.ts';
import type { RecoveryStep, RepairTask, Repaired, SlotName } from '../../recovery/steps.ts';
import { type Tool, tool } from '../../tools/tool.ts';
import { agentWork } from '../below/agent-actors.ts';
import type { AgentPorts } from '../below/child-port.ts';
import type { AgentCore } from './agent-core.ts';
import { OwnRegistry } from '../tools/registry.ts';

/**
 * An agent as it repairs arguments: with its own instructions, model and tools, and two more tools, which escalate or
 * stop the run. It makes no plans. `end` is what these two do in addition.
 */
export function repairCore(core: AgentCore, end: WaysOut = HANDED_UP): AgentCore {
  const added = new OwnRegistry(
    { toolMs: ADDED_MS },
    { ...NOBODY_ASKED, mcp: core.mcp, settings: () => DEFAULT_SETTINGS },
  );
  added.register(...waysOut(end).filter(({ name }) => !core.registry.has(name)));
  const { registry: own } = core;
  const registry: OwnRegistry = boundTo(own, {
    has: (name: string) => own.has(name) || added.has(name),
    find: (name: string) => own.find(name) ?? added.find(name),
    slot: (name: string, slot: SlotName) => (!own.has(name) && added.has(name) ? added : own).slot(name, slot),
  });
  const ports: AgentPorts = boundTo(core.ports, { registry });
  const forRepair = (setup: AgentSetup): AgentSetup => ({
    ...setup,
    toolset: { ...setup.toolset, tools: [...setup.toolset.tools, ...added.specs()] },
    settings: { ...setup.settings, plans: false, answers: 'arguments' },
  });
  const work = agentWork(ports);
  return boundTo(core, {
    registry,
    ports,
    prepare: async (how: Parameters<AgentCore['prepare']>[0]) => {
      const make = await core.prepare(how);
      return () => forRepair(make());
    },
    setupNow: async (owner?: string) => forRepair(await core.setupNow(owner)),
    work: () => work,
  });
}

/** An object that behaves like another, except for some of its own members. */
function boundTo<T extends object>(base: T, own: Partial<T>): T {
  return new Proxy(base, {
    get: (_base, name): unknown => {
      if (name in own) return Reflect.get(own, name);
      const member: unknown = Reflect.get(base, name);
      return typeof member === 'function'
        ? (...given: unknown[]): unknown => Reflect.apply(member, base, given)
        : member;
    },
  });
}

const ADDED_MS = 1000;
const NOBODY_ASKED = { confirm: () => Promise.resolve(undefined), permissions: () => Promise.resolve(undefined) };

/** What a call of one of the two tools does to the run of the repair agent. */
interface WaysOut {
  readonly escalate: (error: ToolError) => RecoveryStep;
  readonly throwException: (error: ToolError) => RecoveryStep;
}

const HANDED_UP: WaysOut = {
  escalate: (error) => recover.escalate(reasonOf(error), severityOf(error)),
  throwException: (error) => recover.throwException(reasonOf(error)),
};

/** The two tools: they always fail, and what is done about that is what they are for. */
function waysOut(end: WaysOut): readonly Tool[] {
  const reason: JsonObject = { type: 'string' };
  const given = () => {
    throw new Error('given up');
  };
  return [
    tool({
      name: 'escalate',
      description: 'Say that these arguments are not yours to mend. Somebody above decides.',
      inputSchema: {
        type: 'object',
        properties: { reason, severity: { type: 'string', description: SEVERITIES.join(', ') } },
      },
      execute: given,
      onError: { executionError: end.escalate },
    }),
    tool({
      name: 'throwException',
      description: 'Stop the whole run at once, because going on would do harm.',
      inputSchema: { type: 'object', properties: { reason } },
      execute: given,
      onError: { executionError: end.throwException },
    }),
  ];
}

function argumentsOf(error: ToolError): JsonObject {
  return error.kind === 'execution' && isJsonObject(error.args) ? error.args : {};
}

function reasonOf(error: ToolError): string {
  const { reason } = argumentsOf(error);
  return typeof reason === 'string' && reason !== '' ? reason : 'no reason was given';
}

function severityOf(error: ToolError): ReturnType<typeof readSeverity> {
  return readSeverity(argumentsOf(error).severity);
}

/**
 * Repairs arguments with an agent outside of any run: by its own function if it has one, else by its own run. If there
 * is no agent above, its two extra tools end that run with their outcome.
 */
export async function repairBy(
  core: AgentCore,
  task: RepairTask,
  run: (core: AgentCore, task: string) => PromiseLike<AnyResult>,
): Promise<Repaired> {
  const { implementedBy } = core.options;
  if (implementedBy !== undefined) return { kind: 'arguments', value: await implementedBy(task) };
  let said: Repaired | null = null;
  const alone = repairCore(core, {
    escalate: (error) => {
      said = { kind: 'escalate', reason: reasonOf(error), severity: severityOf(error) };
      return recover.throwException();
    },
    throwException: (error) => {
      said = { kind: 'throw', reason: reasonOf(error) };
      return recover.throwException();
    },
  });
  const output = await run(alone, repairRequest(task));
  return { ...(said ?? repairedBy(core.name, output)), usage: output.usage };
}

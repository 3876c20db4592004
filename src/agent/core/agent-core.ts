import { Configured } from './configured.ts';
import { Redaction } from './redaction.ts';
import { callsNatively } from '../../actors/call-llm.ts';
import { type LeafWork, deepFreeze, workOf } from '../../actors/leaf.ts';
import type { Model } from '../../actors/model.ts';
import type { OwnRedactor } from '../../actors/redactor.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { liveJournal } from '../../journal/run/live-journal.ts';
import {
  type AgentSetup,
  type ChildSetup,
  DEFAULT_SETTINGS,
  type Toolset,
} from '../../machines/contract/agent-setup.ts';
import { type OwnWork, agentActors, agentLeaves, providedMachine, workFor } from '../below/agent-actors.ts';
import type { AgentPorts, Children } from '../below/child-port.ts';
import { confirmOf, isTerminal, settingsOf, toolCallingOf } from '../options/agent-settings.ts';
import { childrenNow, childrenOf, childTool, preparedChildren, repairAgents } from '../below/child-tools.ts';
import { decideBy } from '../below/decide.ts';
import { type Granted, NOTHING_GRANTED, grantedBy, keepGrant, needsConfirmation } from '../tools/granted.ts';
import { type McpBinding, mcpBinding } from '../servers/mcp-binding.ts';
import { checkServers, serverAnswers } from '../servers/server-answers.ts';
import { type AgentOptions, checkOptions } from '../options/agent-options.ts';
import { type OwnRegistry, ownRegistry } from '../tools/registry.ts';
import type { ToolSpec } from '../../tools/spec.ts';
import type { TypedOutput } from '../options/output-options.ts';
import type { ForkRunOptions } from '../options/run-options.ts';

/** The parts of one agent, resolved and held together; everything heavy is made when it is first needed. */
export interface AgentCore {
  readonly name: string;
  options(): AgentOptions;
  readonly registry: OwnRegistry;
  readonly mcp: McpBinding;
  /** Lives as long as the agent: a secret keeps its mark from run to run. */
  readonly redactor: OwnRedactor;
  /** A redactor for a resumed run, with the marks that it had. */
  redactorOf(recording: Recording): OwnRedactor;
  /** The first line of a recording with marks for secrets. */
  redacted(head: RunRecord): RunRecord;
  model(): Model;
  /** True where a model of the agent takes a schema and tools in one request. */
  besideTools(): boolean;
  journal(): JournalStore;
  /**
   * Waits for what a run needs (its servers) until `signal` aborts; what it gives then takes the
   * tools as they stand when it is called.
   */
  prepare(overrides: {
    readonly maxSteps?: number;
    readonly output?: TypedOutput | null;
    /** The owner of the conversation, whose "always allow" counts instead of the agent's. */
    readonly owner?: string | undefined;
    readonly signal: AbortSignal;
  }): Promise<() => AgentSetup>;
  /** What a run would be told now, without waiting for anything but the permission store. */
  setupNow(): Promise<AgentSetup>;
  readonly children: Children;
  readonly ports: AgentPorts;
  /** The texts that nobody may see, those of the agents below included. */
  secrets(): readonly string[];
  /** What people typed as secrets for servers, of the agents below too: seen by nobody, given to no tool. */
  hidden(): readonly string[];
  /** The tools and servers as they stand now. */
  toolset(granted?: Granted): Toolset;
  /** What the permission store says of the tools as they stand now. */
  granted(owner?: string): Promise<Granted>;
  /** Keeps an "always allow" of a conversation's owner. */
  remember(spec: ToolSpec, owner: string): Promise<void>;
  /** Called, and waited for, after an "always allow" was kept. */
  onRemembered(listener: () => Promise<void>): void;
  /** Goes another way from a point of a run of this agent; null until the agent is whole. */
  fork: ((recording: Recording, options: ForkRunOptions) => { readonly runId: string }) | null;
  /** What the leaves do for this agent: what a run of ours needs of it. */
  work(own?: OwnWork): LeafWork;
  /** The same for a bare machine in somebody's own actor system, as actors to provide. */
  actors(): ReturnType<typeof agentActors>;
  machine(): ReturnType<typeof providedMachine>;
  configure(changes: AgentOptions): void;
}

/**
 * Resolves the options of an agent. What it is made of is made in order: options, tools, servers, redaction, ports. Throws a
 * `TypeError` that names each wrong option. Does no I/O.
 */
export function agentCore(asGiven: AgentOptions): AgentCore {
  const given = checkOptions(asGiven);
  checkServers(given.mcpServers);
  const now = new Configured(given);
  const { name } = now;
  const children = childrenOf(given.children ?? []);
  const registry = registryOf(now, children, () => mcp);
  const repairers = repairAgents(() => registry.onErrors());
  const mcp: McpBinding = serversOf(now, registry, () => redaction);
  const redaction = new Redaction(now, mcp, () => [...children.values(), ...repairers.all().values()]);
  let remembered = (): Promise<void> => Promise.resolve();
  const ports: AgentPorts = {
    model: () => now.model,
    modelAt: (at) => now.modelAt(at),
    facts: () => now.facts,
    output: now.output,
    modelNamed: (asked) => now.modelNamed(asked),
    registry,
    mcp,
    confirm: () => confirmOf(now.options),
    remember: async (spec) => {
      await keepGrant(await now.permissions(), spec);
      await remembered();
    },
    options: now.read,
    setup: async (signal) => (await core.prepare({ signal }))(),
    decide: (error) => decideBy({ options: now.read, models: now.models, registry, children }, error),
    children,
    repairers,
  };
  const toolsets = new Toolsets(registry, mcp);
  const made = new MadeOnce(ports);
  const setupOf = (parts: SetupParts): AgentSetup => setupNow(now, mcp, core.toolset(parts.granted), parts);
  const core: AgentCore = {
    name,
    options: now.read,
    registry,
    mcp,
    redactor: redaction.redactor,
    redactorOf: (recording) => redaction.redactorOf(recording, core.journal()),
    redacted: (head) => redaction.redacted(head),
    model: () => now.model,
    besideTools: () => now.takesSchemaWithTools,
    journal: () => now.options.journal ?? RUN_ONLY,
    granted: async (owner) => {
      if (!needsConfirmation(registry)) return NOTHING_GRANTED;
      return grantedBy(registry, await (owner === undefined ? now.permissions() : now.permissionsOf(owner)));
    },
    remember: async (spec, owner) => {
      await keepGrant(await now.permissionsOf(owner), spec);
      await remembered();
    },
    onRemembered: (listener) => {
      remembered = listener;
    },
    fork: null,
    toolset: (granted = NOTHING_GRANTED) => toolsets.now(granted),
    prepare: async ({ maxSteps, output, owner, signal }) => {
      const timeoutMs = now.options.timeouts?.connectMs ?? DEFAULT_SETTINGS.connectMs;
      const connecting = signal.aborted ? undefined : mcp.ready({ timeoutMs, signal });
      const [makeBelow] = await Promise.all([preparedChildren(children, signal), connecting]);
      const granted = await core.granted(owner);
      return () => setupOf({ granted, told: now.facts.atStart(), below: makeBelow(), maxSteps, output });
    },
    setupNow: async () => setupOf({ granted: await core.granted(), told: [], below: await childrenNow(children) }),
    children,
    ports,
    secrets: () => redaction.secrets(),
    hidden: () => redaction.hidden(),
    work: (own) => (own === undefined ? made.work : workFor(ports, made.work, own)),
    actors: () => made.actors,
    machine: () => made.machine,
    configure: (changes) => now.configure(changes, registry),
  };
  return core;
}

function registryOf(now: Configured, children: Children, mcp: () => McpBinding): OwnRegistry {
  const { defaultPolicy, onError, tools = [], skills = [] } = now.options;
  const registry = ownRegistry(
    { ...(defaultPolicy === undefined ? {} : { defaultPolicy }), ...(onError === undefined ? {} : { onError }) },
    mcp,
    settingsOf(now.options),
    { confirm: () => confirmOf(now.options), permissions: () => now.permissions() },
  );
  registry.register(...tools);
  for (const one of skills) registry.addSkill(one);
  for (const [name, child] of children) registry.addChild(childTool(name, child));
  return registry;
}

function serversOf(now: Configured, registry: OwnRegistry, redaction: () => Redaction): McpBinding {
  const { mcpServers = {}, limits } = now.options;
  return mcpBinding({
    servers: mcpServers,
    registry,
    agent: now.name,
    limits: limits?.mcp ?? {},
    redact: (value) => redaction().redactor.redact(value),
    hide: (text) => redaction().hide(text),
    answers: () =>
      serverAnswers({
        options: now.read,
        terminal: isTerminal(),
        model: () => now.model,
        confirm: () => confirmOf(now.options),
        redactor: redaction().redactor,
      }),
  });
}

/** Without a journal of the caller's a run is kept by its own handle, as long as somebody has that. */
const RUN_ONLY: JournalStore = { open: (run) => liveJournal(run, null) };

interface SetupParts {
  readonly granted: Granted;
  /** What became known of the model. */
  readonly told: readonly string[];
  readonly below: readonly ChildSetup[];
  readonly maxSteps?: number | undefined;
  /** What the answer of this run must be, instead of the agent's. */
  readonly output?: TypedOutput | null | undefined;
}

/** What a run would be told now. */
function setupNow(now: Configured, mcp: McpBinding, toolset: Toolset, parts: SetupParts): AgentSetup {
  const { options, model, listed, name } = now;
  const settings = settingsOf(options);
  const output = parts.output ?? now.output;
  const { instructions = '', seed = Math.floor(Math.random() * 2 ** 31) } = options;
  return {
    agent: name,
    ...(options.version === undefined ? {} : { version: options.version }),
    instructions: typeof instructions === 'string' ? instructions : '',
    promptByCode: typeof instructions === 'function' || options.systemPrompt !== undefined,
    toolset,
    toolCalling: toolCallingOf(options, model),
    callsNatively: listed.length === 1 && callsNatively(model),
    settings: {
      ...settings,
      maxSteps: parts.maxSteps ?? settings.maxSteps,
      jitterSeed: seed,
      images: listed.some(({ takesImages }) => takesImages === true) ? 'sent' : 'named',
      ...(listed.some(({ takesFiles }) => takesFiles === true) ? { files: 'sent' } : {}),
    },
    seed,
    warnings: [...mcp.warnings(), ...parts.told],
    children: parts.below,
    escalates: options.onEscalation !== undefined,
    ...(output === null ? {} : { output: output.spec(now.takesSchemaWithTools) }),
    ...(listed.length === 1 ? {} : { models: now.listedModels() }),
  };
}

/** The toolset as it stands, the same object for as long as it is the same. */
class Toolsets {
  readonly #registry: OwnRegistry;
  readonly #mcp: McpBinding;
  #composed: { readonly key: string; readonly toolset: Toolset } | undefined;

  constructor(registry: OwnRegistry, mcp: McpBinding) {
    this.#registry = registry;
    this.#mcp = mcp;
    registry.onChange(() => {
      this.#composed = undefined;
    });
  }

  now(granted: Granted): Toolset {
    const key = JSON.stringify([[...granted.keys], [...granted.outdated], this.#mcp.notes()]);
    if (this.#composed?.key === key) return this.#composed.toolset;
    const toolset: Toolset = deepFreeze({
      tools: this.#registry.specs(granted),
      servers: this.#mcp.notes(),
      skills: this.#registry.skills(),
      recovery: this.#registry.recovery(),
    });
    this.#composed = { key, toolset };
    return toolset;
  }
}

/** Leaves, actors and machine of an agent, each made when it is first needed. */
class MadeOnce {
  readonly #ports: AgentPorts;
  #leaves: ReturnType<typeof agentLeaves> | undefined;
  #work: LeafWork | undefined;
  #actors: ReturnType<typeof agentActors> | undefined;
  #machine: ReturnType<typeof providedMachine> | undefined;

  constructor(ports: AgentPorts) {
    this.#ports = ports;
  }

  get work(): LeafWork {
    return (this.#work ??= workOf(Object.values(this.#own)));
  }

  get actors(): ReturnType<typeof agentActors> {
    return (this.#actors ??= agentActors(this.#own));
  }

  get machine(): ReturnType<typeof providedMachine> {
    return (this.#machine ??= providedMachine(this.actors));
  }

  get #own(): ReturnType<typeof agentLeaves> {
    return (this.#leaves ??= agentLeaves(this.#ports));
  }
}

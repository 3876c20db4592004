import { type ModelFacts, callsNatively, factsOf } from '../../actors/call-llm.ts';
import { type LeafWork, deepFreeze, workOf } from '../../actors/leaf.ts';
import type { Model } from '../../actors/model.ts';
import { type OwnVault, createVault } from '../../actors/vault.ts';
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
import { processEnvironment } from '../../models/endpoint/environment.ts';
import { secretsOf } from '../../models/endpoint/model-secrets.ts';
import { resolveModel } from '../../models/chat/chat-model.ts';
import { agentActors, agentLeaves, providedMachine } from '../below/agent-actors.ts';
import { type AgentPorts } from '../below/child-port.ts';
import { confirmOf, isTerminal, settingsOf, toolCallingOf } from '../options/agent-settings.ts';
import { childrenNow, childrenOf, childTool, preparedChildren, repairAgents } from '../below/child-tools.ts';
import { type Children } from '../below/child-port.ts';
import { checkConfigurable } from '../options/check-options.ts';
import { decideBy } from '../below/decide.ts';
import {
  type Granted,
  NOTHING_GRANTED,
  grantedBy,
  keepGrant,
  needsConfirmation,
  resolvePermissions,
} from '../tools/granted.ts';
import { type Permissions } from '../options/option-types.ts';
import { type McpBinding, mcpBinding } from '../servers/mcp-binding.ts';
import { checkServers, serverAnswers } from '../servers/server-answers.ts';
import { serverSecrets } from '../../mcp/config/server-secrets.ts';
import { type AgentOptions, checkOptions } from '../options/agent-options.ts';
import { type OwnRegistry, ownRegistry } from '../tools/registry.ts';
import type { ForkRunOptions } from '../options/run-options.ts';

/** The parts of one agent, resolved and held together; everything heavy is made when it is first needed. */
export interface AgentCore {
  readonly name: string;
  options(): AgentOptions;
  readonly registry: OwnRegistry;
  readonly mcp: McpBinding;
  /** Lives as long as the agent: a secret keeps its mark from run to run. */
  readonly vault: OwnVault;
  /** A vault for a run that is taken up, with the marks that it had. */
  vaultOf(recording: Recording): OwnVault;
  /** The first line of a recording with marks for secrets. */
  sealed(head: RunRecord): RunRecord;
  model(): Model;
  journal(): JournalStore;
  /**
   * Waits for what a run needs (its servers) until `signal` aborts; what it gives then takes the
   * tools as they stand when it is called.
   */
  prepare(overrides: { readonly maxSteps?: number; readonly signal: AbortSignal }): Promise<() => AgentSetup>;
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
  granted(): Promise<Granted>;
  /** Called, and waited for, after an "always allow" was kept. */
  onRemembered(listener: () => Promise<void>): void;
  /** Goes another way from a point of a run of this agent; null until the agent is whole. */
  fork: ((recording: Recording, options: ForkRunOptions) => { readonly runId: string }) | null;
  /** What the leaves do for this agent: what a run of ours needs of it. */
  work(): LeafWork;
  /** The same for a bare machine in somebody's own actor system, as actors to provide. */
  actors(): ReturnType<typeof agentActors>;
  machine(): ReturnType<typeof providedMachine>;
  configure(changes: AgentOptions): void;
}

/** Resolves the options of an agent. Throws a `TypeError` that names each wrong one. Does no I/O. */
export function agentCore(asGiven: AgentOptions): AgentCore {
  const given = checkOptions(asGiven);
  checkServers(given.mcpServers);
  const env = processEnvironment();
  const name = given.name ?? 'agent';
  let options = given;
  let model = resolveModel(given.model, env);
  const models = new Map(Object.entries(given.models ?? {}).map(([key, spec]) => [key, resolveModel(spec, env)]));
  const children = childrenOf(given.children ?? []);
  let leaves: ReturnType<typeof agentLeaves> | undefined;
  let work: LeafWork | undefined;
  let actors: ReturnType<typeof agentActors> | undefined;
  let machine: ReturnType<typeof providedMachine> | undefined;
  let store: Promise<Permissions | undefined> | undefined;
  let composed: { readonly key: string; readonly toolset: Toolset } | undefined;
  const lookInto = (): ModelFacts => factsOf(model, options.minContextSize ?? 32_768);
  let facts = lookInto();
  let remembered = (): Promise<void> => Promise.resolve();

  const permissions = (): Promise<Permissions | undefined> => {
    store ??= resolvePermissions(options.permissions, name);
    return store;
  };
  const registry: OwnRegistry = ownRegistry(
    {
      ...(given.defaultPolicy === undefined ? {} : { defaultPolicy: given.defaultPolicy }),
      ...(given.onError === undefined ? {} : { onError: given.onError }),
    },
    () => mcp,
    settingsOf(given),
    { confirm: () => confirmOf(options), permissions },
  );
  registry.onChange(() => {
    composed = undefined;
  });
  registry.register(...(given.tools ?? []));
  for (const one of given.skills ?? []) registry.addSkill(one);
  for (const [tool, child] of children) registry.addChild(childTool(tool, child));
  const repairers = repairAgents(() => registry.onErrors());
  const mcp: McpBinding = mcpBinding({
    servers: given.mcpServers ?? {},
    registry,
    agent: name,
    limits: given.limits?.mcp ?? {},
    seal: (value) => vault.seal(value),
    hide: (text) => void typed.add(text),
    answers: () =>
      serverAnswers({
        options: () => options,
        terminal: isTerminal(),
        model: () => model,
        confirm: () => confirmOf(options),
        vault,
      }),
  });

  const ports: AgentPorts = {
    model: () => model,
    facts: () => facts,
    modelNamed: (asked) => {
      const known = models.get(asked) ?? resolveModel(asked, env);
      models.set(asked, known);
      return known;
    },
    registry,
    mcp,
    confirm: () => confirmOf(options),
    remember: async (spec) => {
      await keepGrant(await permissions(), spec);
      await remembered();
    },
    options: () => options,
    setup: async (signal) => (await core.prepare({ signal }))(),
    decide: (error) => decideBy({ options: () => options, models, registry, children }, error),
    children,
    repairers,
  };
  const ownLeaves = (): ReturnType<typeof agentLeaves> => {
    leaves ??= agentLeaves(ports);
    return leaves;
  };

  const fixedSecrets = serverSecrets(given.mcpServers ?? {});
  let listing = false;
  const ownSecrets = (): readonly string[] => {
    // A function may have chosen an agent to mend for itself, or for another that mends for it.
    if (listing) return [];
    listing = true;
    const below = [...children.values(), ...repairers.all().values()].flatMap((port) => port.secrets());
    listing = false;
    const own = [...fixedSecrets, ...mcp.secrets()];
    return [...(options.secrets ?? []), ...own, ...[model, ...models.values()].flatMap(secretsOf), ...below];
  };
  const typed = new Set<string>();
  let gathering = false;
  const hidden = (): readonly string[] => {
    if (gathering) return [];
    gathering = true;
    const below = [...children.values(), ...repairers.all().values()].flatMap((port) => port.hidden());
    gathering = false;
    return [...typed, ...below];
  };
  const vault = createVault(ownSecrets, {}, hidden);

  const setupOf = (now: {
    readonly granted: Granted;
    readonly told: readonly string[];
    readonly below: readonly ChildSetup[];
    readonly maxSteps?: number | undefined;
  }): AgentSetup => {
    const settings = settingsOf(options);
    const { instructions = '', seed = Math.floor(Math.random() * 2 ** 31) } = options;
    return {
      agent: name,
      instructions: typeof instructions === 'string' ? instructions : '',
      promptByCode: typeof instructions === 'function' || options.systemPrompt !== undefined,
      toolset: core.toolset(now.granted),
      toolCalling: toolCallingOf(options, model),
      callsNatively: callsNatively(model),
      settings: {
        ...settings,
        maxSteps: now.maxSteps ?? settings.maxSteps,
        jitterSeed: seed,
        images: model.takesImages === true ? 'sent' : 'named',
      },
      seed,
      warnings: [...mcp.warnings(), ...now.told],
      children: now.below,
      escalates: options.onEscalation !== undefined,
    };
  };

  const core: AgentCore = {
    name,
    options: () => options,
    registry,
    mcp,
    vault,
    vaultOf: (recording) => {
      const { secrets } = core.journal();
      const again = createVault(ownSecrets, secrets?.read(recording.head.runId), hidden);
      // A journal that keeps no secrets leaves those of the options, which have the first marks.
      if (secrets === undefined) again.seal(options.secrets ?? []);
      again.reserve([recording.head, recording.lines]);
      return again;
    },
    sealed: (head) => {
      // What belongs to the agent is numbered first: a replay by an agent like it gets the same marks.
      const local = head.toolset.tools.filter((one) => one.origin.kind === 'local');
      vault.seal([options.secrets ?? [], head.instructions, local]);
      return vault.seal(head);
    },
    model: () => model,
    journal: () => options.journal ?? RUN_ONLY,
    granted: async () => (needsConfirmation(registry) ? grantedBy(registry, await permissions()) : NOTHING_GRANTED),
    onRemembered: (listener) => {
      remembered = listener;
    },
    fork: null,
    toolset: (granted = NOTHING_GRANTED) => {
      const key = JSON.stringify([[...granted.keys], [...granted.outdated], mcp.notes()]);
      if (composed?.key === key) return composed.toolset;
      const tools = registry.specs(granted);
      const toolset: Toolset = deepFreeze({
        tools,
        servers: mcp.notes(),
        skills: registry.skills(),
        recovery: registry.recovery(),
      });
      composed = { key, toolset };
      return toolset;
    },
    prepare: async ({ maxSteps, signal }) => {
      const connecting = signal.aborted
        ? undefined
        : mcp.ready({ timeoutMs: options.timeouts?.connectMs ?? DEFAULT_SETTINGS.connectMs, signal });
      const [makeBelow] = await Promise.all([preparedChildren(children, signal), connecting]);
      const granted = await core.granted();
      return () => setupOf({ granted, told: facts.atStart(), below: makeBelow(), maxSteps });
    },
    setupNow: async () => setupOf({ granted: await core.granted(), told: [], below: await childrenNow(children) }),
    children,
    ports,
    secrets: ownSecrets,
    hidden,
    work: () => {
      work ??= workOf(Object.values(ownLeaves()));
      return work;
    },
    actors: () => {
      actors ??= agentActors(ownLeaves());
      return actors;
    },
    machine: () => {
      machine ??= providedMachine(core.actors());
      return machine;
    },
    configure: (changes) => {
      checkConfigurable(changes);
      options = { ...options, ...checkOptions(changes, 'agent.configure') };
      if (changes.model !== undefined) {
        model = resolveModel(changes.model, env);
        facts = lookInto();
      }
      if (changes.defaultPolicy !== undefined) registry.setDefaultPolicy(changes.defaultPolicy);
      if (changes.permissions !== undefined) store = undefined;
    },
  };
  return core;
}

/** Without a journal of the caller's a run is kept by its own handle, as long as somebody has that. */
const RUN_ONLY: JournalStore = { open: (run) => liveJournal(run, null) };

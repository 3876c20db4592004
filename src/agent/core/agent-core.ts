import { Configured, type SetupParts } from './configured.ts';
import { Redaction } from './redaction.ts';
import type { Confirm } from '../../actors/ask-approval.ts';
import type { LeafWork } from '../../actors/leaf.ts';
import type { OwnRedactor } from '../../actors/redactor.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { LiveJournal } from '../../journal/run/live-journal.ts';
import type { EscalationError } from '../../json/errors.ts';
import {
  type AgentSettings,
  type AgentSetup,
  DEFAULT_SETTINGS,
  type Toolset,
} from '../../machines/contract/agent-setup.ts';
import type { Model } from '../../actors/model.ts';
import { readModelName } from '../../models/endpoint/presets.ts';
import { type Verdict, checkVerdict, verdictsFor } from '../../recovery/verdicts.ts';
import { CHILD } from '../options/option-types.ts';
import { type OwnWork, agentActors, agentWork, providedMachine, workFor } from '../below/agent-actors.ts';
import { type AgentPorts, type Children, type Preparing, RepairAgents } from '../below/child-port.ts';
import { confirmOf, settingsOf } from '../options/agent-settings.ts';
import { childrenNow, childrenOf, childTool, preparedChildren } from '../below/child-tools.ts';
import { type Granted, NOTHING_GRANTED, grantedBy, keepGrant } from '../tools/granted.ts';
import { McpBinding } from '../servers/mcp-binding.ts';
import { checkServers } from '../servers/server-answers.ts';
import { type AgentOptions, checkOptions } from '../options/agent-options.ts';
import { OwnRegistry } from '../tools/registry.ts';
import type { ToolSpec } from '../../tools/spec.ts';
import type { TypedOutput } from '../options/output-options.ts';
import type { ForkRunOptions } from '../options/run-options.ts';

/** What is different about one run. */
interface Overrides extends Preparing {
  readonly maxSteps?: number;
  readonly output?: TypedOutput | null;
}

const NO_CHILDREN: Children = new Map();

/**
 * The parts of one agent. What it is made of is made in order: options, tools, servers; the rest when it is first needed, for
 * there are programs with an agent for each of ten thousand users.
 */
export class AgentCore extends Configured implements AgentPorts {
  readonly children: Children;
  readonly registry: OwnRegistry;
  readonly mcp: McpBinding;
  /** Those that go another way from a point of another; null until the agent is whole. */
  runs: { readonly past: { fork(recording: Recording, options: ForkRunOptions): { readonly runId: string } } } | null =
    null;
  /** Called, and waited for, after an "always allow" was kept. */
  onRemembered: ((below: boolean) => Promise<void>) | null = null;
  #redaction: Redaction | null = null;
  #repairers: RepairAgents | null = null;
  #work: LeafWork | null = null;
  #actors: ReturnType<typeof agentActors> | null = null;
  #machine: ReturnType<typeof providedMachine> | null = null;

  /** Throws a `TypeError` that names each wrong option. Does no I/O. */
  constructor(asGiven: AgentOptions) {
    const given = checkOptions(asGiven);
    const { children = [], mcpServers, tools = [], skills = [], defaultPolicy, onError } = given;
    checkServers(mcpServers);
    super(given);
    this.children = children.length === 0 ? NO_CHILDREN : childrenOf(children);
    this.registry = new OwnRegistry({ defaultPolicy, onError, toolMs: settingsOf(given).toolMs }, this);
    this.registry.register(...tools, ...skills);
    for (const [name, child] of this.children) this.registry.addChild(childTool(name, child));
    this.mcp = new McpBinding(this);
    // Variables in their configuration have their current values.
    if (mcpServers !== undefined) this.#redaction = this.redaction;
  }

  /** What the leaves of a run of this agent reach. */
  get ports(): AgentPorts {
    return this;
  }

  /** Lives as long as the agent: a secret keeps its mark from run to run. */
  get redactor(): OwnRedactor {
    return this.redaction.redactor;
  }

  get repairers(): RepairAgents {
    return (this.#repairers ??= new RepairAgents(this.registry));
  }

  settings(): AgentSettings {
    return settingsOf(this.options);
  }

  confirm(): Promise<Confirm | 'wait' | undefined> {
    return confirmOf(this.options);
  }

  async remember(spec: ToolSpec, owner?: string): Promise<void> {
    await keepGrant(await this.permissions(owner), spec);
    await this.onRemembered?.(false);
  }

  /** The permission store's decisions about the tools as they are now. */
  async granted(owner?: string, signal?: AbortSignal): Promise<Granted> {
    return this.registry.needsConfirmation()
      ? grantedBy(this.registry, await this.permissions(owner), signal)
      : NOTHING_GRANTED;
  }

  async setup(signal: AbortSignal): Promise<AgentSetup> {
    return (await this.prepare({ signal }))();
  }

  decide(error: EscalationError): Promise<Verdict | null> {
    return decideBy(this, error);
  }

  get redaction(): Redaction {
    return (this.#redaction ??= new Redaction(this));
  }

  journal(): JournalStore {
    return this.options.journal ?? RUN_ONLY;
  }

  /** The tools and servers as they stand now. */
  toolset(granted: Granted = NOTHING_GRANTED): Toolset {
    return this.registry.toolset(granted, this.mcp.notes());
  }

  /**
   * Waits for what a run needs (its servers) until `signal` aborts; what it gives then takes the
   * tools as they stand when it is called.
   */
  async prepare({ maxSteps, output, owner, signal, mostMs = Infinity }: Overrides): Promise<() => AgentSetup> {
    const { connectMs = DEFAULT_SETTINGS.connectMs, totalMs = Infinity } = this.options.timeouts ?? {};
    const how = { owner, signal, mostMs: Math.min(mostMs, totalMs) };
    const timeoutMs = Math.min(connectMs, how.mostMs);
    const connecting = signal.aborted ? undefined : this.mcp.ready({ timeoutMs, signal });
    const [makeBelow] = await Promise.all([preparedChildren(this.children, how), connecting]);
    const granted = await this.granted(owner, signal);
    return () => this.#setupOf({ granted, told: this.facts.atStart(), below: makeBelow(), maxSteps, output });
  }

  /** What a run would start with now, without waiting for anything but the permission store. */
  async setupNow(owner?: string): Promise<AgentSetup> {
    const below = await childrenNow(this.children, owner);
    return this.#setupOf({ granted: await this.granted(owner), told: [], below });
  }

  #setupOf(parts: SetupParts & { readonly granted: Granted }): AgentSetup {
    return this.setupFor(parts, this.toolset(parts.granted), this.mcp.warnings());
  }

  /** What the leaves do for this agent: what a run of ours needs of it. */
  work(own?: OwnWork): LeafWork {
    const work = (this.#work ??= agentWork(this));
    return own === undefined ? work : workFor(this, work, own);
  }

  /** No run is live: what only runs need is released. */
  rest(): void {
    this.#work = null;
  }

  /** The same for a bare machine in a caller's own actor system, as actors to provide. */
  actors(): ReturnType<typeof agentActors> {
    return (this.#actors ??= agentActors(this));
  }

  machine(): ReturnType<typeof providedMachine> {
    return (this.#machine ??= providedMachine(this.actors()));
  }

  override configure(changes: AgentOptions): void {
    super.configure(changes);
    if (changes.defaultPolicy !== undefined) this.registry.defaultPolicy = changes.defaultPolicy;
  }
}

/** Without a journal from the caller, a run is kept only by its own handle, as long as that is referenced. */
const RUN_ONLY: JournalStore = { open: (run) => new LiveJournal(run, null) };

/** Where the names and objects of verdicts are looked up. */
interface Known {
  readonly options: AgentOptions;
  readonly models: ReadonlyMap<string, Model>;
  readonly registry: OwnRegistry;
  readonly children: Children;
}

/** Asks the author's `onEscalation`; what it names must be this agent's. */
async function decideBy(known: Known, error: EscalationError): Promise<Verdict | null> {
  const { onEscalation } = known.options;
  if (onEscalation === undefined) return null;
  const to = verdictsFor(error, {
    model: (given) => modelName(known, given),
    place: (given) => placeNamed(known, given),
  });
  return checkVerdict(await onEscalation(error, to));
}

function modelName({ options, models }: Known, given: string | object): string | null {
  if (typeof given !== 'string')
    return Object.entries(options.models ?? {}).find(([, model]) => model === given)?.[0] ?? null;
  return models.has(given) || readModelName(given) !== undefined ? given : null;
}

function placeNamed(
  { registry, children }: Known,
  given: string | object,
): { readonly to: 'skill' | 'agent'; readonly name: string } | null {
  if (typeof given !== 'string') {
    const port: unknown = Reflect.get(given, CHILD);
    const child = [...children].find(([, one]) => one === port);
    if (child !== undefined) return { to: 'agent', name: child[0] };
    const name: unknown = Reflect.get(given, 'name');
    return typeof name === 'string' && registry.skill(name) === given ? { to: 'skill', name } : null;
  }
  if (registry.skill(given) !== undefined) return { to: 'skill', name: given };
  return children.has(given) ? { to: 'agent', name: given } : null;
}

import { wrongOption } from '../../json/known-options.ts';
import { MAKE_PLAN } from '../../machines/agent/system-prompt.ts';
import { type ResolvedOnError, recoveryData, resolveOnError } from '../../recovery/plan-data.ts';
import type { OnError, Repairer } from '../../recovery/steps.ts';
import type { Toolset } from '../../machines/contract/agent-setup.ts';
import { sentName } from '../../tools/lookup.ts';
import type { ToolIdentity, Policy, ToolOrigin, ToolSpec } from '../../tools/spec.ts';
import { type Skill, isSkill } from '../../tools/skill.ts';
import { type Tool, tool } from '../../tools/tool.ts';
import { type Granted, NOTHING_GRANTED, grantOf } from './granted.ts';
import { type OwnedOnError, refuseRepairCircle } from './repair-circle.ts';

interface Entry {
  readonly tool: Tool;
  readonly origin: ToolOrigin;
  readonly policy: Policy;
  readonly skill: Skill | null;
  /** Made when it is first asked for. */
  slots: ResolvedOnError | null;
}

const LOCAL: ToolOrigin = { kind: 'local' };
const NO_SKILLS: readonly Skill[] = [];

/** A tool of an MCP server, to be registered. */
export interface ServerEntry {
  readonly server: string;
  readonly serverTool: string;
  readonly identity: ToolIdentity;
  readonly tool: Tool;
}

interface ToolsOptions {
  readonly defaultPolicy?: Policy | undefined;
  readonly onError?: OnError | undefined;
  readonly toolMs: number;
}

const NOTHING: readonly never[] = [];

/** The tools and skills of a registry, in the order of their registration. */
export class Tools {
  readonly entries = new Map<string, Entry>();
  ownSkills = NO_SKILLS;
  listeners: readonly (() => void)[] = NOTHING;
  /** Nothing is registered that would make this agent repair its own mistakes. */
  agent: Repairer | null = null;
  defaultPolicy: Policy;
  /** Counts the changes of the tools. */
  revision = 0;
  /** Tools of servers that were removed, with their server: they stay so when it lists them again. */
  #unwanted: Map<string, string> | null = null;
  readonly #onError: OnError | undefined;
  readonly toolMs: number;

  constructor({ defaultPolicy = 'allow', onError, toolMs }: ToolsOptions) {
    this.defaultPolicy = defaultPolicy;
    this.#onError = onError;
    this.toolMs = toolMs;
  }

  /** Adds tools, and skills with theirs. All or none: a list with a mistake in it registers nothing. */
  register(...made: readonly (Tool | Skill)[]): void {
    const added = made.filter(isSkill);
    const skills = [...this.ownSkills, ...added];
    const twice = skills.find(({ name }, at) => skills.some((one, i) => i < at && one.name === name));
    if (twice !== undefined) throw wrongOption(`There is a skill named '${twice.name}' already. Choose another name.`);
    const ready = made.flatMap<readonly [Tool, Skill | null]>((one) =>
      isSkill(one) ? one.tools.map((its) => [finished(its), one]) : [[finished(one), null]],
    );
    const names = [...this.entries.keys()];
    for (const [{ name }] of ready) {
      if (names.includes(name))
        throw wrongOption(`A tool named '${name}' is registered already. Remove it first, or choose another name.`);
      refuseSameSent(name, names);
      names.push(name);
    }
    if (this.agent !== null)
      refuseRepairCircle(this.agent, [...ready.map(([one]) => ownedByTool(one)), ...added.map(ownedBySkill)]);
    for (const [one, skill] of ready) this.#add(one, LOCAL, skill);
    if (added.length > 0) this.ownSkills = skills;
    this.#changed();
  }

  /** Replaces all tools of MCP servers at once. */
  replaceServerTools(tools: readonly ServerEntry[]): void {
    for (const [name, { origin }] of this.entries) if (origin.kind === 'mcp') this.entries.delete(name);
    for (const { server, serverTool, identity, tool: made } of tools)
      if (this.#unwanted?.get(made.name) !== server)
        this.#add(made, { kind: 'mcp', server, tool: serverTool, identity }, null);
    this.#changed();
  }

  /** Registers the tool that hands tasks to a child agent. */
  addChild(made: Tool): void {
    if (this.entries.has(made.name))
      throw wrongOption(`A tool named '${made.name}' is registered already: name the child agent differently.`);
    refuseSameSent(made.name, [...this.entries.keys()]);
    this.#add(made, { kind: 'agent' }, null);
    this.#changed();
  }

  remove(name: string): boolean {
    const entry = this.entries.get(name);
    const skill = this.skill(name);
    if (entry !== undefined) this.#drop(name, entry);
    else if (skill === undefined) return false;
    else {
      this.ownSkills = this.ownSkills.filter((one) => one !== skill);
      for (const [its, one] of this.entries) if (one.skill === skill) this.#drop(its, one);
    }
    this.#changed();
    return true;
  }

  skill(name: string): Skill | undefined {
    return this.ownSkills.find((one) => one.name === name);
  }

  clear(): void {
    this.ownSkills = NO_SKILLS;
    for (const [name, entry] of this.entries) this.#drop(name, entry);
    this.#changed();
  }

  #drop(name: string, { origin }: Entry): void {
    this.entries.delete(name);
    if (origin.kind === 'mcp') (this.#unwanted ??= new Map()).set(name, origin.server);
  }

  /** A server that is connected anew brings all of its tools. */
  forgetRemoved(server: string): void {
    for (const [name, of] of this.#unwanted ?? []) if (of === server) this.#unwanted?.delete(name);
  }

  specs(granted = NOTHING_GRANTED): readonly ToolSpec[] {
    return [...this.entries.values()].map((entry) => this.#specOf(entry, granted));
  }

  /**
   * What is composed from these tools: shared by all agents that were made with them and have not changed them since. It must
   * depend on nothing else.
   */
  shared(compose: () => Toolset): Toolset {
    const entries = [...this.entries.values()];
    const [first] = entries;
    if (first === undefined || this.revision > 1 || this.#onError !== undefined || this.ownSkills.length > 0)
      return compose();
    const known = SHARED.get(first.tool);
    if (known?.toolMs === this.toolMs && isSameList(known.entries, entries)) return known.toolset;
    const toolset = compose();
    // What is not frozen may be changed between two agents.
    if (entries.every(({ tool: one, origin }) => Object.isFrozen(one) && origin === LOCAL))
      SHARED.set(first.tool, { entries, toolMs: this.toolMs, toolset });
    return toolset;
  }

  slotsOf(entry: Entry | undefined): ResolvedOnError {
    if (entry === undefined) return resolveOnError([this.#onError]);
    return (entry.slots ??= resolveOnError([entry.tool.onError, entry.skill?.onError, this.#onError]));
  }

  /** What tools, skills and the agent itself do about errors. */
  onErrors(): readonly OwnedOnError[] {
    const found: OwnedOnError[] = this.#onError === undefined ? [] : [{ owner: 'createAgent', onError: this.#onError }];
    for (const skill of this.ownSkills) if (skill.onError !== undefined) found.push(ownedBySkill(skill));
    for (const { tool: one } of this.entries.values()) if (one.onError !== undefined) found.push(ownedByTool(one));
    return found;
  }

  #add(ready: Tool, origin: ToolOrigin, skill: Skill | null): void {
    this.entries.set(ready.name, {
      tool: ready,
      origin,
      policy: ready.policy ?? this.defaultPolicy,
      skill,
      slots: null,
    });
  }

  #specOf(entry: Entry, granted: Granted): ToolSpec {
    const { tool: made, origin, policy } = entry;
    return {
      name: made.name,
      description: made.description,
      inputSchema: made.inputSchema,
      policy,
      effects: made.effects,
      atomic: made.atomic,
      polling: made.polling,
      enabled: made.enabled,
      timeoutMs: made.timeoutMs ?? this.toolMs,
      origin,
      ...grantOf(granted, { name: made.name, origin }),
      checkedByCode: made.check !== undefined,
      ...(made.needsApproval ? { needsApproval: true } : {}),
      recovery: recoveryData(this.slotsOf(entry)),
    };
  }

  #changed(): void {
    this.revision += 1;
    for (const listener of this.listeners) listener();
  }
}

/** For the first of some tools: what was made of a list that begins with it, last. */
const SHARED = new WeakMap<
  Tool,
  { readonly entries: readonly Entry[]; readonly toolMs: number; readonly toolset: Toolset }
>();

function isSameList(known: readonly Entry[], now: readonly Entry[]): boolean {
  return (
    known.length === now.length &&
    known.every(({ tool: one, policy }, at) => now[at]?.tool === one && now[at].policy === policy)
  );
}

/** Two tools that a server would get under one name could not be told apart. */
function refuseSameSent(name: string, others: readonly string[]): void {
  const same = [MAKE_PLAN, ...others].find((other) => sentName(other) === sentName(name));
  if (same !== undefined)
    throw wrongOption(
      `The tools '${name}' and '${same}' would both be sent to the model as '${sentName(name)}'. Choose another name.`,
    );
}

/** What tool() made, and what was made of that, stays as it is. */
function finished(given: Tool): Tool {
  return typeof given === 'object' && given !== null && 'check' in given ? given : tool(given);
}

const ownedByTool = ({ name, onError }: Tool): OwnedOnError => ({ owner: `Tool '${name}'`, onError });
const ownedBySkill = ({ name, onError }: Skill): OwnedOnError => ({ owner: `Skill '${name}'`, onError });

import { MAKE_PLAN } from '../../machines/agent/system-prompt.ts';
import { type ResolvedOnError, recoveryData, resolveOnError } from '../../recovery/plan-data.ts';
import type { OnError } from '../../recovery/steps.ts';
import { sentName } from '../../tools/lookup.ts';
import type { ToolIdentity, Policy, ToolOrigin, ToolSpec } from '../../tools/spec.ts';
import type { Skill } from '../../tools/skill.ts';
import { type Tool, tool } from '../../tools/tool.ts';
import { type Granted, grantOf } from './granted.ts';
import type { OwnedOnError } from './repair-circle.ts';

interface Entry {
  readonly tool: Tool;
  readonly origin: ToolOrigin;
  readonly policy: Policy;
  readonly skill: Skill | null;
}

/** A tool of an MCP server, to be registered. */
export interface ServerEntry {
  readonly server: string;
  readonly serverTool: string;
  readonly identity: ToolIdentity;
  readonly tool: Tool;
}

/** The tools and skills of a registry, in the order of their registration. */
export class Tools {
  readonly entries = new Map<string, Entry>();
  readonly skills: Skill[] = [];
  readonly listeners = new Set<() => void>();
  /** Asked before something is registered; may refuse it by throwing. */
  check: (added: readonly OwnedOnError[]) => void = () => undefined;
  defaultPolicy: Policy;
  readonly #onError: OnError | undefined;
  readonly #toolMs: number;
  readonly #resolved = new WeakMap<Entry, ResolvedOnError>();

  constructor(defaultPolicy: Policy, onError: OnError | undefined, toolMs: number) {
    this.defaultPolicy = defaultPolicy;
    this.#onError = onError;
    this.#toolMs = toolMs;
  }

  register(tools: readonly Tool[]): void {
    this.#addOwn(tools, null);
    this.#changed();
  }

  replaceServerTools(tools: readonly ServerEntry[]): void {
    for (const [name, { origin }] of this.entries) if (origin.kind === 'mcp') this.entries.delete(name);
    for (const { server, serverTool, identity, tool: made } of tools)
      this.#add(made, { kind: 'mcp', server, tool: serverTool, identity }, null);
    this.#changed();
  }

  addSkill(skill: Skill): void {
    if (this.skills.some(({ name }) => name === skill.name))
      throw new TypeError(`There is a skill named '${skill.name}' already. Choose another name.`);
    this.#addOwn(skill.tools, skill);
    this.skills.push(skill);
    this.#changed();
  }

  addChild(made: Tool): void {
    if (this.entries.has(made.name))
      throw new TypeError(`A tool named '${made.name}' is registered already: name the child agent differently.`);
    refuseSameSent(made.name, [...this.entries.keys()]);
    this.#add(made, { kind: 'agent' }, null);
    this.#changed();
  }

  remove(name: string): boolean {
    const removed = this.entries.delete(name);
    if (removed) this.#changed();
    return removed;
  }

  clear(): void {
    this.entries.clear();
    this.#changed();
  }

  specs(granted: Granted): readonly ToolSpec[] {
    return [...this.entries.values()].map((entry) => this.#specOf(entry, granted));
  }

  slotsOf(entry: Entry | undefined): ResolvedOnError {
    const known = entry === undefined ? undefined : this.#resolved.get(entry);
    if (known !== undefined) return known;
    const resolved = resolveOnError([entry?.tool.onError, entry?.skill?.onError, this.#onError]);
    if (entry !== undefined) this.#resolved.set(entry, resolved);
    return resolved;
  }

  onErrors(): readonly OwnedOnError[] {
    return [
      { owner: 'createAgent', onError: this.#onError },
      ...this.skills.map(ownedBySkill),
      ...[...this.entries.values()].map((entry) => ownedByTool(entry.tool)),
    ];
  }

  /** All or none: a list with a mistake in it registers nothing. */
  #addOwn(made: readonly Tool[], skill: Skill | null): void {
    const ready = made.map((one) => (isMade(one) ? one : tool(one)));
    const taken = ready.find(
      ({ name }, at) => this.entries.has(name) || ready.some((one, i) => i < at && one.name === name),
    );
    if (taken !== undefined)
      throw new TypeError(
        `A tool named '${taken.name}' is registered already. Remove it first, or choose another name.`,
      );
    for (const [at, { name }] of ready.entries())
      refuseSameSent(name, [...this.entries.keys(), ...ready.slice(0, at).map((one) => one.name)]);
    this.check([...ready.map(ownedByTool), ...(skill === null ? [] : [ownedBySkill(skill)])]);
    for (const one of ready) this.#add(one, { kind: 'local' }, skill);
  }

  #add(ready: Tool, origin: ToolOrigin, skill: Skill | null): void {
    this.entries.set(ready.name, { tool: ready, origin, policy: ready.policy ?? this.defaultPolicy, skill });
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
      timeoutMs: made.timeoutMs ?? this.#toolMs,
      origin,
      ...grantOf(granted, { name: made.name, origin }),
      checkedByCode: made.check !== undefined,
      recovery: recoveryData(this.slotsOf(entry)),
    };
  }

  #changed(): void {
    for (const listener of this.listeners) listener();
  }
}

/** Two tools that a server would get under one name could not be told apart. */
function refuseSameSent(name: string, others: readonly string[]): void {
  const same = [MAKE_PLAN, ...others].find((other) => sentName(other) === sentName(name));
  if (same !== undefined)
    throw new TypeError(
      `The tools '${name}' and '${same}' would both be sent to the model as '${sentName(name)}'. Choose another name.`,
    );
}

/** True for what tool() made, and for what was made of that. */
function isMade(given: unknown): given is Tool {
  return typeof given === 'object' && given !== null && 'check' in given;
}

const ownedByTool = ({ name, onError }: Tool): OwnedOnError => ({ owner: `Tool '${name}'`, onError });
const ownedBySkill = ({ name, onError }: Skill): OwnedOnError => ({ owner: `Skill '${name}'`, onError });

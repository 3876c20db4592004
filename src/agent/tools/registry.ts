import { z } from 'zod';
import type { Confirm } from '../../actors/ask-approval.ts';
import { McpError, type McpCalls } from '../../actors/mcp/mcp-calls.ts';
import { type AgentSettings, DEFAULT_SETTINGS, type SkillNote } from '../../machines/contract/agent-setup.ts';
import { MAKE_PLAN } from '../../machines/agent/system-prompt.ts';
import type { NamesAs } from '../../json/known-options.ts';
import {
  type RecoveryData,
  type ResolvedOnError,
  type ResolvedSlot,
  recoveryData,
  resolveOnError,
} from '../../recovery/plan-data.ts';
import type { OnError, SlotName } from '../../recovery/steps.ts';
import { sentName } from '../../tools/lookup.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { ToolIdentity, Policy, ToolOrigin, ToolSpec } from '../../tools/spec.ts';
import type { Skill } from '../../tools/skill.ts';
import { type Tool, tool } from '../../tools/tool.ts';
import { optionError, withoutUndefined } from '../options/option-error.ts';
import { type Asking, executeAlone } from './execute-alone.ts';
import { type Granted, NOTHING_GRANTED, grantOf } from './granted.ts';
import { type Permissions } from '../options/option-types.ts';
import type { OwnedOnError } from './repair-circle.ts';

/** Options of {@link createToolRegistry}. */
export interface ToolRegistryOptions {
  /** Asked before a tool whose policy is `confirm`; without it such a call is denied. */
  readonly confirm?: Confirm;
  readonly permissions?: Permissions;
  /** The policy of tools that name none and are registered from now on. Default `allow`. */
  readonly defaultPolicy?: Policy;
  /** `toolMs`: milliseconds that a tool may take which names no time of its own. Default 180 000. */
  readonly timeouts?: { readonly toolMs?: number };
}

/** Tools by name. The order of registration is the order in which a model sees them. */
export interface ToolRegistry {
  /** Adds a tool made by `tool()`. Throws when there is one of that name. */
  register(...tools: readonly Tool[]): void;
  has(name: string): boolean;
  find(name: string): Tool | undefined;
  /** True when there was one. */
  remove(name: string): boolean;
  clear(): void;
  readonly size: number;
  list(): readonly Tool[];
  /**
   * Calls a tool as a model would: lookup, policy, validation and confirmation included. Never throws: whatever happens
   * is a tool result.
   */
  execute(
    name: string,
    args?: unknown,
    io?: { readonly signal?: AbortSignal; readonly context?: unknown },
  ): Promise<ToolResult>;
}

interface Entry {
  readonly tool: Tool;
  readonly origin: ToolOrigin;
  readonly policy: Policy;
  readonly skill: Skill | null;
}

/** A registry with what an agent needs of it. */
export interface OwnRegistry extends ToolRegistry {
  specs(granted?: Granted): readonly ToolSpec[];
  /** Replaces all tools of MCP servers at once. */
  replaceServerTools(
    tools: readonly {
      readonly server: string;
      readonly serverTool: string;
      readonly identity: ToolIdentity;
      readonly tool: Tool;
    }[],
  ): void;
  isFromServer(name: string): boolean;
  /** Registers the tool that hands tasks to a child agent. */
  addChild(tool: Tool): void;
  /** Registers the tools of a skill, with its error handling. Throws when a name is taken. */
  addSkill(skill: Skill): void;
  /** The skill itself, by its name. */
  skill(name: string): Skill | undefined;
  /** The skills as the model is told of them. */
  skills(): readonly SkillNote[];
  setDefaultPolicy(policy: Policy): void;
  /** What a tool does about one kind of error, inheritance resolved; a name that is no tool gets the agent's. */
  slot(tool: string, slot: SlotName): ResolvedSlot | undefined;
  /** What the agent does about calls of tools that it does not know. */
  recovery(): RecoveryData;
  /** Gives back how to stop listening. */
  onChange(listener: () => void): () => void;
  /** What tools, skills and the agent itself do about errors. */
  onErrors(): readonly OwnedOnError[];
  /** Asked before something is registered; may refuse it by throwing. */
  onRegister(check: (added: readonly OwnedOnError[]) => void): void;
}

const NO_MCP: McpCalls = {
  callTool: (server) =>
    Promise.reject(new McpError('not-connected', server, `No MCP server '${server}' belongs to this registry.`)),
};

/**
 * A tool registry that works without an agent.
 *
 * @example
 * const tools = createToolRegistry();
 * tools.register(add);
 * await tools.execute('add', { a: 1, b: 2 }); // { status: 'success', data: 3 }
 */
export function createToolRegistry(options: ToolRegistryOptions = {}): ToolRegistry {
  checkRegistryOptions(options);
  const settings = { ...DEFAULT_SETTINGS, toolMs: options.timeouts?.toolMs ?? 180_000 };
  const asking = {
    confirm: () => Promise.resolve(options.confirm),
    permissions: () => Promise.resolve(options.permissions?.forAgent?.('default') ?? options.permissions),
  };
  return ownRegistry({ defaultPolicy: options.defaultPolicy ?? 'allow' }, () => NO_MCP, settings, asking);
}

/** A misspelt policy must not end as "allow". */
function checkRegistryOptions(options: ToolRegistryOptions): void {
  const schema = z
    .strictObject({
      confirm: z.custom((value) => typeof value === 'function', 'must be a function'),
      permissions: z.custom(
        (value) => typeof Reflect.get(Object(value), 'isAlwaysAllowed') === 'function',
        'must be a store',
      ),
      defaultPolicy: z.enum(['allow', 'confirm', 'deny']),
      timeouts: z.strictObject({ toolMs: z.number().positive() }).partial(),
    } satisfies NamesAs<ToolRegistryOptions, z.ZodType>)
    .partial();
  const given: unknown = withoutUndefined(options);
  const checked = schema.safeParse(given);
  if (!checked.success) throw optionError('createToolRegistry', schema, checked.error, given);
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

/** The registry of an agent, which also knows tools of MCP servers. */
export function ownRegistry(
  options: { readonly defaultPolicy?: Policy; readonly onError?: OnError },
  mcp: () => McpCalls,
  settings: AgentSettings & { readonly toolMs: number },
  asking: Asking,
): OwnRegistry {
  const entries = new Map<string, Entry>();
  const listeners = new Set<() => void>();
  const resolvedSlots = new WeakMap<Entry, ResolvedOnError>();
  const skills: Skill[] = [];
  const { onError } = options;
  let defaultPolicy = options.defaultPolicy ?? 'allow';
  let check: (added: readonly OwnedOnError[]) => void = () => undefined;
  const changed = (): void => {
    for (const listener of listeners) listener();
  };

  const slotsOf = (entry: Entry | undefined): ResolvedOnError => {
    const known = entry === undefined ? undefined : resolvedSlots.get(entry);
    if (known !== undefined) return known;
    const resolved = resolveOnError([entry?.tool.onError, entry?.skill?.onError, onError]);
    if (entry !== undefined) resolvedSlots.set(entry, resolved);
    return resolved;
  };

  const add = (ready: Tool, origin: ToolOrigin, skill: Skill | null): void => {
    entries.set(ready.name, { tool: ready, origin, policy: ready.policy ?? defaultPolicy, skill });
  };
  /** All or none: a list with a mistake in it registers nothing. */
  const addOwn = (made: readonly Tool[], skill: Skill | null): void => {
    const ready = made.map((one) => (isMade(one) ? one : tool(one)));
    const taken = ready.find(
      ({ name }, at) => entries.has(name) || ready.some((one, i) => i < at && one.name === name),
    );
    if (taken !== undefined)
      throw new TypeError(
        `A tool named '${taken.name}' is registered already. Remove it first, or choose another name.`,
      );
    for (const [at, { name }] of ready.entries())
      refuseSameSent(name, [...entries.keys(), ...ready.slice(0, at).map((one) => one.name)]);
    check([...ready.map(ownedByTool), ...(skill === null ? [] : [ownedBySkill(skill)])]);
    for (const one of ready) add(one, { kind: 'local' }, skill);
  };

  const specOf = (entry: Entry, granted: Granted): ToolSpec => {
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
      timeoutMs: made.timeoutMs ?? settings.toolMs,
      origin,
      ...grantOf(granted, { name: made.name, origin }),
      checkedByCode: made.check !== undefined,
      recovery: recoveryData(slotsOf(entry)),
    };
  };

  const registry: OwnRegistry = {
    register: (...tools) => {
      addOwn(tools, null);
      changed();
    },
    replaceServerTools: (tools) => {
      for (const [name, { origin }] of entries) if (origin.kind === 'mcp') entries.delete(name);
      for (const { server, serverTool, identity, tool: made } of tools)
        add(made, { kind: 'mcp', server, tool: serverTool, identity }, null);
      changed();
    },
    addSkill: (skill) => {
      if (skills.some(({ name }) => name === skill.name))
        throw new TypeError(`There is a skill named '${skill.name}' already. Choose another name.`);
      addOwn(skill.tools, skill);
      skills.push(skill);
      changed();
    },
    addChild: (made) => {
      if (entries.has(made.name))
        throw new TypeError(`A tool named '${made.name}' is registered already: name the child agent differently.`);
      refuseSameSent(made.name, [...entries.keys()]);
      add(made, { kind: 'agent' }, null);
      changed();
    },
    skills: () =>
      skills.map(({ name, instructions, tools }) => ({ name, instructions, tools: tools.map((one) => one.name) })),
    skill: (name) => skills.find((one) => one.name === name),
    isFromServer: (name) => entries.get(name)?.origin.kind === 'mcp',
    has: (name) => entries.has(name),
    find: (name) => entries.get(name)?.tool,
    remove: (name) => {
      const removed = entries.delete(name);
      if (removed) changed();
      return removed;
    },
    clear: () => {
      entries.clear();
      changed();
    },
    get size() {
      return entries.size;
    },
    list: () => [...entries.values()].map((entry) => entry.tool),
    specs: (granted = NOTHING_GRANTED) => [...entries.values()].map((entry) => specOf(entry, granted)),
    slot: (name, slot) => slotsOf(entries.get(name))[slot],
    recovery: () => recoveryData(slotsOf(undefined)),
    setDefaultPolicy: (policy) => {
      defaultPolicy = policy;
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    onErrors: () => [
      { owner: 'createAgent', onError },
      ...skills.map(ownedBySkill),
      ...[...entries.values()].map((entry) => ownedByTool(entry.tool)),
    ],
    onRegister: (asked) => {
      check = asked;
    },
    execute: (name, args = {}, io = {}) => executeAlone({ registry, name, args, io, mcp: mcp(), settings, asking }),
  };
  return registry;
}

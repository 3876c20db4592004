import { DEFAULTS } from '../options/agent-settings.ts';
import { POLICIES, type Policy, type ToolSpec } from '../../tools/spec.ts';
import { type ServerEntry, Tools } from './tool-entries.ts';
import type { Shape } from '../../json/shape.ts';
import { z } from '../../json/shapes.ts';
import type { Confirm } from '../../actors/ask-approval.ts';
import { McpError, type McpCalls } from '../../actors/mcp/mcp-calls.ts';
import { type AgentSettings, DEFAULT_SETTINGS, type SkillNote } from '../../machines/contract/agent-setup.ts';
import type { NamesAs } from '../../json/known-options.ts';
import { type RecoveryData, type ResolvedSlot, recoveryData } from '../../recovery/plan-data.ts';
import type { OnError, SlotName } from '../../recovery/steps.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { Skill } from '../../tools/skill.ts';
import type { Tool } from '../../tools/tool.ts';
import { optionError, withoutUndefined } from '../options/option-error.ts';
import { type Asking, executeAlone } from './execute-alone.ts';
import { type Granted, NOTHING_GRANTED } from './granted.ts';
import type { Permissions } from '../options/option-types.ts';
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

/** A registry with what an agent needs of it. */
export interface OwnRegistry extends ToolRegistry {
  specs(granted?: Granted): readonly ToolSpec[];
  /** Replaces all tools of MCP servers at once. */
  replaceServerTools(tools: readonly ServerEntry[]): void;
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
  const settings = { ...DEFAULT_SETTINGS, toolMs: options.timeouts?.toolMs ?? DEFAULTS.toolMs };
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
      defaultPolicy: z.enum(POLICIES),
      timeouts: z.strictObject({ toolMs: z.number().positive() }).partial(),
    } satisfies NamesAs<ToolRegistryOptions, Shape<unknown>>)
    .partial();
  const given: unknown = withoutUndefined(options);
  const checked = schema.safeParse(given);
  if (!checked.success) throw optionError('createToolRegistry', schema, checked.error, given);
}

/** The registry of an agent, which also knows tools of MCP servers. */
export function ownRegistry(
  { defaultPolicy = 'allow', onError }: { readonly defaultPolicy?: Policy; readonly onError?: OnError },
  mcp: () => McpCalls,
  settings: AgentSettings & { readonly toolMs: number },
  asking: Asking,
): OwnRegistry {
  const tools = new Tools(defaultPolicy, onError, settings.toolMs);
  const registry: OwnRegistry = {
    register: (...added) => tools.register(added),
    replaceServerTools: (added) => tools.replaceServerTools(added),
    addSkill: (skill) => tools.addSkill(skill),
    addChild: (made) => tools.addChild(made),
    skills: () =>
      tools.skills.map(({ name, instructions, tools: own }) => ({
        name,
        instructions,
        tools: own.map((one) => one.name),
      })),
    skill: (name) => tools.skills.find((one) => one.name === name),
    isFromServer: (name) => tools.entries.get(name)?.origin.kind === 'mcp',
    has: (name) => tools.entries.has(name),
    find: (name) => tools.entries.get(name)?.tool,
    remove: (name) => tools.remove(name),
    clear: () => tools.clear(),
    get size() {
      return tools.entries.size;
    },
    list: () => [...tools.entries.values()].map((entry) => entry.tool),
    specs: (granted = NOTHING_GRANTED) => tools.specs(granted),
    slot: (name, slot) => tools.slotsOf(tools.entries.get(name))[slot],
    recovery: () => recoveryData(tools.slotsOf(undefined)),
    setDefaultPolicy: (policy) => {
      tools.defaultPolicy = policy;
    },
    onChange: (listener) => {
      tools.listeners.add(listener);
      return () => void tools.listeners.delete(listener);
    },
    onErrors: () => tools.onErrors(),
    onRegister: (asked) => {
      tools.check = asked;
    },
    execute: (name, args = {}, io = {}) => executeAlone({ registry, name, args, io, mcp: mcp(), settings, asking }),
  };
  return registry;
}

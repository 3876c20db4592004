import { DEFAULTS } from '../options/agent-settings.ts';
import { POLICIES, type Policy } from '../../tools/spec.ts';
import { Tools } from './tool-entries.ts';
import type { Shape } from '../../json/shape.ts';
import { z } from '../../json/shapes.ts';
import type { Confirm } from '../../actors/ask-approval.ts';
import { McpError, type McpCalls } from '../../actors/mcp/mcp-calls.ts';
import { deepFreeze } from '../../json/json.ts';
import {
  DEFAULT_SETTINGS,
  type ServerNote,
  type SkillNote,
  type Toolset,
} from '../../machines/contract/agent-setup.ts';
import type { NamesAs } from '../../json/known-options.ts';
import { type RecoveryData, type ResolvedSlot, recoveryData } from '../../recovery/plan-data.ts';
import type { SlotName } from '../../recovery/steps.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { Skill } from '../../tools/skill.ts';
import type { Tool } from '../../tools/tool.ts';
import { optionError, withoutUndefined } from '../options/option-error.ts';
import { boundWhenTaken } from '../options/bound-methods.ts';
import { type RegistryHome, executeAlone } from './execute-alone.ts';
import type { Granted } from './granted.ts';
import type { Permissions } from '../options/option-types.ts';

/** Options of {@link createToolRegistry}. */
export interface ToolRegistryOptions {
  /** Called before a tool whose policy is `confirm`; without it such a call is denied. */
  readonly confirm?: Confirm | undefined;
  readonly permissions?: Permissions | undefined;
  /** The policy of tools that name none and are registered from now on. Default `allow`. */
  readonly defaultPolicy?: Policy | undefined;
  /** `toolMs`: the time limit in milliseconds of a tool without its own. Default 180 000. */
  readonly timeouts?: { readonly toolMs?: number | undefined } | undefined;
}

/** Tools by name. The order of registration is the order in which a model sees them. */
export interface ToolRegistry {
  /** Adds what `tool()` and `skill()` made: all of it, or nothing. Throws when a name is taken. */
  register(...made: readonly (Tool | Skill)[]): void;
  has(name: string): boolean;
  find(name: string): Tool | undefined;
  /**
   * Removes a tool, or else a skill with its tools; true when there was one. A tool of an MCP server is back only when its
   * server is connected anew.
   */
  remove(name: string): boolean;
  /** Removes all tools, as `remove` does. */
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
  return new OwnRegistry(
    { defaultPolicy: options.defaultPolicy ?? 'allow', toolMs: options.timeouts?.toolMs ?? DEFAULTS.toolMs },
    {
      mcp: NO_MCP,
      settings: () => DEFAULT_SETTINGS,
      confirm: () => Promise.resolve(options.confirm),
      permissions: () => Promise.resolve(options.permissions?.forAgent?.('default') ?? options.permissions),
    },
  );
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

/** A registry with what an agent needs: it also knows tools of MCP servers, skills and agents below. */
export class OwnRegistry extends Tools implements ToolRegistry {
  readonly #home: RegistryHome;
  #composed: { readonly key: string; readonly revision: number; readonly toolset: Toolset } | null = null;

  constructor(made: ConstructorParameters<typeof Tools>[0], home: RegistryHome) {
    super(made);
    this.#home = home;
  }

  /** The skills as described to the model. */
  skills(): readonly SkillNote[] {
    return this.ownSkills.map((skill) => ({
      name: skill.name,
      instructions: skill.instructions,
      tools: skill.tools.map(({ name }) => name).filter((name) => this.entries.get(name)?.skill === skill),
    }));
  }

  isFromServer(name: string): boolean {
    return this.entries.get(name)?.origin.kind === 'mcp';
  }

  has(name: string): boolean {
    return this.entries.has(name);
  }

  find(name: string): Tool | undefined {
    return this.entries.get(name)?.tool;
  }

  get size(): number {
    return this.entries.size;
  }

  list(): readonly Tool[] {
    return [...this.entries.values()].map((entry) => entry.tool);
  }

  /** True where there is a tool that a person is asked about. */
  needsConfirmation(): boolean {
    for (const { policy } of this.entries.values()) if (policy === 'confirm') return true;
    return false;
  }

  /** The toolset of a run, with these notes about servers: the same object for as long as nothing changes. */
  toolset(granted: Granted, servers: readonly ServerNote[]): Toolset {
    const key =
      granted.keys.size + granted.outdated.size + servers.length === 0
        ? ''
        : JSON.stringify([[...granted.keys], [...granted.outdated], servers]);
    const { revision } = this;
    if (this.#composed?.key === key && this.#composed.revision === revision) return this.#composed.toolset;
    const compose = (): Toolset =>
      deepFreeze({ tools: this.specs(granted), servers, skills: this.skills(), recovery: this.recovery() });
    const toolset = key === '' ? this.shared(compose) : compose();
    this.#composed = { key, revision, toolset };
    return toolset;
  }

  /** What a tool does about one kind of error, inheritance resolved; a name without a tool gets the agent's. */
  slot(name: string, slot: SlotName): ResolvedSlot | undefined {
    return this.slotsOf(this.entries.get(name))[slot];
  }

  /** What the agent does about calls of unknown tools. */
  recovery(): RecoveryData {
    return recoveryData(this.slotsOf(undefined));
  }

  /** Returns a function that stops listening. */
  onChange(listener: () => void): () => void {
    this.listeners = [...this.listeners, listener];
    return () => {
      this.listeners = this.listeners.filter((one) => one !== listener);
    };
  }

  execute(
    name: string,
    args: unknown = {},
    io: { readonly signal?: AbortSignal; readonly context?: unknown } = {},
  ): Promise<ToolResult> {
    return executeAlone({ registry: this, name, args, io, home: this.#home });
  }
}

boundWhenTaken(OwnRegistry, ['register', 'has', 'find', 'remove', 'clear', 'list', 'execute']);

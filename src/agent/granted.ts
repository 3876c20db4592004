import { type ServerTool, permissionKey, serverToolOf } from '../tools/server-tool.ts';
import type { ToolChange, ToolSpec } from '../tools/spec.ts';
import type { OwnRegistry } from './registry.ts';

/**
 * Decisions to always allow a tool, kept somewhere. Answers may be promises. `tool` is the name of a tool of the program; for
 * one of an MCP server it is a text that stands for server, tool and what the tool says of itself, and `of` has all of that.
 */
export interface Permissions {
  isAlwaysAllowed(tool: string, of?: ServerTool): boolean | Promise<boolean>;
  add(tool: string, of?: ServerTool): void | Promise<void>;
  /** What has changed of a tool that was always allowed; null where nothing has. A store without it does not say. */
  changesOf?(of: ServerTool): readonly ToolChange[] | null | Promise<readonly ToolChange[] | null>;
  /** The same store for one agent's decisions; a store without it is used as it is. */
  forAgent?(agent: string): Permissions;
}

/** What a permission store said of the tools of an agent, by their permission keys. */
export interface Granted {
  readonly keys: ReadonlySet<string>;
  /** Tools of MCP servers that were always allowed and have changed since. */
  readonly outdated: ReadonlyMap<string, readonly ToolChange[]>;
}

/** Nobody was asked. */
export const NOTHING_GRANTED: Granted = { keys: new Set(), outdated: new Map() };

/** What is known of the permission of one tool. */
export function grantOf(
  { keys, outdated }: Granted,
  tool: Pick<ToolSpec, 'name' | 'origin'>,
): Pick<ToolSpec, 'alwaysAllowed' | 'changes'> {
  const key = permissionKey(tool);
  const changes = outdated.get(key);
  return { alwaysAllowed: keys.has(key), ...(changes === undefined ? {} : { changes }) };
}

/** Whether there is any tool that a person is asked about. */
export function needsConfirmation(registry: OwnRegistry): boolean {
  return registry.specs().some((spec) => spec.policy === 'confirm');
}

/** The tools that somebody said "always allow" to. A store that cannot be read allows nothing. */
export async function grantedBy(registry: OwnRegistry, permissions: Permissions | undefined): Promise<Granted> {
  if (permissions === undefined) return NOTHING_GRANTED;
  const asked = registry.specs(NOTHING_GRANTED).filter((spec) => spec.policy === 'confirm');
  const keys = new Set<string>();
  const outdated = new Map<string, readonly ToolChange[]>();
  await Promise.all(
    asked.map(async (spec) => {
      const key = permissionKey(spec);
      const of = serverToolOf(spec);
      if (await isAllowed(permissions, key, spec)) return void keys.add(key);
      const changes = of === null ? null : await permissions.changesOf?.(of);
      if (changes != null) outdated.set(key, changes);
    }),
  );
  return { keys, outdated };
}

/** Keeps that a tool is always allowed, as it was when somebody said so. */
export async function keepGrant(permissions: Permissions | undefined, spec: ToolSpec): Promise<void> {
  const of = serverToolOf(spec);
  // What is not known well enough to be told from another tool is asked about again.
  if (of === null && spec.origin.kind === 'mcp') return;
  await (of === null ? permissions?.add(spec.name) : permissions?.add(permissionKey(spec), of));
}

async function isAllowed(permissions: Permissions, key: string, spec: ToolSpec): Promise<boolean> {
  const of = serverToolOf(spec);
  if (of === null && spec.origin.kind === 'mcp') return false;
  try {
    const answer = of === null ? permissions.isAlwaysAllowed(key) : permissions.isAlwaysAllowed(key, of);
    return (await answer) === true;
  } catch {
    return false;
  }
}

/** The store of always-allow decisions: the given one, bound to the agent's name, else the user's own in their home. */
export async function resolvePermissions(
  given: Permissions | undefined,
  agent: string,
): Promise<Permissions | undefined> {
  if (given !== undefined) return given.forAgent === undefined ? given : given.forAgent(agent);
  if (typeof process === 'undefined') return undefined;
  const { permissionStore } = await import('../security/permissions-store.ts');
  return permissionStore({ agent });
}

import { waitAtMost } from '../../actors/deadline.ts';
import { permissionKey, serverToolOf } from '../../tools/server-tool.ts';
import type { ToolChange, ToolSpec } from '../../tools/spec.ts';
import type { Permissions } from '../options/option-types.ts';

/** A permission store's decisions about an agent's tools, by permission key. */
export interface Granted {
  readonly keys: ReadonlySet<string>;
  /** Tools of MCP servers that were always allowed and have changed since. */
  readonly outdated: ReadonlyMap<string, readonly ToolChange[]>;
}

/** No one was asked. */
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

/** What a store has not answered by then, it does not allow. */
const LONGEST_ANSWER_MS = 10_000;

/**
 * The tools that are always allowed. A store that cannot be read allows nothing; neither does one that has not answered in
 * time, or when the signal aborts.
 */
export async function grantedBy(
  registry: { specs(granted?: Granted): readonly ToolSpec[] },
  permissions: Permissions | undefined,
  signal?: AbortSignal,
): Promise<Granted> {
  if (permissions === undefined) return NOTHING_GRANTED;
  const asked = registry.specs(NOTHING_GRANTED).filter((spec) => spec.policy === 'confirm');
  const keys = new Set<string>();
  const outdated = new Map<string, readonly ToolChange[]>();
  const answers = asked.map(async (spec) => {
    const key = permissionKey(spec);
    const of = serverToolOf(spec);
    if (await isAllowed(permissions, key, spec)) return void keys.add(key);
    const changes = of === null ? null : await permissions.changesOf?.(of);
    if (changes != null) outdated.set(key, changes);
  });
  await waitAtMost(LONGEST_ANSWER_MS, signal, Promise.allSettled(answers));
  // Answers that come later change nothing.
  return { keys: new Set(keys), outdated: new Map(outdated) };
}

/** Stores that a tool is always allowed, as it was at the time of the decision. */
export async function keepGrant(permissions: Permissions | undefined, spec: ToolSpec): Promise<void> {
  const of = serverToolOf(spec);
  // A tool that cannot be reliably distinguished from another is asked about again.
  if (of === null && spec.origin.kind === 'mcp') return;
  await (of === null ? permissions?.add(spec.name) : permissions?.add(permissionKey(spec), of));
}

async function isAllowed(permissions: Permissions, key: string, spec: ToolSpec): Promise<boolean> {
  const of = serverToolOf(spec);
  if (of === null && spec.origin.kind === 'mcp') return false;
  return (await (of === null ? permissions.isAlwaysAllowed(key) : permissions.isAlwaysAllowed(key, of))) === true;
}

let standIn: ((agent: string) => Permissions) | null = null;

/** Lets other stores take the place of the one in the user's home, as while an agent is simulated; null: no longer. */
export function replaceHomePermissions(stores: ((agent: string) => Permissions) | null): void {
  standIn = stores;
}

/** Whether an agent without a store of its own has one only for now. */
export function isHomeReplaced(): boolean {
  return standIn !== null;
}

/** The store of always-allow decisions: the given one, bound to the agent's name, else the user's own in their home. */
export async function resolvePermissions(
  given: Permissions | undefined,
  agent: string,
): Promise<Permissions | undefined> {
  if (given !== undefined) return given.forAgent === undefined ? given : given.forAgent(agent);
  if (standIn !== null) return standIn(agent);
  if (typeof process === 'undefined') return undefined;
  const { permissionStore } = await import('../../security/permissions-store.ts');
  return permissionStore({ agent });
}

/** Decisions that last as long as the process. */
export function memoryPermissions(): Permissions {
  const allowed = new Set<string>();
  return { isAlwaysAllowed: (tool) => allowed.has(tool), add: (tool) => void allowed.add(tool) };
}

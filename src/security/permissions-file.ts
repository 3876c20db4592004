import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isJsonObject, parsedText } from '../json/json.ts';
import type { ServerTool } from '../tools/server-tool.ts';
import { makeFolder, moveOver, systemCode } from './folders.ts';
import { takeLock } from './lock-file.ts';
import { type PermissionWarning, PermissionStoreError } from './permissions.ts';

/** Receives what is wrong with a file while the work continues. */
type OnWarning = (warning: PermissionWarning) => void;

const ATTEMPTS = 3;
const NONE: Permissions = new Map();

/**
 * Reads the permission file; one that does not exist holds none. A corrupt file is set aside, reported, and holds none.
 * Throws a {@link PermissionStoreError} for a newer version and for a file that cannot be read.
 */
export function readPermissions(path: string, onWarning: OnWarning): Permissions {
  const permissions = readOrNull(path);
  if (permissions !== null) return permissions;
  try {
    return update(path, onWarning, (all) => all);
  } catch (cause) {
    const message = `The permission file ${path} is not a permission file, and could not be set aside (${reason(cause)}). Nothing in it is trusted; delete it.`;
    throw new PermissionStoreError('permissions-corrupt', { path, message, cause });
  }
}

/**
 * Changes the permission file: reads it again under a lock, so that no other process's change is lost, and replaces it in
 * one step. Nothing is written when nothing changes. Throws a {@link PermissionStoreError} when it cannot be done.
 */
export function changePermissions(
  path: string,
  onWarning: OnWarning,
  change: (permissions: Permissions) => Permissions,
): void {
  const before = readOrNull(path);
  if (before !== null && isSame(change(before), before)) return;
  update(path, onWarning, change);
}

function isSame(a: Permissions, b: Permissions): boolean {
  return printPermissions(a) === printPermissions(b);
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').replace(/^\ufeff/, '');
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(cause))) return null;
    const message = `The permission file ${path} cannot be read (${reason(cause)}). Until it can, every tool that needs confirmation is asked about.`;
    throw new PermissionStoreError('permissions-unreadable', { path, message, cause });
  }
}

function update(...job: Parameters<typeof changePermissions>): Permissions {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const after = updateOnce(...job);
    if (after !== null) return after;
  }
  throw locked(job[0]);
}

/** `null` when the lock was lost on the way: nothing has been written then. */
function updateOnce(...[path, onWarning, change]: Parameters<typeof changePermissions>): Permissions | null {
  const lock = writing(path, () => {
    makeFolder(dirname(path), 0o700);
    return takeLock(`${path}.lock`);
  });
  if (lock === null) throw locked(path);
  try {
    const before = readOrNull(path);
    const after = change(before ?? NONE);
    if (!lock.isHeld()) return null;
    if (before === null) setAside(path, onWarning);
    if (!isSame(after, before ?? NONE)) writing(path, () => replaceFile(path, printPermissions(after)));
    return after;
  } finally {
    lock.release();
  }
}

function setAside(path: string, onWarning: OnWarning): void {
  const aside = `${path}.corrupt-${new Date().toISOString().replaceAll(/[:.]/g, '-')}-${randomUUID().slice(0, 8)}`;
  writing(path, () => renameSync(path, aside));
  const message = `The permission file ${path} is not a permission file of a known version. It was set aside as ${aside}, and nothing in it is trusted: tools that need confirmation are asked about again.`;
  onWarning({ code: 'permissions-corrupt', message, path });
}

/**
 * Readers need no lock, because a rename shows them the old file or the new one. It is not flushed to the disk: a power cut
 * costs at most a question that is asked again, and the thread is not held up.
 */
export function replaceFile(path: string, text: string): void {
  // A link, as those who keep such files in a repository make one, stays.
  const file = existsSync(path) ? realpathSync(path) : path;
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600 });
    moveOver(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function writing<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    const message = `The permission file ${path} cannot be written (${reason(cause)}). Make its folder writable, or choose another path with permissionStore({ path }).`;
    throw new PermissionStoreError('permissions-unwritable', { path, message, cause });
  }
}

function locked(path: string): PermissionStoreError {
  const message = `Another process keeps the permission file ${path} locked. Try again; if no other process runs, delete ${path}.lock.`;
  return new PermissionStoreError('permissions-locked', { path, message });
}

function newerVersion(path: string, version: number): PermissionStoreError {
  const message = `The permission file ${path} has version ${String(version)}, and this Signalbox knows version ${String(PERMISSIONS_VERSION)}. Update Signalbox, or choose another path with permissionStore({ path }). The file was not changed.`;
  return new PermissionStoreError('permissions-newer-version', { path, message });
}

function reason(error: unknown): string {
  if (error instanceof PermissionStoreError && error.cause !== undefined) return reason(error.cause);
  return systemCode(error) || String(error);
}

/** What one agent may do without a question. */
export interface AgentPermissions {
  /** Tools of the program, by name. */
  readonly tools: ReadonlySet<string>;
  /** Tools of MCP servers: at most one for a tool of a server. */
  readonly serverTools: readonly ServerTool[];
}

/** The always-allowed tools of each agent. A map, so that names like `__proto__` are names like any other. */
type Permissions = ReadonlyMap<string, AgentPermissions>;

/** The permissions of an agent that has none. */
export const NO_PERMISSIONS: AgentPermissions = { tools: new Set(), serverTools: [] };

/** Version 1 has names alone, and is written as long as nothing of a server's is allowed. */
const PERMISSIONS_VERSION = 2;

/** `null` for a corrupt file: anything that is not exactly the format. One that does not exist holds none. */
function readOrNull(path: string): Permissions | null {
  const text = readText(path);
  if (text === null) return NONE;
  const file = parsedText(text);
  if (!isJsonObject(file)) return null;
  const { version, agents } = file;
  if (typeof version === 'number' && version > PERMISSIONS_VERSION) throw newerVersion(path, version);
  if ((version !== 1 && version !== PERMISSIONS_VERSION) || !isJsonObject(agents)) return null;
  const permissions = new Map<string, AgentPermissions>();
  for (const [agent, kept] of Object.entries(agents)) {
    const read = version === 1 ? readNames(kept) : readAgent(kept);
    if (read === null) return null;
    permissions.set(agent, read);
  }
  return permissions;
}

/** Writes permissions as text: two spaces, agents and tools sorted by name, agents without tools left out. */
function printPermissions(permissions: Permissions): string {
  const agents = [...permissions.entries()]
    .filter(([, { tools, serverTools }]) => tools.size + serverTools.length > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const version = agents.some(([, { serverTools }]) => serverTools.length > 0) ? PERMISSIONS_VERSION : 1;
  const kept = agents.map(([agent, { tools, serverTools }]) => {
    const names = [...tools].toSorted();
    return [agent, version === 1 ? names : { tools: names, serverTools: sortedServerTools(serverTools) }];
  });
  return `${JSON.stringify({ version, agents: Object.fromEntries(kept) }, null, 2)}\n`;
}

/** By server, then tool. */
export function sortedServerTools(serverTools: readonly ServerTool[]): readonly ServerTool[] {
  const key = ({ server, serverId, tool }: ServerTool): string => [server, serverId, tool].join('\n');
  return serverTools.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Version 1. It is not known which of the names belonged to tools of MCP servers; none of them grants such a tool. */
function readNames(kept: unknown): AgentPermissions | null {
  return isListOfNames(kept) ? { tools: new Set(kept), serverTools: [] } : null;
}

function readAgent(kept: unknown): AgentPermissions | null {
  if (!isJsonObject(kept) || !isListOfNames(kept.tools) || !Array.isArray(kept.serverTools)) return null;
  const serverTools = kept.serverTools.map(readServerTool);
  return serverTools.every((tool) => tool !== null) ? { tools: new Set(kept.tools), serverTools } : null;
}

function readServerTool(kept: unknown): ServerTool | null {
  if (!isJsonObject(kept) || !isJsonObject(kept.shown)) return null;
  const { server, serverId, tool, name, fingerprint } = kept;
  const { title, description, inputSchema, annotations } = kept.shown;
  if (!isName(server) || !isName(serverId) || !isName(tool) || !isName(name) || !isName(fingerprint)) return null;
  if (typeof title !== 'string' || typeof description !== 'string') return null;
  if (typeof inputSchema !== 'string' || typeof annotations !== 'string') return null;
  return { server, serverId, tool, name, fingerprint, shown: { title, description, inputSchema, annotations } };
}

function isListOfNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isName);
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

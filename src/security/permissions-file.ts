import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from './folders.ts';
import type { PermissionWarning } from './permissions.ts';
import { PermissionStoreError } from './permissions-error.ts';
import { PERMISSIONS_VERSION, type Permissions, parsePermissions, printPermissions } from './permissions-format.ts';
import { takeLock } from './permissions-lock.ts';
import { systemCode } from './system-code.ts';

/** Hears of what is wrong with a file while the work goes on. */
export type OnWarning = (warning: PermissionWarning) => void;

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
    return update({ path, onWarning, change: (all) => all });
  } catch (cause) {
    const message = `The permission file ${path} is no permission file, and could not be set aside (${reason(cause)}). Nothing in it is trusted; delete it.`;
    throw new PermissionStoreError('permissions-corrupt', { path, message, cause });
  }
}

/**
 * Changes the permission file: reads it anew under a lock, so that nothing of another process gets lost, and replaces it in
 * one step. Nothing is written when nothing changes. Throws a {@link PermissionStoreError} when it cannot be done.
 */
export function changePermissions(
  path: string,
  onWarning: OnWarning,
  change: (permissions: Permissions) => Permissions,
): void {
  const before = readOrNull(path);
  if (before !== null && isSame(change(before), before)) return;
  update({ path, onWarning, change });
}

function isSame(a: Permissions, b: Permissions): boolean {
  return printPermissions(a) === printPermissions(b);
}

/** `null` for a corrupt file. */
function readOrNull(path: string): Permissions | null {
  const parsed = parsePermissions(readText(path));
  if (parsed.kind === 'newer') throw newerVersion(path, parsed.version);
  return parsed.kind === 'ok' ? parsed.permissions : null;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(cause))) return null;
    const message = `The permission file ${path} cannot be read (${reason(cause)}). Until it can, every tool that needs confirmation is asked about.`;
    throw new PermissionStoreError('permissions-unreadable', { path, message, cause });
  }
}

interface Update {
  readonly path: string;
  readonly onWarning: OnWarning;
  readonly change: (permissions: Permissions) => Permissions;
}

function update(job: Update): Permissions {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const after = updateOnce(job);
    if (after !== null) return after;
  }
  throw locked(job.path);
}

/** `null` when the lock was lost on the way: nothing has been written then. */
function updateOnce({ path, onWarning, change }: Update): Permissions | null {
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
  const message = `The permission file ${path} is no permission file of a known version. It was set aside as ${aside}, and nothing in it is trusted: tools that need confirmation are asked about again.`;
  onWarning({ code: 'permissions-corrupt', message, path });
}

/**
 * Readers need no lock, because a rename shows them the old file or the new one. It is not flushed to the disk: a power cut
 * costs at most a question that is asked again, and the thread is not held up.
 */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600 });
    renameSync(draft, path);
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

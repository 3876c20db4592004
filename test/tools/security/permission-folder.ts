import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { permissionStore, type PermissionStoreOptions, type PermissionWarning } from '../../../src/security/index.ts';

/** A folder of the test's own, removed afterwards. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-security-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A permission file in a folder of its own, with stores that keep their warnings. */
export function permissionFolder() {
  const folder = ownFolder();
  const path = join(folder, 'security', 'allowed-tools.json');
  const warnings: PermissionWarning[] = [];
  const open = (options: PermissionStoreOptions = {}) =>
    permissionStore({ path, onWarning: (warning) => warnings.push(warning), ...options });
  const content = (): unknown => JSON.parse(readFileSync(path, 'utf8'));
  const write = (text: string) => {
    open({ agent: 'first' }).add('made_the_folder');
    writeFileSync(path, text);
  };
  return { folder, path, warnings, open, content, write };
}

/** What the file holds when these tools of the program are always allowed to these agents. */
export function kept(agents: Readonly<Record<string, readonly string[]>>) {
  return { version: 1, agents };
}

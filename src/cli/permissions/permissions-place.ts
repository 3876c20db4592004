import type { PermissionWarning } from '../../security/permissions.ts';

/** Whose permissions in which file; without an agent, those of all. */
export interface PermissionsPlace {
  readonly path: string;
  readonly agent: string | undefined;
}

/** Says on standard error what is wrong with the file, while the work goes on. */
export function warnOfPermissions({ message }: PermissionWarning): void {
  console.error(`signalbox permissions: ${message}`);
}

export { isSafeShellArg } from './is-safe-shell-arg.ts';
export type { PermissionProblem, PermissionStore, PermissionWarning } from './permissions.ts';
export type { PermissionStoreError } from './permissions-error.ts';
export { permissionStore, type PermissionStoreOptions } from './permissions-store.ts';
export { validatePath } from './validate-path.ts';

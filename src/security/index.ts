import '../platform.ts';
export { isSafeShellArg } from './is-safe-shell-arg.ts';
export type { ServerTool, ShownTool, ToolChange } from '../tools/server-tool.ts';
export type { PermissionProblem, PermissionStore, PermissionWarning } from './permissions.ts';
export { PermissionStoreError } from './permissions-error.ts';
export { permissionStore, type PermissionStoreOptions } from './permissions-store.ts';
export {
  terminalConfirm,
  type TerminalConfirmOptions,
  type TerminalConfirmRequest,
} from '../terminal/terminal-confirm.ts';
export { validatePath } from './validate-path.ts';

import '../platform.ts';
export { isSafeShellArg, validatePath } from './paths.ts';
export type { ServerTool, ShownTool } from '../tools/server-tool.ts';
export type { ToolChange } from '../tools/spec.ts';
export type { PermissionProblem, PermissionStore, PermissionWarning } from './permissions.ts';
export { PermissionStoreError } from './permissions.ts';
export { permissionStore, type PermissionStoreOptions } from './permissions-store.ts';
export {
  terminalConfirm,
  type TerminalConfirmOptions,
  type TerminalConfirmRequest,
} from '../terminal/terminal-confirm.ts';

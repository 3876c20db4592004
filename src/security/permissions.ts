import type { ServerTool } from '../tools/server-tool.ts';
import type { ToolChange } from '../tools/spec.ts';

/** Remembers which tools a person has always allowed, for one agent. Made by `permissionStore()`. */
export interface PermissionStore {
  /**
   * True when the tool needs no question: one of the program by its name, one of an MCP server as `of` says it; its name
   * alone never does. Never throws: what cannot be read allows nothing, and is reported as a warning.
   */
  isAlwaysAllowed(tool: string, of?: ServerTool): boolean;
  /** Keeps "always allow" for a tool of the program, or with `of` for one of an MCP server. Throws a `PermissionStoreError` if it cannot. */
  add(tool: string, of?: ServerTool): void;
  /** What has changed of a tool of an MCP server since it was always allowed; null where it never was, or has not. */
  changesOf(of: ServerTool): readonly ToolChange[] | null;
  /**
   * Revokes "always allow" of the program's tool and of all tools of MCP servers with this name; with `server` (as in
   * `listServerTools`) only of that server's. Returns whether there was something to revoke. Throws like `add`.
   */
  remove(tool: string, server?: string): boolean;
  /** Takes every "always allow" of this agent back; other agents keep theirs. Throws like `add`. */
  clear(): void;
  /** The tools of the program that are always allowed, sorted by name. Throws a `PermissionStoreError` when the file cannot be read. */
  list(): readonly string[];
  /** The tools of MCP servers that are always allowed as long as they do not change, by server and tool. Throws like `list`. */
  listServerTools(): readonly ServerTool[];
  /**
   * The store of the agent with this name, on the same file. A store that was made without `agent` becomes the store of
   * the first agent that asks; any other agent gets its own store. One made with `agent` is shared by all that ask. Does
   * no I/O. `onWarning` is used where the store was made without one.
   */
  forAgent(name: string, onWarning?: (warning: PermissionWarning) => void): PermissionStore;
}

/** Stable codes of what can be wrong with a permission file. */
export type PermissionProblem =
  /** It is not a permission file. It is set aside, and nothing in it is trusted. */
  | 'permissions-corrupt'
  /** A newer version of Signalbox wrote it. It is left alone. */
  | 'permissions-newer-version'
  /** It is there and cannot be read. */
  | 'permissions-unreadable'
  /** It cannot be written: a read-only folder, a full disk. */
  | 'permissions-unwritable'
  /** Another process holds the lock for too long. */
  | 'permissions-locked';

/** A warning about the permission file for a person; the store continues, allowing less. */
export interface PermissionWarning {
  readonly code: PermissionProblem;
  readonly message: string;
  /** The permission file. */
  readonly path: string;
}

/** A decision could not be stored, or the stored ones could not be read. An answer still applies to the call that was asked about. */
export class PermissionStoreError extends Error {
  override readonly name = 'PermissionStoreError';
  readonly code: PermissionProblem;
  /** The permission file. */
  readonly path: string;

  constructor(
    code: PermissionProblem,
    about: { readonly path: string; readonly message: string; readonly cause?: unknown },
  ) {
    super(about.message, 'cause' in about ? { cause: about.cause } : undefined);
    this.code = code;
    this.path = about.path;
  }
}

import type { ServerTool } from '../tools/server-tool.ts';
import type { ToolChange } from '../tools/spec.ts';

/** Remembers which tools a person has always allowed, for one agent. Made by `permissionStore()`. */
export interface PermissionStore {
  /**
   * True when the tool needs no question: one of the program by its name, one of an MCP server as `of` says it; its name
   * alone never does. Never throws: what cannot be read allows nothing, and is reported as a warning.
   */
  isAlwaysAllowed(tool: string, of?: ServerTool): boolean;
  /**
   * Keeps "always allow" for a tool of the program, or with `of` for that tool of an MCP server as it is now. Durable when
   * it returns; throws a `PermissionStoreError` if it cannot be stored.
   */
  add(tool: string, of?: ServerTool): void;
  /** What has changed of a tool of an MCP server since it was always allowed; null where it never was, or has not. */
  changesOf(of: ServerTool): readonly ToolChange[] | null;
  /**
   * Revokes "always allow": for the program's tool with this name, and for every tool of an MCP server with this name or
   * registered name; with `server` (as in `listServerTools`) only for that server's. Returns whether there was something
   * to revoke. Throws like {@link PermissionStore.add}.
   */
  remove(tool: string, server?: string): boolean;
  /** Takes every "always allow" of this agent back; other agents keep theirs. Throws like {@link PermissionStore.add}. */
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

/**
 * A decision could not be stored, or the stored ones could not be read. `code` is the reason; for the caller that runs a
 * tool it is a warning, because the person's answer still applies to this one call.
 */
export class PermissionStoreError extends Error {
  override readonly name = 'PermissionStoreError';
  readonly code: PermissionProblem;
  /** The permission file. */
  readonly path: string;

  constructor(
    code: PermissionProblem,
    about: { readonly path: string; readonly message: string; readonly cause?: unknown },
  ) {
    super(about.message, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.path = about.path;
  }
}

import { resolve } from 'node:path';
import { optionsOf, wrongOption } from '../json/known-options.ts';
import { type ServerTool, changesBetween } from '../tools/server-tool.ts';
import { homeFolder } from './folders.ts';
import {
  type AgentPermissions,
  changePermissions,
  NO_PERMISSIONS,
  readPermissions,
  sortedServerTools,
} from './permissions-file.ts';
import { type PermissionStore, type PermissionWarning, PermissionStoreError } from './permissions.ts';

/** Where the decisions are kept, and for which agent. */
export interface PermissionStoreOptions {
  /** Default `~/.signalbox/security/allowed-tools.json`. */
  readonly path?: string | undefined;
  /** The agent whose decisions these are. Without it, each agent that uses the store has its own. */
  readonly agent?: string | undefined;
  /** Called for a corrupt or unreadable file. Default: the `onWarning` of `forAgent`, else `process.emitWarning`. */
  readonly onWarning?: ((warning: PermissionWarning) => void) | undefined;
}

const checkOptions = optionsOf<PermissionStoreOptions>('permissionStore', 'docs/security.md', {
  path: true,
  agent: true,
  onWarning: true,
});

/** The agent whose decisions they are if none is named. */
const NO_AGENT = 'default';

/**
 * Keeps the tools that a person has always allowed, per agent, in a small file that only its owner may read. A tool of
 * the program is identified by its name; one of an MCP server by server, tool and description, so that another server's
 * tool with the same name is asked about, and a changed one is asked about again. Several processes may use one file.
 * Nothing is read or written before the first question; each question reads the file again.
 *
 * @example createAgent({ name: 'assistant', permissions: permissionStore() })
 * @example permissionStore({ agent: 'nightly' }).add('read_file'); // approves beforehand what runs unattended
 */
export function permissionStore(options: PermissionStoreOptions = {}): PermissionStore {
  checkOptions(options);
  if (options.path !== undefined) checkText('path', options.path);
  if (options.agent !== undefined) checkText('agent', options.agent);
  const kept = new KeptDecisions(options);
  const store: PermissionStore = {
    isAlwaysAllowed: (tool, of) => {
      const { tools, serverTools } = kept.readOrNone();
      if (of === undefined) return tools.has(tool);
      return serverTools.some((one) => isOneTool(one, of) && one.fingerprint === of.fingerprint);
    },
    add: (tool, of) => {
      checkText('tool', tool);
      kept.settle();
      kept.change((own) => withTool(own, of ?? tool));
      if (kept.agent === undefined) kept.early.set(tool, of ?? tool);
    },
    changesOf: (of) => {
      const was = kept.readOrNone().serverTools.find((one) => isOneTool(one, of));
      return was === undefined || was.fingerprint === of.fingerprint ? null : changesBetween(was.shown, of.shown);
    },
    remove: (tool, server) => {
      kept.settle();
      kept.early.delete(tool);
      let removed = false;
      kept.change(({ tools, serverTools }) => {
        const left = serverTools.filter((one) => !isMeant(one, tool, server));
        removed = (server === undefined && tools.has(tool)) || left.length < serverTools.length;
        const isLeft = (one: string): boolean => server !== undefined || one !== tool;
        return { tools: new Set([...tools].filter(isLeft)), serverTools: left };
      });
      return removed;
    },
    clear: () => {
      kept.early.clear();
      kept.change(() => NO_PERMISSIONS);
    },
    list: () => [...kept.read().tools].toSorted(),
    listServerTools: () => sortedServerTools(kept.read().serverTools),
    forAgent: (name, listener) => {
      checkText('name', name);
      if (options.agent !== undefined || kept.agent === undefined || kept.agent === name) {
        kept.agent ??= name;
        kept.onWarning ??= listener;
        return store;
      }
      const onWarning = options.onWarning ?? listener;
      const path = kept.given === undefined ? {} : { path: kept.given };
      return permissionStore({ ...path, agent: name, ...(onWarning === undefined ? {} : { onWarning }) });
    },
  };
  return store;
}

/** The decisions of one agent in the permission file, read again for each question. */
class KeptDecisions {
  agent: string | undefined;
  onWarning: PermissionStoreOptions['onWarning'];
  /** The path that was chosen; undefined for the default one. */
  readonly given: string | undefined;
  /** What was added before the agent was known. */
  readonly early = new Map<string, string | ServerTool>();
  private readonly warned = new Set<string>();

  constructor({ path, agent, onWarning }: PermissionStoreOptions) {
    this.given = path === undefined ? undefined : resolve(path);
    this.agent = agent;
    this.onWarning = onWarning;
  }

  change(edit: (own: AgentPermissions) => AgentPermissions): void {
    const owner = this.agent ?? NO_AGENT;
    changePermissions(this.path(), this.report, (all) =>
      new Map(all).set(owner, edit(all.get(owner) ?? NO_PERMISSIONS)),
    );
  }

  /** What was added before the store knew its agent becomes that agent's: it was this store that was given to the agent. */
  settle(): void {
    if (this.agent === undefined || this.early.size === 0) return;
    this.change((own) => [...this.early.values()].reduce(withTool, own));
    this.early.clear();
  }

  read(): AgentPermissions {
    this.settle();
    return readPermissions(this.path(), this.report).get(this.agent ?? NO_AGENT) ?? NO_PERMISSIONS;
  }

  /** What cannot be read allows nothing. */
  readOrNone(): AgentPermissions {
    try {
      return this.read();
    } catch (error) {
      const { code, message, path } = asStoreError(error, this.given);
      if (!this.warned.has(message)) this.report({ code, message, path });
      this.warned.add(message);
      return NO_PERMISSIONS;
    }
  }

  private path(): string {
    return this.given ?? defaultPermissionPath();
  }

  private readonly report = (warning: PermissionWarning): void => {
    try {
      (this.onWarning ?? emitWarning)(warning);
    } catch {
      // A listener that throws must not decide whether a permission is kept.
    }
  };
}

/** The default path of the decisions, in the home folder as it is now. Throws a {@link PermissionStoreError} without one. */
export function defaultPermissionPath(): string {
  const home = homeFolder();
  if (home !== null) return resolve(home, '.signalbox', 'security', 'allowed-tools.json');
  const message =
    'There is no home folder to keep permissions in. Set HOME, or choose a path with permissionStore({ path }).';
  throw new PermissionStoreError('permissions-unreadable', { path: '', message });
}

/** A tool of a server takes the place of what it was. */
function withTool(own: AgentPermissions, tool: string | ServerTool): AgentPermissions {
  const { tools, serverTools } = own;
  if (typeof tool === 'string') return { tools: new Set(tools).add(tool), serverTools };
  return { tools, serverTools: [...serverTools.filter((kept) => !isOneTool(kept, tool)), tool] };
}

function isOneTool(one: ServerTool, other: ServerTool): boolean {
  return one.serverId === other.serverId && one.tool === other.tool;
}

function isMeant(kept: ServerTool, tool: string, server: string | undefined): boolean {
  return (kept.tool === tool || kept.name === tool) && (server === undefined || kept.server === server);
}

function checkText(name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '')
    throw wrongOption(`permissionStore: '${name}' must be a text that is not empty.`);
}

function asStoreError(error: unknown, path: string | undefined): PermissionStoreError {
  if (error instanceof PermissionStoreError) return error;
  const message = `The permissions cannot be read (${String(error)}).`;
  return new PermissionStoreError('permissions-unreadable', { path: path ?? '', message, cause: error });
}

function emitWarning({ code, message }: PermissionWarning): void {
  process.emitWarning(message, { type: 'PermissionWarning', code });
}

import { resolve } from 'node:path';
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../tools/server-tool.ts';
import { type ToolIdentity } from '../../tools/spec.ts';
import type { McpTarget } from '../config/config.ts';
import type { McpTool } from '../../actors/mcp/mcp-calls.ts';
import { type JsonObject, isJsonObject, defined } from '../../json/json.ts';
import { OwnRedactor } from '../../actors/redactor.ts';

/** Which server it is, whatever the configuration calls it. */
export type ServerIdentity = Pick<ToolIdentity, 'address' | 'serverId'>;

const LONGEST_ADDRESS = 300;
const HIDDEN = '…';
const NAMES_A_SECRET = /auth|key|token|secret|password|passwd|credential|cookie/i;

/**
 * A server by its configuration: command, arguments and folder, or origin and path. The folder counts where the
 * configuration names one, and where command or arguments lead from it (`.`, `./x`, `../x`), since they then mean
 * something else in another one.
 *
 * @example serverIdentity(connection.server.target).address // 'npx -y @modelcontextprotocol/server-filesystem .'
 */
export function serverIdentity(target: McpTarget): ServerIdentity {
  if (target.kind === 'http') {
    const { origin, pathname } = new URL(target.url);
    return { address: shortened(`${origin}${pathname}`), serverId: sha256(['http', origin, pathname]) };
  }
  const { command, args, cwd } = target;
  const folder = cwd !== undefined || [command, ...args].some(leadsFromFolder) ? resolve(cwd ?? '.') : '';
  return {
    address: shortened([command, ...withoutSecrets(args)].join(' ')),
    serverId: sha256(['stdio', command, ...args, folder]),
  };
}

const known = new WeakMap<McpTool, Pick<ToolIdentity, 'fingerprint' | 'title' | 'annotations'>>();

/** A tool's own description, and its fingerprint. */
export function toolFacts(tool: McpTool): Pick<ToolIdentity, 'fingerprint' | 'title' | 'annotations'> {
  const before = known.get(tool);
  if (before !== undefined) return before;
  const { description = '', inputSchema } = tool;
  const title = tool.title ?? tool.annotations?.title;
  const annotations = plainAnnotations(tool);
  const facts = {
    fingerprint: sha256([title ?? null, description, inputSchema, annotations ?? null]),
    ...defined({ title, annotations }),
  };
  known.set(tool, facts);
  return facts;
}

/** The hints without the title, which stands by itself. */
function plainAnnotations({ annotations = {} }: McpTool): JsonObject | undefined {
  const given: unknown = defined({ ...annotations, title: undefined });
  return isJsonObject(given) && Object.keys(given).length > 0 ? given : undefined;
}

function leadsFromFolder(part: string): boolean {
  return /^\.{1,2}(?:[/\\]|$)/.test(part);
}

/** `--api-key abc` and `--token=abc` hold a secret; so does what looks like a key, or an address with a password. */
function withoutSecrets(args: readonly string[]): readonly string[] {
  const redactor = new OwnRedactor();
  return args.map((arg, at) => {
    const [, name, value] = /^(-{0,2}[\w.-]+)=(.+)$/s.exec(arg) ?? [];
    if (name !== undefined && value !== undefined && NAMES_A_SECRET.test(name)) return `${name}=${HIDDEN}`;
    const flag = args[at - 1] ?? '';
    if (/^-{1,2}\w/.test(flag) && !flag.includes('=') && !arg.startsWith('-') && NAMES_A_SECRET.test(flag))
      return HIDDEN;
    return redactor
      .redact(arg)
      .replaceAll(/«secret:\d+»/g, HIDDEN)
      .replaceAll(/(:\/\/)[^/@\s]+@/g, `$1${HIDDEN}@`);
  });
}

function shortened(text: string): string {
  return text.length <= LONGEST_ADDRESS ? text : `${text.slice(0, LONGEST_ADDRESS)}…`;
}

function sha256(parts: Parameters<typeof canonicalJson>[0]): string {
  return createHash('sha256').update(canonicalJson(parts)).digest('hex');
}

/** What is different between two lists of tools, by name. */
interface ToolChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** Compares two lists of tools; null when they hold the same. */
export function diffTools(before: readonly McpTool[], after: readonly McpTool[]): ToolChanges | null {
  const old = new Map(before.map((tool) => [tool.name, JSON.stringify(tool)]));
  const names = new Set(after.map((tool) => tool.name));
  const added = after.filter((tool) => !old.has(tool.name)).map((tool) => tool.name);
  const removed = [...old.keys()].filter((name) => !names.has(name));
  const changed = after
    .filter((tool) => old.has(tool.name) && old.get(tool.name) !== JSON.stringify(tool))
    .map((tool) => tool.name);
  return added.length + removed.length + changed.length === 0 ? null : { added, removed, changed };
}

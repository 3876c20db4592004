import { isList } from '../json/depth.ts';
import { type Json, type JsonObject, defined } from '../json/json.ts';
import type { ToolChange, ToolIdentity, ToolSpec } from './spec.ts';

/** What a person was shown of a tool of a server, as texts of at most 4 000 characters. */
export interface ShownTool {
  readonly title: string;
  readonly description: string;
  readonly inputSchema: string;
  readonly annotations: string;
}

/** A tool of an MCP server, as a permission stores it: this tool of this server, as it was shown. */
export interface ServerTool extends Pick<ToolIdentity, 'serverId' | 'fingerprint'> {
  /** The server for people: command and arguments, or origin and path. */
  readonly server: string;
  /** The server's own name of the tool. */
  readonly tool: string;
  /** The name under which it was registered last. It grants nothing. */
  readonly name: string;
  readonly shown: ShownTool;
}

/** What a person is shown of a tool of an MCP server beside its name and arguments; nothing of a tool of the program. */
export interface ToolSource {
  /** The server's name in the configuration. */
  readonly server?: string;
  /** Command and arguments, or origin and path. */
  readonly address?: string;
  /** The server's own name of the tool. */
  readonly serverTool?: string;
  readonly title?: string;
  readonly description?: string;
  /** The hints of MCP: `readOnlyHint` and the like. They are claims of the server. */
  readonly annotations?: JsonObject;
  /** Set if this tool of this server was always allowed and has changed since. */
  readonly changes?: readonly ToolChange[];
}

const MOST_CHARS = 4000;
const AROUND = 200;

/**
 * The text under which a permission of a tool is kept: the name of a tool of the program; server, tool and fingerprint of
 * a tool of an MCP server. No tool of the program can have a name like the latter.
 */
export function permissionKey({ name, origin }: Pick<ToolSpec, 'name' | 'origin'>): string {
  if (origin.kind !== 'mcp') return name;
  const { serverId = '', fingerprint = '' } = origin.identity ?? {};
  return `mcp:${serverId}:${fingerprint}:${origin.tool}`;
}

/** A tool of a server as a permission stores it; null for all other tools, and for one whose identity is not known. */
export function serverToolOf({ name, description, inputSchema, origin }: ToolSpec): ServerTool | null {
  if (origin.kind !== 'mcp' || origin.identity === undefined) return null;
  const { address, serverId, fingerprint, title = '', annotations } = origin.identity;
  const shown = {
    title: title.slice(0, MOST_CHARS),
    description: description.slice(0, MOST_CHARS),
    inputSchema: canonicalJson(inputSchema).slice(0, MOST_CHARS),
    annotations: annotations === undefined ? '' : canonicalJson(annotations).slice(0, MOST_CHARS),
  };
  return { server: address, serverId, tool: origin.tool, name, fingerprint, shown };
}

/** What a person is shown of a tool, for events and questions. */
export function sourceOf({ description, origin, changes }: ToolSpec): ToolSource {
  if (origin.kind !== 'mcp') return {};
  const { address, title, annotations } = origin.identity ?? {};
  const said = description === '' ? undefined : description;
  const { server, tool: serverTool } = origin;
  return defined({ server, address, serverTool, title, description: said, annotations, changes });
}

/** Why a person is asked, in a sentence. */
export function reasonToAsk({ name, changes }: Pick<ToolSpec, 'name' | 'changes'>): string {
  if (changes === undefined) return `The policy of '${name}' is confirm.`;
  const what = changes.map((change) => change.what).join(', ');
  return `'${name}' has changed since it was always allowed (${what === '' ? 'details' : what}).`;
}

/** Whether two specs are the same tool as a person was shown it. Tools of the program always are. */
export function isSameTool(one: ToolSpec, other: ToolSpec): boolean {
  const [a, b] = [one.origin, other.origin];
  if (a.kind !== 'mcp' || b.kind !== 'mcp' || a.identity === undefined || b.identity === undefined) return true;
  return permissionKey(one) === permissionKey(other);
}

/** What is different between a tool as it was shown and as it is now. */
export function changesBetween(before: ShownTool, after: ShownTool): readonly ToolChange[] {
  const parts = [
    ['title', before.title, after.title],
    ['description', before.description, after.description],
    ['input schema', before.inputSchema, after.inputSchema],
    ['annotations', before.annotations, after.annotations],
  ] as const;
  const changes = parts.flatMap(([what, was, now]) => (was === now ? [] : [{ what, ...aroundDifference(was, now) }]));
  if (changes.length > 0) return changes;
  // Only what was cut off can be different then.
  const long = parts.find(([, was]) => was.length === MOST_CHARS) ?? parts[1];
  const text = `the first ${MOST_CHARS} characters are the same; what follows is different`;
  return [{ what: long[0], before: text, after: text }];
}

function aroundDifference(was: string, now: string): { readonly before: string; readonly after: string } {
  let same = 0;
  while (same < was.length && was[same] === now[same]) same += 1;
  const from = was.length <= AROUND * 2 && now.length <= AROUND * 2 ? 0 : Math.max(0, same - AROUND / 2);
  const cut = (text: string): string => {
    const piece = text.slice(from, from + AROUND * 2);
    return `${from > 0 ? '…' : ''}${piece}${from + piece.length < text.length ? '…' : ''}`;
  };
  return { before: cut(was), after: cut(now) };
}

/** JSON with sorted keys: the same for equal values. */
export function canonicalJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`;
  const members = Object.keys(value)
    .toSorted()
    .flatMap((key) => {
      const member = value[key];
      return member === undefined ? [] : [`${JSON.stringify(key)}:${canonicalJson(member)}`];
    });
  return `{${members.join(',')}}`;
}

/**
 * Owns: the names under which models call the tools of MCP servers.
 *
 * I1 A name depends on the configuration (which servers there are, in which order) and on the tools of its own server,
 *    never on what other servers list or on who connected first.
 * I2 A name that a tool was given stays with it for as long as its server is configured.
 * I3 No two servers can come to one name, whatever they call their tools: a name without a suffix does not begin as the
 *    names of a server configured before it do, and suffixes of different servers begin differently.
 */

/** The names of the tools of all servers of one hub. */
export type ServerToolNames = ReturnType<typeof createServerToolNames>;

/** What is kept of one server. */
interface Slot {
  /** What the names of its tools begin with. */
  readonly prefix: string;
  /** What the names of servers begin with that were there before it. */
  readonly before: readonly string[];
  /** What its suffixes begin with; no other server has the same. */
  readonly tag: string;
  /** The names that its tools have been given. */
  readonly given: Map<string, string>;
}

const MAX = 64;
const SUFFIX = 7;
/** Suffixes begin with a digit, so that few names of tools look as if they had one; those that do get one. */
const SUFFIXED = /_[0-9][0-9a-z]{5}$/;
const TAGS = 10 * 36 * 36;
const HASHES = 36 ** 3;
/** Tools that a server does not list any more are forgotten beyond this, so that it cannot fill the memory. */
const MOST_GIVEN = 10_000;

/** Makes the names of one hub, which has no servers yet. */
export function createServerToolNames() {
  const slots = new Map<string, Slot>();
  const slotOf = (server: string): Slot => {
    const known = slots.get(server);
    if (known !== undefined) return known;
    const slot = newSlot(server, [...slots.values()]);
    slots.set(server, slot);
    return slot;
  };
  return {
    /** Adds a server behind those that there are. Its names do not change when others come or go. */
    add: (server: string): void => void slotOf(server),
    /** Forgets a server and its names. */
    remove: (server: string): void => void slots.delete(server),
    /**
     * The name of each of the tools that a server lists now, in their order: `server_tool`, with only A-Z a-z 0-9 _ - in it
     * and at most 64 characters. A name that is too long, or could be that of another tool, ends in `_` and six characters
     * made from server and tool. A tool whose name needs no change never loses it to one of the same list whose name does.
     *
     * @example names.of('files', ['read_file']); // ['files_read_file']
     */
    of: (server: string, tools: readonly string[]): readonly string[] => namesIn(slotOf(server), tools),
  };
}

function newSlot(server: string, others: readonly Slot[]): Slot {
  const used = new Set(others.map(({ tag }) => tag));
  let number = hash(server) % TAGS;
  for (let tries = 0; used.has(tagOf(number)); tries += 1) {
    if (tries > TAGS) throw new RangeError(`An agent may have ${TAGS} MCP servers; '${server}' is one too many.`);
    number = (number + 1) % TAGS;
  }
  return {
    prefix: `${cleaned(server)}_`,
    before: others.map(({ prefix }) => prefix),
    tag: tagOf(number),
    given: new Map(),
  };
}

function tagOf(number: number): string {
  return String(Math.floor(number / 1296)) + (number % 1296).toString(36).padStart(2, '0');
}

function namesIn(slot: Slot, tools: readonly string[]): readonly string[] {
  const { given } = slot;
  const used = new Set(given.values());
  const keep = (tool: string, name: string): void => {
    used.add(name);
    given.set(tool, name);
  };
  for (const tool of tools) {
    const wish = slot.prefix + tool;
    if (!given.has(tool) && cleaned(tool) === tool && isFree(wish, slot, used)) keep(tool, wish);
  }
  for (const tool of tools) if (!given.has(tool)) keep(tool, otherName(slot.prefix + cleaned(tool), slot, used));
  const names = tools.map((tool) => given.get(tool) ?? '');
  if (given.size > MOST_GIVEN) {
    const listed = new Set(tools);
    for (const tool of given.keys()) if (!listed.has(tool)) given.delete(tool);
  }
  return names;
}

function otherName(stem: string, slot: Slot, used: ReadonlySet<string>): string {
  if (isFree(stem, slot, used)) return stem;
  for (let salt = hash(stem); ; salt += 1) {
    const suffix = slot.tag + (salt % HASHES).toString(36).padStart(3, '0');
    const name = `${stem.slice(0, MAX - SUFFIX)}_${suffix}`;
    if (!used.has(name)) return name;
  }
}

/** Whether a name may be had without a suffix. */
function isFree(name: string, { before }: Slot, used: ReadonlySet<string>): boolean {
  if (name.length > MAX || SUFFIXED.test(name) || used.has(name)) return false;
  return !before.some((prefix) => name.startsWith(prefix));
}

function cleaned(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_-]/g, '_');
}

/** FNV-1a: names need to differ, not to keep a secret. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return value;
}

/** A tool of a server. */
export interface ServerTool {
  readonly server: string;
  readonly tool: string;
}

const MAX = 64;

/**
 * Gives every tool the name that models call it by: `server_tool`, with only A-Z a-z 0-9 _ - in it and at most 64
 * characters, each name once. A name that is too long, or that another tool has already, ends in six characters made
 * from server and tool. A tool whose name needs no change never loses it to one whose name does. `taken` are names of
 * other tools.
 */
export function registeredNames(
  tools: readonly ServerTool[],
  taken: ReadonlySet<string> = new Set(),
): readonly string[] {
  const used = new Set(taken);
  const wishes = tools.map((tool) => ({ tool, wish: `${tool.server}_${tool.tool}` }));
  const plain = new Map<ServerTool, string>();
  for (const { tool, wish } of wishes) {
    if (!isCallable(wish) || used.has(wish)) continue;
    used.add(wish);
    plain.set(tool, wish);
  }
  return wishes.map(({ tool, wish }) => plain.get(tool) ?? distinct(tool, wish, used));
}

function distinct(tool: ServerTool, wish: string, used: Set<string>): string {
  const stem = wish.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  if (stem.length <= MAX && !used.has(stem)) {
    used.add(stem);
    return stem;
  }
  for (let salt = 0; ; salt += 1) {
    const name = `${stem.slice(0, MAX - 7)}_${shortHash(`${tool.server}\n${tool.tool}\n${salt}`)}`;
    if (used.has(name)) continue;
    used.add(name);
    return name;
  }
}

function isCallable(name: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(name);
}

/** FNV-1a in six characters of base 36: names need to differ, not to keep a secret. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash.toString(36).padStart(7, '0').slice(-6);
}

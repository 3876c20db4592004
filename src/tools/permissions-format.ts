/** The always-allowed tools of each agent. A map, so that names like `__proto__` are names like any other. */
export type Permissions = ReadonlyMap<string, ReadonlySet<string>>;

/** What a text turned out to be. */
export type ParsedPermissions =
  | { readonly kind: 'ok'; readonly permissions: Permissions }
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'corrupt' };

const VERSION = 1;
const CORRUPT = { kind: 'corrupt' } as const;

/** Reads a permission file's text; `null` is a file that does not exist. Anything that is not exactly the format is corrupt. */
export function parsePermissions(text: string | null): ParsedPermissions {
  if (text === null) return { kind: 'ok', permissions: new Map() };
  const file = parseJson(text);
  if (!isRecord(file)) return CORRUPT;
  const { version, agents } = file;
  if (typeof version === 'number' && version > VERSION) return { kind: 'newer', version };
  if (version !== VERSION || !isRecord(agents)) return CORRUPT;
  const permissions = new Map<string, ReadonlySet<string>>();
  for (const [agent, tools] of Object.entries(agents)) {
    if (!isListOfNames(tools)) return CORRUPT;
    permissions.set(agent, new Set(tools));
  }
  return { kind: 'ok', permissions };
}

/** Writes permissions as text: two spaces, agents and tools sorted by name, agents without tools left out. */
export function printPermissions(permissions: Permissions): string {
  const agents = [...permissions.entries()]
    .filter(([, tools]) => tools.size > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([agent, tools]) => [agent, [...tools].toSorted()] as const);
  return `${JSON.stringify({ version: VERSION, agents: Object.fromEntries(agents) }, null, 2)}\n`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOfNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '');
}

import type { ToolSpec } from './spec.ts';

/** What a name that a model wrote stands for. */
export type Lookup =
  | { readonly ok: true; readonly spec: ToolSpec }
  | { readonly ok: false; readonly suggestions: readonly string[] };

const MAX_SUGGESTIONS = 3;
const FARTHEST = 3;

/**
 * Finds the tool that a name means: the exact one, else the only one that equals it ignoring case, else the only one that
 * ends in `_` and the name (MCP tools are registered as `server_tool`). Two candidates are none; nothing is guessed.
 */
export function lookUp(tools: readonly ToolSpec[], wanted: string): Lookup {
  const exact = tools.find((tool) => tool.name === wanted);
  if (exact !== undefined) return { ok: true, spec: exact };
  const lower = wanted.trim().toLowerCase();
  for (const fits of [sameName(lower), sameEnding(lower)]) {
    const candidates = tools.filter(fits);
    const [only] = candidates;
    if (only !== undefined && candidates.length === 1) return { ok: true, spec: only };
    if (candidates.length > 1)
      return { ok: false, suggestions: candidates.map((tool) => tool.name).slice(0, MAX_SUGGESTIONS) };
  }
  return { ok: false, suggestions: nearest(tools, lower) };
}

function sameName(lower: string) {
  return (tool: ToolSpec): boolean => tool.name.toLowerCase() === lower;
}

function sameEnding(lower: string) {
  return (tool: ToolSpec): boolean => lower !== '' && tool.name.toLowerCase().endsWith(`_${lower}`);
}

function nearest(tools: readonly ToolSpec[], lower: string): readonly string[] {
  return tools
    .filter((tool) => tool.enabled && tool.policy !== 'deny')
    .map((tool) => ({ tool, far: distanceTo(tool.name.toLowerCase(), lower) }))
    .filter(({ far }) => far <= FARTHEST)
    .sort((a, b) => a.far - b.far)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ tool }) => tool.name);
}

/** Parts that contain each other count as close; otherwise the number of edits. */
function distanceTo(known: string, wanted: string): number {
  if (wanted.length > 3 && (known.includes(wanted) || wanted.includes(known))) return 1;
  return editDistance(known.slice(0, 64), wanted.slice(0, 64));
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replace = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replace, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

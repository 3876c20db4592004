import type { McpTool } from '../../actors/mcp/mcp-calls.ts';

/** What is different between two lists of tools, by name. */
export interface ToolChanges {
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

/** A tool as the parser needs to know it: by name. */
export type ToolName = string | { readonly name: string };

/** The names of the registered tools, for looking up what a reply mentions. */
export interface ToolNames {
  readonly exact: ReadonlySet<string>;
  readonly lowerCase: ReadonlySet<string>;
}

/** Collects the registered names from whatever list the caller has; undefined when there is no list. */
export function toolNames(tools: unknown): ToolNames | undefined {
  if (!Array.isArray(tools)) return undefined;
  const names = tools.flatMap((tool: unknown) => {
    if (typeof tool === 'string') return [tool];
    if (typeof tool !== 'object' || tool === null || !('name' in tool)) return [];
    return typeof tool.name === 'string' ? [tool.name] : [];
  });
  return { exact: new Set(names), lowerCase: new Set(names.map((name) => name.toLowerCase())) };
}

/** True when the name is one of a registered tool, whatever its case. */
export function isRegistered(name: string, tools: ToolNames | undefined): boolean {
  return tools !== undefined && (tools.exact.has(name) || tools.lowerCase.has(name.toLowerCase()));
}

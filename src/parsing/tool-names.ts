/** A tool as the parser needs to know it: by name. */
export type ToolName = string | { readonly name: string };

/** The registered tools, for looking up what a reply mentions. The names are collected when first asked for. */
export class ToolNames {
  private readonly tools: readonly unknown[];
  private names: ReadonlySet<string> | undefined;

  constructor(tools: readonly unknown[]) {
    this.tools = tools;
  }

  /** True when a tool has this name, whatever its case. */
  has(name: string): boolean {
    this.names ??= new Set(this.tools.flatMap(namesOf));
    return this.names.has(name) || this.names.has(name.toLowerCase());
  }
}

/** The registered names from whatever list the caller has; undefined when there is no list. */
export function toolNames(tools: unknown): ToolNames | undefined {
  return Array.isArray(tools) ? new ToolNames(tools) : undefined;
}

/** True when the name is one of a registered tool, whatever its case. */
export function isRegistered(name: string, tools: ToolNames | undefined): boolean {
  return tools !== undefined && tools.has(name);
}

/** No tool at all: nothing is registered. */
export const NO_TOOLS = new ToolNames([]);

function namesOf(tool: unknown): readonly string[] {
  if (typeof tool === 'string') return [tool, tool.toLowerCase()];
  if (typeof tool !== 'object' || tool === null || !('name' in tool)) return [];
  return typeof tool.name === 'string' ? namesOf(tool.name) : [];
}

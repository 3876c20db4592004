import { type JsonSchema, isJsonObject } from '../../json/json.ts';
import { readSchema } from '../schema/schema-like.ts';

/** A tool as the parser needs to know it: by name, and by the schema that distinguishes text from other parameters. */
export type ToolName = string | { readonly name: string; readonly inputSchema?: unknown };

/** The registered tools, for looking up what a reply mentions. They are collected when first asked for. */
export class RegisteredTools {
  private readonly tools: readonly unknown[];
  private known: ReadonlyMap<string, unknown> | undefined;
  private schemas: Map<string, JsonSchema | undefined> | undefined;

  constructor(tools: readonly unknown[]) {
    this.tools = tools;
  }

  /** True when a tool has this name, whatever its case. */
  has(name: string): boolean {
    const known = this.collected();
    return known.has(name) || known.has(name.toLowerCase());
  }

  /** True when a tool has exactly this name: a heading or a label begins with a capital. */
  isExact(name: string): boolean {
    return this.tools.some((tool) => nameOf(tool) === name);
  }

  /** The schema of one of a tool's arguments; undefined if it is not known. */
  argument(tool: string, key: string): JsonSchema | undefined {
    const schema = this.schema(tool);
    if (!isJsonObject(schema) || !isJsonObject(schema['properties'])) return undefined;
    const { properties } = schema;
    const found = Object.hasOwn(properties, key) ? properties[key] : undefined;
    return isJsonObject(found) || typeof found === 'boolean' ? found : undefined;
  }

  /** The schema of a tool's arguments; undefined where it is not known. */
  schema(name: string): JsonSchema | undefined {
    this.schemas ??= new Map();
    if (this.schemas.has(name)) return this.schemas.get(name);
    const known = this.collected();
    const tool = known.get(name) ?? known.get(name.toLowerCase());
    const given = typeof tool === 'object' && tool !== null && 'inputSchema' in tool ? tool.inputSchema : undefined;
    const schema = typeof given === 'object' && given !== null ? readSchema(given).json : undefined;
    this.schemas.set(name, schema);
    return schema;
  }

  private collected(): ReadonlyMap<string, unknown> {
    if (this.known !== undefined) return this.known;
    const known = new Map<string, unknown>();
    for (const tool of this.tools) {
      const name = nameOf(tool);
      if (name === undefined) continue;
      if (!known.has(name)) known.set(name, tool);
      if (!known.has(name.toLowerCase())) known.set(name.toLowerCase(), tool);
    }
    this.known = known;
    return known;
  }
}

/** The registered names from whatever list the caller has; undefined when there is no list. */
export function registeredTools(tools: unknown): RegisteredTools | undefined {
  return Array.isArray(tools) ? new RegisteredTools(tools) : undefined;
}

/** True when the name is one of a registered tool, whatever its case. */
export function isRegistered(name: string, tools: RegisteredTools | undefined): boolean {
  return tools !== undefined && tools.has(name);
}

/** True when the name may be a tool's: it is registered, or the tools were not given. */
export function isKnown(tools: RegisteredTools | undefined, name: string): boolean {
  return tools === undefined || tools.has(name);
}

/** No tool at all: nothing is registered. */
export const NO_TOOLS = new RegisteredTools([]);

function nameOf(tool: unknown): string | undefined {
  if (typeof tool === 'string') return tool;
  if (typeof tool !== 'object' || tool === null || !('name' in tool)) return undefined;
  return typeof tool.name === 'string' ? tool.name : undefined;
}

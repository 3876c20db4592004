import { isList } from '../../json/depth.ts';
import { type Json, type JsonObject, type JsonSchema, isJsonObject } from '../../json/json.ts';

/** An argument that is repeated in a header, so that what lies before a server need not read the body. */
export interface HeaderArgument {
  readonly path: readonly string[];
  readonly header: string;
}

const MARK = 'x-mcp-header';
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Their values are data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);

/**
 * The arguments that a tool's schema marks with `x-mcp-header` (MCP 2026-07-28, Streamable HTTP); null where it marks what
 * may not be: the name is no token or is given twice, or it is not a plain value on a path of `properties`.
 */
export function headerArguments(schema: JsonSchema): readonly HeaderArgument[] | null {
  const found: HeaderArgument[] = [];
  const visit = (node: Json | undefined, path: readonly string[] | null): boolean => {
    if (isList(node)) return node.every((item) => visit(item, null));
    if (!isJsonObject(node)) return true;
    const { [MARK]: header, properties, type, ...others } = node;
    if (header !== undefined) {
      if (path === null || path.length === 0 || !TYPES.includes(type)) return false;
      if (typeof header !== 'string' || !TOKEN.test(header)) return false;
      found.push({ path, header });
    }
    const inner = isJsonObject(properties) ? Object.entries(properties) : [];
    return (
      inner.every(([name, child]) => visit(child, path === null ? null : [...path, name])) &&
      Object.entries(others).every(([key, child]) => DATA.has(key) || visit(child, null))
    );
  };
  const names = (): Set<string> => new Set(found.map(({ header }) => header.toLowerCase()));
  return visit(schema, []) && names().size === found.length ? found : null;
}

/** The headers of one call. An argument that is left out has none. */
export function headersFor(marked: readonly HeaderArgument[], args: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    marked.flatMap(({ path, header }) => {
      const value = path.reduce<Json | undefined>((at, key) => (isJsonObject(at) ? at[key] : undefined), args);
      if (typeof value !== 'string' && typeof value !== 'boolean' && !Number.isSafeInteger(value)) return [];
      return [[`Mcp-Param-${header}`, encoded(typeof value === 'string' ? value : JSON.stringify(value))]];
    }),
  );
}

/** What is not plain ASCII without blanks around it goes as Base64. */
function encoded(text: string): string {
  const isPlain = /^[!-~](?:[\t -~]*[!-~])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

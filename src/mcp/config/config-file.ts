import { isJsonObject } from '../../json/json.ts';
import { readFile } from 'node:fs/promises';
import { type Environment, processEnvironment } from '../../models/endpoint/environment.ts';
import { readMcpServers } from './read-config.ts';
import { McpConfigError, type McpServer } from './config.ts';
import { isError } from '../../json/to-json.ts';

/**
 * Reads a JSON file with an `mcpServers` object (or `servers`, as some editors write it). Throws a
 * {@link McpConfigError} that names the file, and the line and column where the JSON is broken.
 *
 * @example const servers = await readMcpConfigFile('.mcp.json');
 */
export async function readMcpConfigFile(
  path: string,
  env: Environment = processEnvironment(),
): Promise<readonly McpServer[]> {
  const servers = await readMcpConfigEntries(path);
  try {
    return readMcpServers(servers, env);
  } catch (error) {
    if (!(error instanceof McpConfigError)) throw error;
    const where = {
      ...(error.server === null ? {} : { server: error.server }),
      ...(error.key === null ? {} : { key: error.key }),
    };
    throw new McpConfigError(`${path}: ${error.message}`, where);
  }
}

/**
 * The entries of such a file by name, as written: unchecked, variables not expanded. For callers that report errors per
 * entry. Throws a {@link McpConfigError} when the file has no such object.
 */
export async function readMcpConfigEntries(path: string): Promise<Readonly<Record<string, unknown>>> {
  return serversIn(parse(await load(path), path), path);
}

async function load(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).replace(/^\ufeff/, '');
  } catch (error) {
    const code = isError(error) && 'code' in error ? String(error.code) : 'unknown';
    throw new McpConfigError(`${path}: the MCP configuration cannot be read (${code}).`);
  }
}

function parse(written: string, path: string): unknown {
  const text = plainJson(written);
  const wrong = findJsonError(text);
  if (wrong !== null)
    throw new McpConfigError(`${path}:${wrong.line}:${wrong.column}: not valid JSON: ${wrong.problem}.`);
  const value: unknown = JSON.parse(text);
  return value;
}

const COMMENT = /("(?:[^"\\\n]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const LAST_COMMA = /("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])/g;

/** JSON as VS Code has it, with comments and commas at the end of lists, as plain JSON. Nothing changes its place. */
function plainJson(text: string): string {
  const blank = (part: string, string: string | undefined): string => string ?? part.replaceAll(/\S/g, ' ');
  return text.replaceAll(COMMENT, blank).replaceAll(LAST_COMMA, blank);
}

function serversIn(value: unknown, path: string): Readonly<Record<string, unknown>> {
  const { mcpServers, servers } = isJsonObject(value) ? value : {};
  const given = [mcpServers, servers].filter((one) => one !== undefined);
  for (const one of given)
    if (!isJsonObject(one))
      throw new McpConfigError(`${path}: 'mcpServers' must be an object of servers by name.`, { key: 'mcpServers' });
  const found = given.filter(isJsonObject).find((one) => Object.keys(one).length > 0);
  if (found !== undefined) return found;
  const message =
    given.length === 0
      ? "there is no 'mcpServers' object in it, and no 'servers' as VS Code writes it."
      : 'it names no server. Add one, or leave the file out.';
  throw new McpConfigError(`${path}: ${message}`, { key: 'mcpServers' });
}

/** Where a JSON text goes wrong: line and column count from 1, `problem` describes what was found there. */
interface JsonPosition {
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

const STRING = /"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;
const SPACE = /[ \t\r\n]*/y;

type Expecting = 'value' | 'first-item' | 'first-key' | 'key' | 'colon' | 'comma' | 'end';

/**
 * Finds the first place where a text stops being JSON; null where it is JSON. `JSON.parse` reports this only in its
 * error's message, which differs between engines.
 */
export function findJsonError(text: string): JsonPosition | null {
  const open: ('{' | '[')[] = [];
  let at = text.startsWith('\ufeff') ? 1 : 0;
  let expecting: Expecting = 'value';
  for (;;) {
    at += lengthAt(SPACE, text, at);
    if (at === text.length) return expecting === 'end' ? null : locate(text, at, 'the text ends too early');
    const step = advance(text, at, expecting, open);
    if (step === null)
      return locate(text, at, `unexpected ${JSON.stringify(text[at])}, expected ${describe(expecting, open)}`);
    [at, expecting] = step;
  }
}

function advance(text: string, at: number, expecting: Expecting, open: ('{' | '[')[]): [number, Expecting] | null {
  const char = text[at];
  const afterValue = (): Expecting => (open.length === 0 ? 'end' : 'comma');
  if (expecting === 'colon') return char === ':' ? [at + 1, 'value'] : null;
  if (expecting === 'comma' && char === ',') return [at + 1, open.at(-1) === '{' ? 'key' : 'value'];
  if (expecting === 'comma' || expecting === 'first-item' || expecting === 'first-key') {
    if (char === (open.at(-1) === '{' ? '}' : ']')) {
      open.pop();
      return [at + 1, afterValue()];
    }
    if (expecting === 'comma') return null;
  }
  if (expecting === 'key' || expecting === 'first-key') {
    const length = lengthAt(STRING, text, at);
    return length === 0 ? null : [at + length, 'colon'];
  }
  if (expecting === 'end') return null;
  if (char === '{' || char === '[') {
    open.push(char);
    return [at + 1, char === '{' ? 'first-key' : 'first-item'];
  }
  const length = lengthAt(STRING, text, at) || lengthAt(SCALAR, text, at);
  return length === 0 ? null : [at + length, afterValue()];
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  const found = pattern.exec(text)?.[0] ?? '';
  // JSON allows no control character inside a string, a line break included.
  return pattern === STRING && Array.from(found).some((char) => char < ' ') ? 0 : found.length;
}

function describe(expecting: Expecting, open: readonly ('{' | '[')[]): string {
  switch (expecting) {
    case 'value':
      return 'a value';
    case 'first-item':
      return 'a value or ]';
    case 'first-key':
      return 'a key in double quotes or }';
    case 'key':
      return 'a key in double quotes';
    case 'colon':
      return 'a colon';
    case 'comma':
      return `a comma or ${open.at(-1) === '{' ? '}' : ']'}`;
    case 'end':
      return 'the end';
  }
}

function locate(text: string, at: number, problem: string): JsonPosition {
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - (before.lastIndexOf('\n') + 1) + 1, problem };
}

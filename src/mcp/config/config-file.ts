import { readFile } from 'node:fs/promises';
import { McpConfigError, type McpServer } from './config.ts';
import { findJsonError } from './json-position.ts';
import { type Environment, ownEnvironment, readMcpServers } from './read-config.ts';

/**
 * Reads a JSON file with an `mcpServers` object (or `servers`, as some editors write it). Throws a
 * {@link McpConfigError} that names the file, and the line and column where the JSON is broken.
 *
 * @example const servers = await readMcpConfigFile('.mcp.json');
 */
export async function readMcpConfigFile(
  path: string,
  env: Environment = ownEnvironment(),
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
 * The entries of such a file by name, as they stand there: unchecked, variables not expanded. For who wants to say of each
 * entry what is wrong with it. Throws a {@link McpConfigError} when the file has no such object.
 */
export async function readMcpConfigEntries(path: string): Promise<Readonly<Record<string, unknown>>> {
  return serversIn(parse(await load(path), path), path);
}

async function load(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).replace(/^\ufeff/, '');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new McpConfigError(`${path}: the MCP configuration cannot be read (${code}).`);
  }
}

function parse(text: string, path: string): unknown {
  const wrong = findJsonError(text);
  if (wrong !== null)
    throw new McpConfigError(`${path}:${wrong.line}:${wrong.column}: not valid JSON: ${wrong.problem}.`);
  const value: unknown = JSON.parse(text);
  return value;
}

function serversIn(value: unknown, path: string): Readonly<Record<string, unknown>> {
  const { mcpServers, servers } = isRecord(value) ? value : {};
  const given = [mcpServers, servers].filter((one) => one !== undefined);
  for (const one of given)
    if (!isRecord(one))
      throw new McpConfigError(`${path}: 'mcpServers' must be an object of servers by name.`, { key: 'mcpServers' });
  const found = given.filter(isRecord).find((one) => Object.keys(one).length > 0);
  if (found !== undefined) return found;
  const message =
    given.length === 0
      ? "there is no 'mcpServers' object in it, and no 'servers' as VS Code writes it."
      : 'it names no server. Add one, or leave the file out.';
  throw new McpConfigError(`${path}: ${message}`, { key: 'mcpServers' });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import { existsSync, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { McpStdioConfig, McpTarget } from '../../mcp/config/config.ts';
import type { Finding, Symptoms } from './mcp-finding.ts';

/** Where programs come from that servers are commonly started with. */
const SOURCES: Readonly<Record<string, string>> = {
  node: 'it comes with Node.js, https://nodejs.org',
  npx: 'it comes with Node.js, https://nodejs.org',
  uvx: 'it comes with uv, https://docs.astral.sh/uv',
  uv: 'https://docs.astral.sh/uv',
  python: 'on many systems it is called python3',
  docker: 'https://docs.docker.com/get-docker',
  bunx: 'it comes with Bun, https://bun.sh',
  deno: 'https://deno.com',
};

/** Says why a program could not be started: it is not there, it may not be run, or its folder is missing. */
export function diagnoseStart({ entry, env, error }: Symptoms): Finding {
  const { config } = entry;
  const { target } = entry.server;
  const { errno } = error.data;
  if (target.kind !== 'stdio' || !('command' in config)) return plain('command-not-startable', error.message, '');
  if (target.cwd !== undefined && !isFolder(target.cwd)) {
    return plain(
      'folder-not-found',
      `The folder in which it shall run does not exist: ${target.cwd}`,
      "Make the folder, or correct 'cwd'. A relative folder starts at the one in which signalbox runs.",
    );
  }
  if (errno === 'ENOENT') return notFound(target, config, env);
  return plain(
    'command-not-startable',
    `The command '${config.command}' is there but could not be started (${typeof errno === 'string' ? errno : 'unknown'}).`,
    errno === 'EACCES'
      ? `Is it a program, and may you run it? chmod +x ${config.command}. A script for an interpreter is an argument: "command": "node", "args": ["${config.command}"].`
      : 'Start it by hand in a terminal to see what the system says.',
  );
}

function notFound(
  target: McpTarget & { readonly kind: 'stdio' },
  { command, args = [] }: McpStdioConfig,
  env: Symptoms['env'],
): Finding {
  const words = command.trim().split(/\s+/);
  if (words.length > 1 && args.length === 0) {
    const [program, ...rest] = words;
    return plain(
      'command-not-found',
      `There is no program with the name '${command}': 'command' is the program alone, and its arguments stand in 'args'.`,
      `Write "command": ${JSON.stringify(program)}, "args": ${JSON.stringify(rest)}.`,
    );
  }
  if (command.startsWith('~')) {
    return plain(
      'command-not-found',
      `The command '${command}' was not found: '~' is not expanded.`,
      `Write "command": ${JSON.stringify(`\${HOME}${command.slice(1)}`)}.`,
    );
  }
  if (target.command.includes('/') || target.command.includes('\\')) return noSuchFile(target, command);
  const path = target.env['PATH'] ?? env['PATH'] ?? '';
  const source = Object.hasOwn(SOURCES, command) ? ` (${SOURCES[command]})` : '';
  const own = target.env['PATH'] === undefined ? '' : ", which the entry's own 'env' sets";
  return {
    kind: 'command-not-found',
    what: `The command '${command}' was not found in PATH${own}.`,
    fix: `Install it${source}, or give its full path as 'command'.`,
    evidence: [`PATH: ${[...new Set(path.split(delimiter))].join(delimiter)}`],
  };
}

function noSuchFile(target: McpTarget & { readonly kind: 'stdio' }, command: string): Finding {
  const path = resolve(target.cwd ?? '.', target.command);
  if (existsSync(path)) {
    return plain(
      'command-not-found',
      `The file '${command}' is there, but the program that its first line (#!) names is not.`,
      'Install that program, or correct the line.',
    );
  }
  const relative = path === target.command ? '' : " A relative path starts at 'cwd', else where signalbox runs.";
  return plain('command-not-found', `There is no file '${path}'.`, `Correct 'command'.${relative}`);
}

function plain(kind: Finding['kind'], what: string, fix: string): Finding {
  return { kind, what, fix, evidence: [] };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

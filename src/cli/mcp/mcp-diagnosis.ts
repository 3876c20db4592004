import { isFolder } from '../../mcp/stdio/server-process.ts';
import type { McpHttpConfig, McpStdioConfig, McpTarget } from '../../mcp/config/config.ts';
import { namedVariables, withheldRoutes } from '../../mcp/config/environment-variables.ts';
import { type Finding, lastLines, type Symptoms } from './mcp-finding.ts';
import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';

const NAME_UNKNOWN: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'EAI_AGAIN']);
const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];

/** Finds out why a server with a URL cannot be used: unreachable, unauthorized, refusing or silent. Null for anything else. */
export function diagnoseHttp(symptoms: Symptoms): Finding | null {
  const { data, code } = symptoms.error;
  const { entry, error } = symptoms;
  if (code === 'login-required') {
    const fix = `signalbox mcp login ${entry.name}`;
    return { kind: 'login-required', what: 'Nobody is signed in.', fix, evidence: [error.message] };
  }
  if (code === 'auth-failed') {
    const fix = 'Ask whoever runs the server; where it wants a client that is registered by hand, give its "clientId".';
    return { kind: 'auth-failed', what: error.message, fix, evidence: [] };
  }
  if (code === 'auth-required' || code === 'insufficient-scope') return unauthorized(symptoms);
  if (typeof data.status === 'number') return refused(symptoms, data.status);
  if (typeof data.errno === 'string') return unreachable(symptoms, data.errno);
  return code === 'timeout' ? silentServer(symptoms) : null;
}

function unauthorized({ entry, env, error }: Symptoms): Finding {
  const { data } = error;
  const status = Number(data.status);
  const headers: McpHttpConfig['headers'] = 'url' in entry.config ? entry.config.headers : undefined;
  const [name, value = ''] =
    Object.entries(headers ?? {}).find(([header]) => header.toLowerCase() === 'authorization') ?? [];
  const evidence = lastLines(`HTTP ${status}`, data.body);
  if ('url' in entry.config && entry.config.auth !== undefined) {
    const fix = 'Look at the credentials in its "auth": are they right, and do they have the scopes that it wants?';
    return { kind: 'auth-required', what: error.message, fix, evidence };
  }
  if (name === undefined) {
    return {
      kind: 'auth-required',
      what: `It asks for authorization (HTTP ${status}), and the entry has no Authorization header.`,
      fix: 'Add "auth": "oauth" and sign in with \'signalbox mcp login\'; or get a token from whoever runs the server, set it as a variable and add "headers": { "Authorization": "Bearer ${TOKEN}" }.',
      evidence,
    };
  }
  const variables = namedVariables(value);
  const empty = variables.filter((variable) => (env[variable] ?? '').trim() === '');
  const from = variables.length === 0 ? '' : ` It comes from ${variables.join(', ')}.`;
  return {
    kind: 'auth-required',
    what: `It refuses the Authorization header of the entry (HTTP ${status}).${from}`,
    fix:
      empty.length > 0
        ? `Set ${empty.join(', ')}: it is empty.`
        : "Has the token expired, is it for this server, and does it begin with 'Bearer ' where the server expects that? 403 means: known, but not allowed.",
    evidence,
  };
}

function refused({ error: { data } }: Symptoms, status: number): Finding {
  const evidence = lastLines(`HTTP ${status}`, data.body);
  const what = `It answered with HTTP ${status}.`;
  if (status >= 500)
    return { kind: 'http-status', what, fix: 'The server itself failed: look into its log.', evidence };
  const path = 'Is the path right? MCP endpoints are often called /mcp, older ones /sse.';
  const fix =
    status === 404 || status === 405
      ? path
      : status === 429
        ? 'It accepts no more requests for now: try later.'
        : `It does not take our request as an MCP server does. ${path}`;
  return { kind: 'http-status', what, fix, evidence };
}

function unreachable({ entry, env, error }: Symptoms, errno: string): Finding {
  const { origin, hostname } = addressOf(entry);
  const proxy = PROXIES.find((name) => (env[name] ?? '') !== '');
  const throughProxy =
    proxy === undefined || env['NODE_USE_ENV_PROXY'] === '1'
      ? ''
      : ` ${proxy} is set but ignored unless NODE_USE_ENV_PROXY=1 is set, too.`;
  const [what, fix] =
    errno === 'ECONNREFUSED'
      ? [`Nothing listens at ${origin} (${errno}).`, 'Start the server, or correct host and port.']
      : NAME_UNKNOWN.has(errno)
        ? [`The host name ${hostname} is not known (${errno}).`, 'Correct it, or look at your network and its DNS.']
        : /CERT|TLS|SSL/.test(errno)
          ? [`The certificate of ${origin} is not trusted (${errno}).`, 'Name your authority with NODE_EXTRA_CA_CERTS.']
          : [error.message, 'Look at the address and at your network.'];
  return { kind: 'unreachable', what, fix: `${fix}${throughProxy}`, evidence: [] };
}

function silentServer({ entry }: Symptoms): Finding {
  return {
    kind: 'no-answer',
    what: `${addressOf(entry).origin} gave no answer in time.`,
    fix: `Does the server run, and is a firewall in between? If it needs longer, raise "connectTimeoutMs" (now ${entry.server.settings.connectTimeoutMs}).`,
    evidence: [],
  };
}

/** Without path and query, which may hold a key. */
function addressOf({ server: { target } }: Symptoms['entry']): { readonly origin: string; readonly hostname: string } {
  const { origin, hostname } = new URL(target.kind === 'http' ? target.url : 'http://nowhere.invalid');
  return { origin, hostname };
}

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

/** Finds out why a program could not be started: it does not exist, is not executable, or its folder is missing. */
export function diagnoseStart({ entry, env, error }: Symptoms): Finding {
  const { config } = entry;
  const { target } = entry.server;
  const { errno } = error.data;
  if (target.kind !== 'stdio' || !('command' in config)) return plain('command-not-startable', error.message, '');
  if (target.cwd !== undefined && !isFolder(target.cwd)) {
    return plain(
      'folder-not-found',
      `Its working directory does not exist: ${target.cwd}`,
      "Create the folder, or correct 'cwd'. A relative folder starts at the one in which signalbox runs.",
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

/** Finds out why a program that was started cannot be used: it ended, or it does not answer. Null for anything else. */
export function diagnoseProcess(symptoms: Symptoms): Finding | null {
  const { data, code } = symptoms.error;
  if (typeof data.exitCode === 'number' || typeof data.signal === 'string') return ended(symptoms);
  return code === 'timeout' ? silentProcess(symptoms) : null;
}

function ended({ entry, env, error: { data }, noise }: Symptoms): Finding {
  const { exitCode, signal } = data;
  const how = typeof signal === 'string' ? `by the signal ${signal}` : `with exit code ${Number(exitCode)}`;
  const written = [...lastLines('stderr', data.stderr), ...noise.map((line) => `stdout: ${line}`)];
  const hint =
    exitCode === 127
      ? ' 127 is what a shell says when it does not find a command.'
      : exitCode === 0
        ? " A program that ends without an error may not be a server, or may need an argument such as 'stdio'."
        : '';
  const words = written.length === 0 ? 'It wrote nothing to stderr.' : 'See what it wrote last:';
  return {
    kind: 'process-ended',
    what: `Its process ended ${how} before it could be used.${hint} ${words}`,
    fix: `Start it by hand to see more: ${commandLine(entry.config)}. It gets only HOME, LOGNAME, PATH, SHELL, TERM, USER and the settings of proxies, certificates and npm's registry of your environment; what else it needs must stand in 'env'.${withheld(entry.config, env)}`,
    evidence: written,
  };
}

function silentProcess({ entry, env, error: { data }, noise }: Symptoms): Finding {
  const seconds = entry.server.settings.connectTimeoutMs / 1000;
  const errors = lastLines('stderr', data.stderr);
  if (noise.length > 0) {
    return {
      kind: 'not-mcp',
      what: 'It runs but does not answer as an MCP server does, and it writes to stdout what is not an MCP message:',
      fix: "Is it an MCP server, started so that it speaks over stdio? If it logs to stdout, let it log to stderr: stdout is the protocol's.",
      evidence: [...noise.map((line) => `stdout: ${line}`), ...errors],
    };
  }
  return {
    kind: 'no-answer',
    what: 'It runs but gave no answer in time.',
    fix: `Is it an MCP server over stdio, and not one that listens on a port (then write 'url')? If it needs longer, as npx does when it downloads for the first time, raise "connectTimeoutMs" (now ${seconds * 1000}).${withheld(entry.config, env)}`,
    evidence: errors,
  };
}

/** What the network may need and is not passed on by itself, because it holds a password. */
function withheld(config: Symptoms['entry']['config'], env: Symptoms['env']): string {
  const own = 'command' in config ? (config.env ?? {}) : {};
  const names = withheldRoutes(env).filter((name) => !Object.hasOwn(own, name));
  if (names.length === 0) return '';
  const entries = names.map((name) => `"${name}": "\${${name}}"`).join(', ');
  return ` Not passed on, because a password stands in it: ${names.join(', ')}. If it needs that, write "env": { ${entries} }.`;
}

/** As it stands in the file, with variables unexpanded: it is safe to show. */
function commandLine(config: Symptoms['entry']['config']): string {
  if (!('command' in config)) return '';
  return [config.command, ...(config.args ?? [])].map(quoted).join(' ');
}

function quoted(word: string): string {
  return /^[\w./:@%+=,${}-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

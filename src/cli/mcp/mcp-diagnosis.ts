import { isFolder } from '../../mcp/stdio/server-process.ts';
import type { McpHttpConfig, McpStdioConfig, McpTarget } from '../../mcp/config/config.ts';
import { namedVariables, withheldRoutes } from '../../mcp/config/environment-variables.ts';
import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { JsonObject } from '../../json/json.ts';
import { endsOf } from '../../mcp/wire/faults.ts';
import { shellWord } from '../command/command.ts';
import type { UsableEntry } from './mcp-servers.ts';

/** One thing that is wrong with a server, in words for a person and with a kind for programs. */
export interface Finding {
  readonly kind: Kind;
  /** What is wrong, in whole sentences. */
  readonly what: string;
  /** What to do about it. */
  readonly fix: string;
  /** Lines to go by: what the server wrote. */
  readonly evidence: readonly string[];
}

type Kind =
  | 'mcp-config'
  | 'missing-variable'
  | 'command-not-found'
  | 'command-not-startable'
  | 'folder-not-found'
  | 'process-ended'
  | 'no-answer'
  | 'not-mcp'
  | 'wrong-version'
  | 'auth-required'
  | 'login-required'
  | 'auth-failed'
  | 'unreachable'
  | 'http-status'
  | 'limit-exceeded'
  | 'server-error'
  | 'not-connected'
  | 'unknown-tool';

/** Puts one together. */
export function finding(kind: Kind, what: string, fix: string, evidence: readonly string[] = []): Finding {
  return { kind, what, fix, evidence };
}

/** What a diagnosis goes by. */
export interface Symptoms {
  readonly entry: UsableEntry;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly error: { readonly code: string; readonly message: string; readonly data: JsonObject };
  /** What came on the server's stdout and is not an MCP message. */
  readonly noise: readonly string[];
  /** What a command that is suggested needs to find the file. */
  readonly at: string;
}

const NAME_UNKNOWN: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'EAI_AGAIN']);
const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];

/** Finds out why a server with a URL cannot be used: unreachable, unauthorized, refusing or silent. Null for anything else. */
export function diagnoseHttp(symptoms: Symptoms): Finding | null {
  const { entry, error, at } = symptoms;
  const { data, code, message } = error;
  if (code === 'login-required')
    return finding(code, 'Nobody is signed in.', `signalbox mcp login ${shellWord(entry.name)}${at}`, [message]);
  if (code === 'auth-failed') {
    const fix = 'Ask whoever runs the server; where it wants a client that is registered by hand, give its "clientId".';
    return finding(code, message, fix);
  }
  if (code === 'auth-required' || code === 'insufficient-scope') return unauthorized(symptoms);
  if (typeof data.status === 'number') return refused(symptoms, data.status);
  if (typeof data.errno === 'string') return unreachable(symptoms, data.errno);
  return code === 'timeout' ? silentServer(symptoms) : null;
}

function unauthorized({ entry, env, error, at }: Symptoms): Finding {
  const { data } = error;
  const status = Number(data.status);
  const headers: McpHttpConfig['headers'] = 'url' in entry.config ? entry.config.headers : undefined;
  const [name, value = ''] =
    Object.entries(headers ?? {}).find(([header]) => header.toLowerCase() === 'authorization') ?? [];
  const evidence = endsOf(data.body, `HTTP ${status}`);
  if ('url' in entry.config && entry.config.auth !== undefined) {
    const fix = 'Look at the credentials in its "auth": are they right, and do they have the scopes that it wants?';
    return finding('auth-required', error.message, fix, evidence);
  }
  if (name === undefined) {
    return finding(
      'auth-required',
      `It asks for authorization (HTTP ${status}), and the entry has no Authorization header.`,
      `Add "auth": "oauth" and sign in with 'signalbox mcp login ${shellWord(entry.name)}${at}'; or get a token from whoever runs the server, set it as a variable and add "headers": { "Authorization": "Bearer \${TOKEN}" }.`,
      evidence,
    );
  }
  const variables = namedVariables(value);
  const empty = variables.filter((variable) => (env[variable] ?? '').trim() === '');
  const from = variables.length === 0 ? '' : ` It comes from ${variables.join(', ')}.`;
  return finding(
    'auth-required',
    `It refuses the Authorization header of the entry (HTTP ${status}).${from}`,
    empty.length > 0
      ? `Set ${empty.join(', ')}: it is empty.`
      : "Has the token expired, is it for this server, and does it begin with 'Bearer ' where the server expects that? 403 means: known, but not allowed.",
    evidence,
  );
}

function refused({ error: { data, message } }: Symptoms, status: number): Finding {
  if (status === 400 && data.answer !== undefined) {
    const fix =
      "It speaks MCP, but refuses. Signalbox speaks the protocol's versions up to 2026-07-28: it must take one.";
    return finding('server-error', message, fix);
  }
  const evidence = endsOf(data.body, `HTTP ${status}`);
  const what = `It answered with HTTP ${status}.`;
  if (status >= 500) return finding('http-status', what, 'The server itself failed: look into its log.', evidence);
  const path = 'Is the path right? MCP endpoints are often called /mcp, older ones /sse.';
  const fix =
    status === 404 || status === 405
      ? path
      : status === 429
        ? 'It accepts no more requests for now: try later.'
        : `It does not take our request as an MCP server does. ${path}`;
  return finding('http-status', what, fix, evidence);
}

function unreachable({ entry, env, error }: Symptoms, errno: string): Finding {
  const { origin, hostname } = addressOf(entry);
  const proxy = PROXIES.find((name) => (env[name] ?? '') !== '');
  const throughProxy =
    proxy === undefined
      ? ''
      : env['NODE_USE_ENV_PROXY'] === '1'
        ? ` It may be the proxy of ${proxy} that failed.`
        : ` ${proxy} is set but ignored unless NODE_USE_ENV_PROXY=1 is set, too.`;
  const [what, fix] =
    errno === 'ECONNREFUSED'
      ? [`Nothing listens at ${origin} (${errno}).`, 'Start the server, or correct host and port.']
      : NAME_UNKNOWN.has(errno)
        ? [`The host name ${hostname} is not known (${errno}).`, 'Correct it, or look at your network and its DNS.']
        : /CERT|TLS|SSL/.test(errno)
          ? [`The certificate of ${origin} is not trusted (${errno}).`, 'Name your authority with NODE_EXTRA_CA_CERTS.']
          : [error.message, 'Look at the address and at your network.'];
  return finding('unreachable', what, `${fix}${throughProxy}`);
}

function silentServer({ entry }: Symptoms): Finding {
  return finding(
    'no-answer',
    `${addressOf(entry).origin} gave no answer in time.`,
    `Does the server run, and is a firewall in between? If it needs longer, raise "connectTimeoutMs" (now ${entry.server.settings.connectTimeoutMs}).`,
  );
}

/** Without path and query, which may hold a key. */
function addressOf({ server: { target } }: Symptoms['entry']): { readonly origin: string; readonly hostname: string } {
  return new URL(target.kind === 'http' ? target.url : 'http://nowhere.invalid');
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
  if (target.kind !== 'stdio' || !('command' in config)) return finding('command-not-startable', error.message, '');
  if (target.cwd !== undefined && !isFolder(target.cwd)) {
    return finding(
      'folder-not-found',
      `Its working directory does not exist: ${target.cwd}`,
      "Create the folder, or correct 'cwd'. A relative folder starts at the one in which signalbox runs.",
    );
  }
  if (errno === 'ENOENT') return notFound(target, config, env);
  return finding(
    'command-not-startable',
    `The command '${config.command}' is there but could not be started (${typeof errno === 'string' ? errno : 'unknown'}).`,
    errno === 'EACCES'
      ? `Is it a program, and may you run it? chmod +x ${shellWord(config.command)}. A script for an interpreter is an argument: "command": "node", "args": [${JSON.stringify(config.command)}].`
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
    return finding(
      'command-not-found',
      `There is no program with the name '${command}': 'command' is the program alone, and its arguments stand in 'args'.`,
      `Write "command": ${JSON.stringify(program)}, "args": ${JSON.stringify(rest)}.`,
    );
  }
  if (command.startsWith('~')) {
    return finding(
      'command-not-found',
      `The command '${command}' was not found: '~' is not expanded.`,
      `Write "command": ${JSON.stringify(`\${HOME}${command.slice(1)}`)}.`,
    );
  }
  if (target.command.includes('/') || target.command.includes('\\')) return noSuchFile(target, command);
  const path = target.env['PATH'] ?? env['PATH'] ?? '';
  const source = Object.hasOwn(SOURCES, command) ? ` (${SOURCES[command]})` : '';
  const own = target.env['PATH'] === undefined ? '' : ", which the entry's own 'env' sets";
  return finding(
    'command-not-found',
    `The command '${command}' was not found in PATH${own}.`,
    `Install it${source}, or give its full path as 'command'.`,
    [`PATH: ${[...new Set(path.split(delimiter))].join(delimiter)}`],
  );
}

function noSuchFile(target: McpTarget & { readonly kind: 'stdio' }, command: string): Finding {
  const path = resolve(target.cwd ?? '.', target.command);
  if (existsSync(path)) {
    return finding(
      'command-not-found',
      `The file '${command}' is there, but the program that its first line (#!) names is not.`,
      'Install that program, or correct the line.',
    );
  }
  const relative = path === target.command ? '' : " A relative path starts at 'cwd', else where signalbox runs.";
  return finding('command-not-found', `There is no file '${path}'.`, `Correct 'command'.${relative}`);
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
  const written = [...endsOf(data.stderr, 'stderr'), ...noise.map((line) => `stdout: ${line}`)];
  const hint =
    exitCode === 127
      ? ' 127 is what a shell says when it does not find a command.'
      : exitCode === 0
        ? " A program that ends without an error may not be a server, or may need an argument such as 'stdio'."
        : '';
  const words = written.length === 0 ? 'It wrote nothing to stderr.' : 'See what it wrote last:';
  return finding(
    'process-ended',
    `Its process ended ${how} before it could be used.${hint} ${words}`,
    `Start it by hand to see more: ${commandLine(entry.config)}. It gets only HOME, LOGNAME, PATH, SHELL, TERM, USER and the settings of proxies, certificates and npm's registry of your environment; what else it needs must stand in 'env'.${withheld(entry.config, env)}`,
    written,
  );
}

function silentProcess({ entry, env, error: { data }, noise }: Symptoms): Finding {
  const errors = endsOf(data.stderr, 'stderr');
  if (noise.length > 0) {
    return finding(
      'not-mcp',
      'It runs but does not answer as an MCP server does, and it writes to stdout what is not an MCP message:',
      "Is it an MCP server, started so that it speaks over stdio? If it logs to stdout, let it log to stderr: stdout is the protocol's.",
      [...noise.map((line) => `stdout: ${line}`), ...errors],
    );
  }
  return finding(
    'no-answer',
    'It runs but gave no answer in time.',
    `Is it an MCP server over stdio, and not one that listens on a port (then write 'url')? If it needs longer, as npx does when it downloads for the first time, raise "connectTimeoutMs" (now ${entry.server.settings.connectTimeoutMs}).${withheld(entry.config, env)}`,
    errors,
  );
}

/** What the network may need and is not passed on by itself, because it holds a password. */
function withheld(config: Symptoms['entry']['config'], env: Symptoms['env']): string {
  const own = 'command' in config ? (config.env ?? {}) : {};
  const names = withheldRoutes(env).filter((name) => !Object.hasOwn(own, name));
  if (names.length === 0) return '';
  const entries = names.map((name) => `"${name}": "\${${name}}"`).join(', ');
  return ` Not passed on, because a password stands in it: ${names.join(', ')}. If it needs that, write "env": { ${entries} }.`;
}

/** The command for a shell. Variables stay as the file names them, so that no value of one is shown. */
function commandLine(config: Symptoms['entry']['config']): string {
  if (!('command' in config)) return '';
  const words = [config.command, ...(config.args ?? [])];
  return words.map((word) => (/^(?:[\w./:@%+=,-]|\$\{\w+\})+$/.test(word) ? word : shellWord(word))).join(' ');
}

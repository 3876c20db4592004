import { withheldRoutes } from '../../mcp/config/environment-variables.ts';
import { type Finding, type Symptoms, lastLines } from './mcp-finding.ts';

/** Says why a program that was started is no use: it ended, or it does not answer. Null for anything else. */
export function diagnoseProcess(symptoms: Symptoms): Finding | null {
  const { data, code } = symptoms.error;
  if (typeof data.exitCode === 'number' || typeof data.signal === 'string') return ended(symptoms);
  return code === 'timeout' ? silent(symptoms) : null;
}

function ended({ entry, env, error: { data }, noise }: Symptoms): Finding {
  const { exitCode, signal } = data;
  const how = typeof signal === 'string' ? `by the signal ${signal}` : `with exit code ${Number(exitCode)}`;
  const written = [...lastLines('stderr', data.stderr), ...noise.map((line) => `stdout: ${line}`)];
  const hint =
    exitCode === 127
      ? ' 127 is what a shell says when it does not find a command.'
      : exitCode === 0
        ? " A program that ends without an error may be no server, or may need an argument such as 'stdio'."
        : '';
  const words = written.length === 0 ? 'It wrote nothing to stderr.' : 'See what it wrote last:';
  return {
    kind: 'process-ended',
    what: `Its process ended ${how} before it could be used.${hint} ${words}`,
    fix: `Start it by hand to see more: ${commandLine(entry.config)}. It gets only HOME, LOGNAME, PATH, SHELL, TERM, USER and the settings of proxies, certificates and npm's registry of your environment; what else it needs must stand in 'env'.${withheld(entry.config, env)}`,
    evidence: written,
  };
}

function silent({ entry, env, error: { data }, noise }: Symptoms): Finding {
  const seconds = entry.server.settings.connectTimeoutMs / 1000;
  const errors = lastLines('stderr', data.stderr);
  if (noise.length > 0) {
    return {
      kind: 'not-mcp',
      what: 'It runs but does not answer as an MCP server does, and it writes to stdout what is no MCP message:',
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

/** As it stands in the file, with variables unexpanded: it may be shown to anybody. */
function commandLine(config: Symptoms['entry']['config']): string {
  if (!('command' in config)) return '';
  return [config.command, ...(config.args ?? [])].map(quoted).join(' ');
}

function quoted(word: string): string {
  return /^[\w./:@%+=,${}-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

import type { McpServerConfig, McpToolOverride } from '../../mcp/config/config.ts';
import type { McpConnection } from '../../mcp/connection-types.ts';
import { DEFAULT_MCP_LIMITS } from '../../mcp/config/server-limits.ts';
import { createMcpConnection } from '../../mcp/create-connection.ts';
import { METHOD_NOT_FOUND, endsOf } from '../../mcp/wire/faults.ts';
import { escaped, machineJson, oneLine } from '../../output/console/escaped.ts';
import { openTerminal } from '../../output/console/terminal.ts';
import { EXIT_CODE } from '../command/command.ts';
import { type Trying, type McpEntry, type UsableEntry, type WrongEntry, tried } from './mcp-servers.ts';
import { type Finding, finding, type Symptoms, diagnoseHttp, diagnoseProcess, diagnoseStart } from './mcp-diagnosis.ts';
import { isJsonObject } from '../../json/json.ts';
import { nearestName } from '../../json/nearest-name.ts';
import { counted, wrapHanging } from '../../terminal/text-width.ts';

/** What was found out about one server. */
interface Report {
  readonly server: string;
  /** False when there are findings. */
  readonly ok: boolean;
  readonly summary: string;
  readonly findings: readonly Finding[];
  /** What is odd but does no harm. */
  readonly remarks: readonly string[];
}

/** Examines each server and prints in words what is wrong with it and what to do. Exit code 0 when all are well, else 1. */
export async function examineServers(
  entries: readonly McpEntry[],
  options: Trying & { readonly json: boolean },
): Promise<number> {
  const reports = await Promise.all(entries.map((entry) => examine(entry, options)));
  if (options.json) console.log(machineJson(reports));
  else if (reports.length === 0) console.log('No server is configured.');
  else {
    const columns = openTerminal(process.stdout).columns();
    for (const line of reports.flatMap(linesOf))
      for (const part of wrapHanging(escaped(line), columns)) console.log(part);
  }
  return reports.every(({ ok }) => ok) ? EXIT_CODE.answered : EXIT_CODE.failed;
}

/** As many odd lines show what a server does. */
const MAX_NOISE = 5;

async function examine(entry: McpEntry, trying: Trying): Promise<Report> {
  const { name } = entry;
  switch (entry.kind) {
    case 'disabled':
      return { server: name, ok: true, summary: 'switched off ("disabled": true)', findings: [], remarks: [] };
    case 'wrong':
      return report(name, 'cannot be tried', [diagnoseEntry(entry)], []);
    case 'usable':
      return tryOut(entry, trying);
  }
}

async function tryOut(entry: UsableEntry, { timeoutMs, at }: Trying): Promise<Report> {
  const { name, config } = entry;
  // Without its filters, so that a name that no tool has can be reported.
  const open: McpServerConfig = { ...tried(config, timeoutMs), tools: undefined, exclude: undefined };
  const filtered = config.tools !== undefined || config.exclude !== undefined;
  const mcp = filtered ? { tools: Number.MAX_SAFE_INTEGER } : {};
  const connection = createMcpConnection(name, open, { limits: { maxFailures: 1, mcp }, offersLogin: false });
  const noise: string[] = [];
  connection.on('mcp.warning', ({ message }) => {
    // The tools are listed twice.
    if (noise.length < MAX_NOISE && !noise.includes(message)) noise.push(message);
  });
  const since = performance.now();
  try {
    // Asked twice: some servers end after the first answers.
    const listed =
      (await connection.connect()) &&
      (await connection.listTools({ refresh: true }).then(
        () => true,
        () => false,
      ));
    const seconds = ((performance.now() - since) / 1000).toFixed(1);
    if (!listed) {
      const { error } = connection;
      const seen = { ...entry, server: connection.server };
      const symptoms = error ?? { code: 'not-connected', message: `'${name}' is not connected.`, data: {} };
      return report(
        name,
        `not usable (${connection.state})`,
        [diagnose({ entry: seen, env: process.env, error: symptoms, noise, at })],
        [],
      );
    }
    const remarks =
      noise.length === 0 ? [] : [`It breaks the protocol in ways that are tolerated: ${noise.join(' | ')}`];
    const findings = [...tooManyTools(entry, connection), ...unknownTools(entry, connection)];
    return report(name, summaryOf(connection, seconds), findings, remarks);
  } finally {
    await connection.disconnect();
  }
}

function summaryOf({ info, tools }: McpConnection, seconds: string): string {
  const who =
    info === null ? '' : `: ${info.title} ${info.version}, MCP ${info.protocolVersion} over ${info.transport}`;
  return `connected in ${seconds} s${who}, ${counted(tools.length, 'tool')}`;
}

/** What is left of a long list once `tools` and `exclude` are applied may still be too long. */
function tooManyTools({ server: { settings } }: UsableEntry, { tools }: McpConnection): readonly Finding[] {
  const left = tools.filter(
    (tool) => (settings.tools?.includes(tool.name) ?? true) && !settings.exclude.includes(tool.name),
  );
  if (left.length <= DEFAULT_MCP_LIMITS.tools) return [];
  const what = `${left.length} of its tools are wanted, and limits.mcp.tools allows ${DEFAULT_MCP_LIMITS.tools}.`;
  return [finding('limit-exceeded', what, FEWER_TOOLS)];
}

const FEWER_TOOLS = 'Name those that you need with "tools" in its entry, or raise limits.mcp.tools of your agent.';

/** Names in the entry that no tool of the server has: a misspelt `exclude` excludes nothing. */
function unknownTools({ server: { settings } }: UsableEntry, { tools }: McpConnection): readonly Finding[] {
  const names = tools.map((tool) => tool.name);
  const overrides: Readonly<Record<string, McpToolOverride>> = settings.overrides;
  const given = { tools: settings.tools ?? [], exclude: settings.exclude, overrides: Object.keys(overrides) };
  return Object.entries(given).flatMap(([key, list]) =>
    list
      .filter((name) => !names.includes(name))
      .map((name) => {
        const meant = nearestName(name, names);
        return finding(
          'unknown-tool',
          `'${key}' names the tool '${name}', and the server has none of that name.`,
          meant === undefined ? `It has: ${names.join(', ')}.` : `Did you mean '${meant}'?`,
        );
      }),
  );
}

function report(server: string, summary: string, findings: readonly Finding[], remarks: readonly string[]): Report {
  return { server, ok: findings.length === 0, summary, findings, remarks };
}

function linesOf({ server, ok, summary, findings, remarks }: Report): readonly string[] {
  const details = findings.flatMap(({ what, fix, evidence }) => [
    `  ${what}`,
    ...evidence.map((line) => `    ${line}`),
    `  What to do: ${fix}`,
  ]);
  return [
    `${ok ? 'ok   ' : 'WRONG'} ${server}: ${oneLine(summary)}`,
    ...details,
    ...remarks.map((remark) => `  ${remark}`),
  ];
}

/** Describes why a server could not be used, by the error's code and data, never by its text. */
function diagnose(symptoms: Symptoms): Finding {
  const { entry, error } = symptoms;
  if (error.code === 'spawn-failed') return diagnoseStart(symptoms);
  if (error.code === 'protocol-error') return wrongProtocol(symptoms);
  if (error.code === 'limit-exceeded') {
    const { limit } = error.data;
    const fix =
      limit === 'tools' || typeof limit !== 'string'
        ? FEWER_TOOLS
        : `Raise limits.mcp.${limit} of your agent, if it may be so large.`;
    return finding(error.code, error.message, fix);
  }
  const found = entry.server.target.kind === 'stdio' ? diagnoseProcess(symptoms) : diagnoseHttp(symptoms);
  const fix = 'Try again; if the problem remains, check the log of the server.';
  return found ?? finding('not-connected', error.message, fix);
}

/** Describes what is wrong with an entry that could not even be tried. */
function diagnoseEntry({ name, error, missing }: WrongEntry): Finding {
  if (missing.length === 0) return finding('mcp-config', error.message, 'Correct its entry in the file.');
  const [first = ''] = missing;
  const [many, them] = missing.length > 1 ? ['s', 'them'] : ['', 'it'];
  return finding(
    'missing-variable',
    `The entry of '${name}' needs the environment variable${many} ${missing.join(', ')}, which ${many === '' ? 'is' : 'are'} not set.`,
    `Set ${them} where signalbox is started (export ${first}=…), or give a default in the file: \${${first}:-default}.`,
  );
}

function wrongProtocol({ entry, error: { data, message }, noise }: Symptoms): Finding {
  const evidence = [...noise.map((line) => `stdout: ${line}`), ...endsOf(data.stderr, 'stderr')];
  const supported = Array.isArray(data.supported) ? data.supported : [];
  if (typeof data.version === 'string' && !supported.includes(data.version)) {
    const known = supported.length === 0 ? '' : `; spoken here are ${supported.join(', ')}`;
    return finding(
      'wrong-version',
      `It speaks MCP version ${data.version}${known}.`,
      'Update the server; if it is newer than Signalbox, update Signalbox.',
      evidence,
    );
  }
  const { answer } = data;
  const refusal = isJsonObject(answer) ? answer.error : data;
  if (isJsonObject(refusal) && typeof refusal.code === 'number' && refusal.code !== METHOD_NOT_FOUND) {
    const fix = 'It speaks MCP, but refuses, or answers wrongly. Its log or documentation may say why.';
    return finding('server-error', message, fix, evidence);
  }
  const fix =
    entry.server.target.kind === 'stdio'
      ? "Is this program an MCP server, and does it need an argument such as 'stdio' to speak MCP over its standard input and output?"
      : "Is 'url' the address of the MCP endpoint itself, such as https://host/mcp, and not that of a web page?";
  return finding('not-mcp', message, fix, evidence);
}

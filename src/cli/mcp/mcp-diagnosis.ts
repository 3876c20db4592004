import { diagnoseHttp } from './mcp-diagnosis-http.ts';
import { diagnoseProcess } from './mcp-diagnosis-process.ts';
import { diagnoseStart } from './mcp-diagnosis-start.ts';
import type { WrongEntry } from './mcp-file.ts';
import { type Finding, type Symptoms, lastLines } from './mcp-finding.ts';

/** Says in words why a server could not be used. Goes by codes and data of the error, never by its text. */
export function diagnose(symptoms: Symptoms): Finding {
  const { entry, error } = symptoms;
  if (error.code === 'spawn-failed') return diagnoseStart(symptoms);
  if (error.code === 'protocol-error') return wrongProtocol(symptoms);
  const found = entry.server.target.kind === 'stdio' ? diagnoseProcess(symptoms) : diagnoseHttp(symptoms);
  return (
    found ?? {
      kind: 'not-connected',
      what: error.message,
      fix: 'Try once more; if it stays so, look into the log of the server.',
      evidence: [],
    }
  );
}

/** Says what is wrong with an entry that could not even be tried. */
export function diagnoseEntry({ name, error, missing }: WrongEntry): Finding {
  if (missing.length === 0) {
    return { kind: 'mcp-config', what: error.message, fix: 'Correct its entry in the file.', evidence: [] };
  }
  const [first = ''] = missing;
  const [many, them] = missing.length > 1 ? ['s', 'them'] : ['', 'it'];
  return {
    kind: 'missing-variable',
    what: `The entry of '${name}' needs the environment variable${many} ${missing.join(', ')}, which ${many === '' ? 'is' : 'are'} not set.`,
    fix: `Set ${them} where signalbox is started (export ${first}=…), or give a default in the file: \${${first}:-default}.`,
    evidence: [],
  };
}

function wrongProtocol({ entry, error: { data, message }, noise }: Symptoms): Finding {
  const evidence = [...noise.map((line) => `stdout: ${line}`), ...lastLines('stderr', data.stderr)];
  if (typeof data.version === 'string') {
    const known = Array.isArray(data.supported) ? `; spoken here are ${data.supported.join(', ')}` : '';
    return {
      kind: 'wrong-version',
      what: `It speaks MCP version ${data.version}${known}.`,
      fix: 'Update the server; if it is newer than Signalbox, update Signalbox.',
      evidence,
    };
  }
  const fix =
    entry.server.target.kind === 'stdio'
      ? "Is this program an MCP server, and does it need an argument such as 'stdio' to speak MCP over its standard input and output?"
      : "Is 'url' the address of the MCP endpoint itself, such as https://host/mcp, and not that of a web page?";
  return { kind: 'not-mcp', what: message, fix, evidence };
}

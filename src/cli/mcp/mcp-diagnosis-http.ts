import type { McpHttpConfig } from '../../mcp/config/config.ts';
import { namedVariables } from '../../mcp/config/environment-variables.ts';
import { type Finding, type Symptoms, lastLines } from './mcp-finding.ts';

const NAME_UNKNOWN: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'EAI_AGAIN']);
const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];

/** Says why a server with a URL cannot be used: unreachable, unauthorized, refusing or silent. Null for anything else. */
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
  return code === 'timeout' ? silent(symptoms) : null;
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

function silent({ entry }: Symptoms): Finding {
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

import type { Agent as HttpAgent, IncomingMessage } from 'node:http';
import { redirectWithin } from '../../actors/redirect.ts';
import { basicOf } from '../endpoint/endpoint.ts';
import { readVariable, type Environment } from '../endpoint/environment.ts';

/** The way to one URL, found once for all requests that go there. */
export interface HttpRoute {
  /** TLS to whatever is connected to: the server, or a proxy in front of a plain one. */
  readonly secure: boolean;
  readonly host: string;
  readonly port: string | null;
  /** The path, or the whole URL where a proxy forwards the request. */
  readonly path: string;
  /** The headers that follow from the address: name, value, name, value … */
  readonly headers: readonly string[];
  /** The agent with kept connections, or one for a single separate connection. */
  agent(fresh: boolean): HttpAgent;
  /** What went wrong on it, naming the proxy that forwards the request. */
  failed(cause: Error): Error;
  /** The way to where a response redirects its request, if that may be followed; null otherwise. */
  redirected(response: IncomingMessage): HttpRoute | null;
}

// Node's modules are taken from the process, not imported: a bundler for browsers never sees them.
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');
const net = process.getBuiltinModule('node:net');
const tls = process.getBuiltinModule('node:tls');

const TUNNEL_TIMEOUT_MS = 60_000;

const pooled = new Map<string, HttpAgent>();

/** Finds the way to a URL, through the proxy that the environment names for it. */
export function findRoute(url: URL, env: Environment): HttpRoute {
  const proxy = proxyFor(url, env);
  const isTls = url.protocol === 'https:';
  const tunnel = isTls ? proxy : undefined;
  const forwardedBy = isTls ? undefined : proxy;
  const address = forwardedBy ?? url;
  const secure = address.protocol === 'https:';
  return {
    secure,
    host: hostOf(address),
    port: address.port === '' ? null : address.port,
    path: forwardedBy === undefined ? url.pathname + url.search : url.href,
    headers: ['host', url.host, ...(forwardedBy === undefined ? [] : proxyHeaders(forwardedBy))],
    agent: (fresh) => (fresh ? createHttpAgent(secure, tunnel, false) : pooledAgent(secure, tunnel)),
    failed(cause) {
      if (forwardedBy === undefined) return cause;
      return new ProxyError(`the proxy ${forwardedBy.host} passed nothing on to ${url.host}`, { cause });
    },
    redirected({ statusCode = 0, headers: { location } }) {
      const to = redirectWithin(url, statusCode, location);
      return to === null ? null : findRoute(to, env);
    },
  };
}

/** The host to connect to: an IPv6 address without its brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function pooledAgent(secure: boolean, tunnel: URL | undefined): HttpAgent {
  const key = secure ? `https ${tunnel?.href ?? ''}` : 'http';
  const known = pooled.get(key);
  if (known !== undefined) return known;
  const agent = createHttpAgent(secure, tunnel, true);
  pooled.set(key, agent);
  return agent;
}

function createHttpAgent(secure: boolean, tunnel: URL | undefined, keepAlive: boolean): HttpAgent {
  const settings = { keepAlive, maxFreeSockets: 256, scheduling: 'lifo' } as const;
  const agent = secure ? new https.Agent(settings) : new http.Agent(settings);
  if (tunnel !== undefined) tunnelThrough(agent, tunnel);
  return agent;
}

/** The header for a proxy with credentials in its URL. */
function proxyHeaders(proxy: URL): readonly string[] {
  const basic = basicOf(proxy);
  return basic === undefined ? [] : ['proxy-authorization', basic];
}

/** A proxy that gives no way to a server. Its host is named, its password never. */
class ProxyError extends Error {
  override readonly name = 'ProxyError';
}

/** Makes an agent's connections go through a CONNECT tunnel, with TLS to the target inside it. */
function tunnelThrough(agent: HttpAgent, proxy: URL): void {
  agent.createConnection = (options, opened) => {
    const host = options.host ?? 'localhost';
    const target = `${host.includes(':') ? `[${host}]` : host}:${String(options.port ?? 443)}`;
    const client = proxy.protocol === 'https:' ? https : http;
    const connect = client.request({
      host: hostOf(proxy),
      port: proxy.port === '' ? null : proxy.port,
      method: 'CONNECT',
      path: target,
      agent: false,
      timeout: TUNNEL_TIMEOUT_MS,
      headers: ['host', target, ...proxyHeaders(proxy)],
    });
    // A request waits for it until a connection must stand, and no longer.
    connect.once('socket', (socket) => socket.unref());
    connect.once('connect', (reply, socket) => {
      if (reply.statusCode === 200) {
        const names = net.isIP(host) === 0 ? { host, servername: host } : { host };
        socket.ref();
        opened?.(null, tls.connect({ ...names, socket }));
        return;
      }
      const text = `the proxy ${proxy.host} refused a tunnel to ${target} (HTTP ${String(reply.statusCode)})`;
      opened?.(new ProxyError(text), socket.destroy());
    });
    connect.once('timeout', () => connect.destroy());
    connect.once('error', (cause) => {
      const text = `the proxy ${proxy.host} opened no tunnel to ${target}`;
      opened?.(new ProxyError(text, { cause }), new net.Socket());
    });
    connect.end();
    return undefined;
  };
}

/**
 * The proxy for a URL by `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` (either case; names, addresses and their ranges), or
 * undefined for none.
 * Loopback addresses are never sent to a proxy: a local model is not reachable from there.
 */
export function proxyFor(url: URL, env: Environment): URL | undefined {
  const host = url.hostname.toLowerCase();
  if (isLoopback(host)) return undefined;
  const names = url.protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY'];
  const proxy = first(env, names);
  if (proxy === undefined || isExcluded(url, host, first(env, ['no_proxy', 'NO_PROXY']) ?? '')) return undefined;
  const address = proxy.includes('://') ? proxy : `http://${proxy}`;
  return URL.canParse(address) ? new URL(address) : undefined;
}

/** True for `localhost`, 127.0.0.0/8 and ::1. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function isExcluded(url: URL, host: string, list: string): boolean {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*' || isInRange(hostOf(url), entry)) return true;
      const [, name = '', entryPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (entryPort !== undefined && entryPort !== port) return false;
      const suffix = name.replace(/^\*?\./, '');
      return host === suffix || host.endsWith(`.${suffix}`);
    });
}

/** True for an address that is the entry, or in its range, such as `10.0.0.0/8`. Names are not looked up. */
function isInRange(host: string, entry: string): boolean {
  const [, address = '', bits] = /^(.+?)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  const version = net.isIP(address);
  const most = version === 4 ? 32 : 128;
  const prefix = Number(bits ?? most);
  if (version === 0 || prefix > most) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const range = new net.BlockList();
  range.addSubnet(address, prefix, family);
  return range.check(host, family);
}

function first(env: Environment, names: readonly string[]): string | undefined {
  return names.map((name) => readVariable(env, name)).find((value) => value !== undefined);
}

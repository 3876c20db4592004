import { readVariable, type Environment } from '../endpoint/environment.ts';

/**
 * The proxy for a URL by `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` (either case), or undefined for none.
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
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function isExcluded(url: URL, host: string, list: string): boolean {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', entryPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (entryPort !== undefined && entryPort !== port) return false;
      const suffix = name.replace(/^\*?\./, '');
      return host === suffix || host.endsWith(`.${suffix}`);
    });
}

function first(env: Environment, names: readonly string[]): string | undefined {
  return names.map((name) => readVariable(env, name)).find((value) => value !== undefined);
}

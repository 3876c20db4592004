import type { Environment } from '../endpoint/environment.ts';
import type { Fetch } from '../endpoint/endpoint.ts';

/** The HTTP client for a platform: the lean one on Node, the platform's own `fetch` elsewhere. */
export async function loadFetch(connectMs: number, env: Environment): Promise<Fetch> {
  if (!runsOnNode()) return globalThis.fetch.bind(globalThis);
  const { createNodeFetch } = await import('./node-fetch.ts');
  return createNodeFetch({ connectMs, env });
}

function runsOnNode(): boolean {
  return typeof process !== 'undefined' && typeof process.getBuiltinModule === 'function';
}

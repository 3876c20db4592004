/**
 * `fetch` as Firefox has it: a request waits while one for the same address is not over, because both would be kept in its cache.
 * A page that is loaded again meets what the page before has asked for in its last moments, when its stream was torn away.
 */
export function withCacheLock(ask: typeof fetch): typeof fetch {
  const kept = new Set<string>();
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if ((init?.method ?? 'GET') === 'GET' && init?.cache !== 'no-store') {
      while (kept.has(url)) await new Promise((resolve) => setTimeout(resolve, 5));
      kept.add(url);
    }
    return ask(input, init);
  };
}

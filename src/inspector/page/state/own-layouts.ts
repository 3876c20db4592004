declare global {
  /** What these files hold, by name: in a saved page, which cannot fetch anything. */
  var signalboxLayouts: Readonly<Record<string, unknown>> | undefined;
}

const fetches = new Map<string, Promise<unknown>>();

/** Asks for what nearly every run needs, before the first is there. */
export function prepareLayouts(): void {
  for (const name of ['layouts', 'layouts-agent']) fetched(name).catch(() => undefined);
}

/**
 * The layouts of one of our own machines, made when the page was built, by layout key; null for a machine that is not
 * ours. Rejects when they cannot be read.
 */
export async function ownLayouts(hash: string): Promise<unknown> {
  const known = await fetched('layouts');
  const name: unknown = Reflect.get(Object(known), hash);
  return typeof name === 'string' ? fetched(`layouts-${name}`) : null;
}

/** What could not be read is asked for again. */
async function fetched(name: string): Promise<unknown> {
  if (globalThis.signalboxLayouts !== undefined) return globalThis.signalboxLayouts[name];
  const before = fetches.get(name);
  if (before !== undefined) return before;
  const asked = fetch(`assets/${name}.json`).then((response): Promise<unknown> => response.json());
  fetches.set(name, asked);
  asked.catch(() => fetches.delete(name));
  return asked;
}

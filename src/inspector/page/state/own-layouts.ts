let names: Promise<unknown> | null = null;

/**
 * The layouts of one of our own machines, made when the page was built, by layout key; null for a machine that is none of
 * ours. Rejects when they cannot be read.
 */
export async function ownLayouts(hash: string): Promise<unknown> {
  names ??= fetched('layouts');
  const known = await names;
  const name: unknown = typeof known === 'object' && known !== null ? Reflect.get(known, hash) : undefined;
  return typeof name === 'string' ? fetched(`layouts-${name}`) : null;
}

async function fetched(name: string): Promise<unknown> {
  const response = await fetch(`assets/${name}.json`);
  return await response.json();
}

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EXPLORE, type Explorable } from '../journal/explore.ts';
import { UsageError } from './command.ts';

/** An agent that a module exports. */
export interface LoadedAgent {
  /** The agent's own name, and beside it the export's where the module has several. */
  readonly name: string;
  readonly agent: Explorable;
  close(): Promise<void>;
}

/** Runs a module and gives the agents that it exports. Throws a `UsageError` when there is none. */
export async function loadAgents(file: string): Promise<readonly LoadedAgent[]> {
  const path = resolve(file);
  if (!existsSync(path)) throw new UsageError(`there is no file '${file}'.`);
  const module: Readonly<Record<string, unknown>> = await load(path, file);
  const found = Object.entries(module).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).filter(isAgent).map((agent) => ({ name, agent })),
  );
  const different = found.filter(({ agent }, index) => found.findIndex((other) => other.agent === agent) === index);
  if (different.length === 0) {
    const names = Object.keys(module).join(', ');
    throw new UsageError(
      `'${file}' exports no agent${names === '' ? '' : ` (it exports: ${names})`}. Export what createAgent() gives: export default createAgent({ … }).`,
    );
  }
  return different.map(({ name, agent }) => ({
    name: nameOf(agent, different.length > 1 ? name : 'default'),
    agent,
    close: () => closed(agent),
  }));
}

async function load(path: string, file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`'${file}' could not be loaded: ${reason}`, { cause });
  }
}

function isAgent(value: unknown): value is Explorable {
  return typeof value === 'object' && value !== null && EXPLORE in value;
}

function nameOf(agent: Explorable, exported: string): string {
  const own: unknown = Reflect.get(agent, 'name');
  const name = typeof own === 'string' ? own : 'agent';
  return exported === 'default' ? name : `${name} (${exported})`;
}

/** Ends the servers that an agent has started. */
async function closed(agent: Explorable): Promise<void> {
  const close: unknown = Reflect.get(agent, 'close');
  if (typeof close === 'function') await Reflect.apply(close, agent, []);
}

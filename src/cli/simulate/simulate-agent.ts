import { existsSync, readFileSync } from 'node:fs';
import { describeThrown } from '../../json/to-json.ts';
import type { AgentMaker, SimulateOptions, SimulatedAgent, Simulation } from '../../testing/index.ts';
import { canBeSimulated, otherThanAgent } from '../../testing/simulate/simulation.ts';
import { UsageError, loadModule, writeFound } from '../command/command.ts';

/** What a module gives a simulation. */
export interface SimulatedModule {
  readonly agent: AgentMaker | SimulatedAgent;
  /** The name under which the agent is exported. */
  readonly exported: string;
  /** What it exports as `simulation`: options of `simulate`. */
  readonly options: SimulateOptions;
}

/** The function or agent that a module exports: `wanted`, the default export, or the only agent there is. */
export async function loadSimulated(file: string, wanted: string | undefined): Promise<SimulatedModule> {
  const module = await loadModule(file, wanted);
  const names = Object.keys(module).join(', ');
  const { simulation } = module;
  const options: SimulateOptions = typeof simulation === 'object' && simulation !== null ? simulation : {};
  const named = wanted ?? 'default';
  const given = module[named];
  if (typeof given === 'function') {
    const agent: AgentMaker = (own) => madeBy(() => Reflect.apply(given, undefined, [own]), `'${named}' of '${file}'`);
    return { agent, exported: named, options };
  }
  // Of a CommonJS module everything is the default export, and is exported by its name as well.
  const alone = wanted !== undefined || canBeSimulated(given);
  const agents = Object.entries(module).flatMap(([exported, agent]) =>
    (!alone || exported === named) && canBeSimulated(agent) ? [{ exported, agent }] : [],
  );
  const [only, ...others] = agents;
  if (only === undefined)
    throw new UsageError(
      `'${file}' exports no agent${names === '' ? '' : ` (it exports: ${names})`}. Export a function that makes it: export default (options) => createAgent({ …, ...options }). A function of another name is named with --export.`,
    );
  if (others.length > 0) throw new UsageError(`'${file}' exports several agents. Name one with --export.`);
  return { ...only, options };
}

/** The agent of a module, as it is where nothing is simulated. */
export function ownAgent(agent: SimulatedModule['agent']): SimulatedAgent {
  return typeof agent === 'function' ? agent({ silent: true }) : agent;
}

/** The text of a recording. */
export function readReplies(file: string): string {
  if (!existsSync(file)) throw new UsageError(`there is no file '${file}'.`);
  return readFileSync(file, 'utf8');
}

/** Writes the recording of each failure; returns the paths, null for one that could not be written. */
export function writeFailures({ failures }: Simulation, folder: string): readonly (string | null)[] {
  return failures.map(({ seed, check, recording }) =>
    writeFound(folder, `seed-${seed}.${check.replaceAll(/[^\p{L}\p{N}_-]+/gu, '-')}.jsonl`, recording),
  );
}

function madeBy(make: () => unknown, what: string): SimulatedAgent {
  let made: unknown;
  try {
    made = make();
  } catch (cause) {
    throw new Error(`${what} made no agent: ${describeThrown(cause).message}`, { cause });
  }
  if (canBeSimulated(made)) return made;
  throw new UsageError(`${what} must return what createAgent() gives, and returned ${otherThanAgent(made)}.`);
}

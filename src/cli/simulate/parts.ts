import { realpathSync } from 'node:fs';
import { Worker, parentPort, workerData } from 'node:worker_threads';
import type { AllGiven } from '../../json/known-options.ts';
import type { SimulateOptions, SimulatedFailure, Simulation } from '../../testing/index.ts';
import { eachFault } from '../../testing/simulate/simulated-faults.ts';
import { kindOf } from '../../testing/simulate/simulation.ts';

type SoFar = Parameters<NonNullable<SimulateOptions['onProgress']>>[0];
/** How a simulation is told to end, and says how far it is. */
export type Hooks = AllGiven<Pick<SimulateOptions, 'signal' | 'onProgress'>>;

/** What a thread says that simulates a part of the seeds, and what makes it one. */
type Told = { readonly soFar: SoFar } | { readonly found: Simulation };
const PART = 'signalbox simulate: a part of the seeds';

/** Seeds that one thread simulates. */
interface Part {
  readonly firstSeed: number;
  readonly seeds: number;
}

/** What several threads have found, and in words those that ended before they could say it. */
export interface Together {
  readonly found: Simulation | null;
  readonly lost: readonly string[];
}

/** Shares seeds out, as evenly as it can be done. */
export function partsOf({ firstSeed, seeds }: Part, most: number): readonly Part[] {
  const count = Math.min(most, seeds);
  const before = (index: number): number => Math.floor((seeds * index) / count);
  return Array.from({ length: count }, (_, index) => ({
    firstSeed: firstSeed + before(index),
    seeds: before(index + 1) - before(index),
  }));
}

/**
 * Simulates each part in a thread of its own, which runs this command with these arguments, and puts together what they
 * found. Once one of them has found enough failures, all end.
 */
export async function simulateParts(parts: readonly Part[], argv: readonly string[], hooks: Hooks): Promise<Together> {
  const enough = new AbortController();
  const signal = AbortSignal.any([hooks.signal, enough.signal]);
  const all: SoFar[] = parts.map(() => ({ runs: 0, failures: 0 }));
  const ended = await Promise.all(
    parts.map(async (part, index) => {
      const onProgress = (soFar: SoFar): void => {
        all[index] = soFar;
        const sum = (name: keyof SoFar): number => all.reduce((total, one) => total + one[name], 0);
        hooks.onProgress({ runs: sum('runs'), failures: sum('failures') });
      };
      const found = await simulatePart(part, argv, { signal, onProgress });
      if (typeof found !== 'string' && found.runs < part.seeds) enough.abort();
      return found;
    }),
  );
  const found = ended.filter((one) => typeof one !== 'string');
  return { found: found.length === 0 ? null : together(found), lost: ended.filter((one) => typeof one === 'string') };
}

/** Resolves to what the thread found, or to the words that say how it ended without. */
function simulatePart(
  { firstSeed, seeds }: Part,
  argv: readonly string[],
  { signal, onProgress }: Hooks,
): Promise<Simulation | string> {
  const { promise, resolve } = Promise.withResolvers<Simulation | string>();
  const own = ['--first-seed', String(firstSeed), '--seeds', String(seeds)];
  const worker = new Worker(realpathSync(process.argv[1] ?? ''), { argv: [...argv, ...own], workerData: PART });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  const stop = (): void => worker.postMessage('stop');
  let runs = 0;
  let why = '';
  worker.on('message', (told: Told) => {
    if ('found' in told) return resolve(told.found);
    ({ runs } = told.soFar);
    onProgress(told.soFar);
  });
  worker.on('error', (error) => (why = `: ${error instanceof Error ? error.message : String(error)}`));
  worker.on('exit', (code) => {
    signal.removeEventListener('abort', stop);
    const part = `the thread of ${seeds} seeds from ${firstSeed} on`;
    resolve(`${part} ended with exit code ${code} after ${runs} runs${why}; what it had found is lost.`);
  });
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  return promise;
}

/** In a thread that simulates a part: how it hears that it is to end, and says what it has found. Else null. */
export function ownPart(): (Hooks & { tell(found: Simulation): void }) | null {
  if (parentPort === null || workerData !== PART) return null;
  const port = parentPort;
  const stop = new AbortController();
  port.once('message', () => stop.abort());
  const post = (told: Told): void => port.postMessage(told);
  return { signal: stop.signal, onProgress: (soFar) => post({ soFar }), tell: (found) => post({ found }) };
}

function together(parts: readonly Simulation[]): Simulation {
  const failures = new Map<string, SimulatedFailure>();
  for (const one of parts.flatMap((part) => part.failures)) {
    const kind = kindOf({ check: one.check, message: one.reason });
    const known = failures.get(kind);
    const smaller = known === undefined || one.records.left < known.records.left ? one : known;
    failures.set(kind, { ...smaller, count: one.count + (known?.count ?? 0) });
  }
  const coverages = parts.map(({ coverage }) => coverage);
  return {
    ok: failures.size === 0,
    runs: parts.reduce((sum, { runs }) => sum + runs, 0),
    failures: [...failures.values()],
    coverage: {
      machines: machinesOf(coverages),
      faults: eachFault((name) => coverages.reduce((sum, { faults }) => sum + faults[name], 0)),
      endings: summed(coverages.map(({ endings }) => endings)),
    },
    effects: parts.reduce((sum, { effects }) => sum + effects, 0),
    waited: [...new Set(parts.flatMap(({ waited }) => waited))].sort(),
  };
}

/** What no thread has met is missed. */
function machinesOf([first, ...others]: readonly Simulation['coverage'][]): Simulation['coverage']['machines'] {
  return (first?.machines ?? []).map(({ machine, states, edges }, index) => {
    const rest = others.flatMap(({ machines }) => machines[index] ?? []);
    const missedStates = states.missed.filter((state) => rest.every((other) => other.states.missed.includes(state)));
    const missedEdges = edges.missed.filter(({ key }) =>
      rest.every((other) => other.edges.missed.some((edge) => edge.key === key)),
    );
    return {
      machine,
      states: { covered: states.total - missedStates.length, total: states.total, missed: missedStates },
      edges: { covered: edges.total - missedEdges.length, total: edges.total, missed: missedEdges },
    };
  });
}

function summed(counts: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const [name, count] of counts.flatMap(Object.entries<number>)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

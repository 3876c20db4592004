import { checkReply } from '../actors/check-reply.ts';
import type { Model } from '../actors/model.ts';
import { replaceHomePermissions } from '../agent/tools/granted.ts';
import { checkFunctions, described, optionsOf, wrongOption } from '../json/known-options.ts';
import { readRecording } from '../journal/format/recording.ts';
import { hostileModel } from './hostile-model.ts';
import { MANY_RUNS, type ManyRuns, type ScriptedReply, begunAnew } from './scripted-model.ts';
import { FAULT_NAMES, type Faults, ratesOf } from './simulate/simulated-faults.ts';
import type { OwnChecks } from './simulate/judge.ts';
import { LAST_UNBRED_SEED } from './simulate/draws.ts';
import { Search } from './simulate/seed-search.ts';
import {
  type AgentMaker,
  type Simulated,
  type SimulatedAgent,
  type Simulation,
  canBeSimulated,
  otherThanAgent,
} from './simulate/simulation.ts';
import { type SimulatedServers, ServerWorld } from './simulate/simulated-servers.ts';
import { VirtualTime, realNow } from './simulate/virtual-time.ts';

/** What to simulate, and how much of it. */
export interface SimulateOptions extends OwnChecks {
  /** What the user asks. Default `Simulate.`. */
  readonly task?: string | undefined;
  /** What tools get as `context`, as for `agent.run`. */
  readonly context?: unknown;
  /**
   * How many runs, or the seeds themselves. Default 1000. Of a number, half of the seeds count up from `firstSeed`; the others
   * are derived from those whose runs met something new.
   */
  readonly seeds?: number | readonly number[] | undefined;
  /** The first of a number of seeds, so that every night can try others. Default 1. */
  readonly firstSeed?: number | undefined;
  /**
   * What the model means to say: a list of replies (the last again and again), a recording whose replies it gives, a model,
   * or a function that makes one for a seed. `scriptedModel` (its last reply again and again) and `hostileModel` (with the
   * run's seed) begin anew with each run; any other model is the same for all of them. Default: it calls whatever is offered,
   * at random. Faults come on top.
   */
  readonly model?: readonly ScriptedReply[] | string | Model | ((seed: number) => Model) | undefined;
  /** Called before each run, to reset what your tools keep outside of the agent; not after a crash. */
  readonly begin?: (() => void) | undefined;
  /**
   * MCP servers that the agent gets in the place of its own, behind real connections: their tools by the server's name. Only
   * where `agent` is a function.
   */
  readonly servers?: SimulatedServers | undefined;
  /** Which faults happen: a list of names, or rates by name. Default: all at their usual rates. */
  readonly faults?: Faults | undefined;
  /** Of all that the seeds draw, only this happens: the `only` of a failure repeats its smallest run. Default: everything. */
  readonly only?: readonly string[] | undefined;
  /**
   * The share, 0 to 1, of the runs that are replayed and checked against the laws although nothing new happened in them.
   * Default 0.02. Those in which something new happened always are.
   */
  readonly recheck?: number | undefined;
  /** Stops after this much real time, in milliseconds. Default: when all seeds have run. */
  readonly budgetMs?: number | undefined;
  /** Stops before the next run once it has aborted; what was found until then is in the result. */
  readonly signal?: AbortSignal | undefined;
  /** Stops once this many different failures have been found. Default 5. */
  readonly maxFailures?: number | undefined;
  /** Called after each run. */
  readonly onProgress?: ((soFar: { readonly runs: number; readonly failures: number }) => void) | undefined;
}

const checkOptions = optionsOf<SimulateOptions>('simulate', 'docs/simulation.md', {
  task: true,
  context: true,
  seeds: true,
  firstSeed: true,
  model: true,
  begin: true,
  servers: true,
  faults: true,
  only: true,
  recheck: true,
  budgetMs: true,
  signal: true,
  maxFailures: true,
  onProgress: true,
  check: true,
  always: true,
});

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs an agent in virtual time, once for each seed, under faults and in orders that the seed draws, and checks every run.
 * Takes a function that makes the agent with the given options (its process can then crash, and the run is resumed), or an agent
 * (it then cannot). Rejects only for wrong options: what fails is in the result.
 *
 * @example
 * const found = await simulate((options) => createAgent({ tools: [pay], ...options }), { seeds: 500 });
 * expect(found.failures).toEqual([]);
 */
export async function simulate(given: AgentMaker | SimulatedAgent, options: SimulateOptions = {}): Promise<Simulation> {
  if (typeof process === 'undefined') throw wrongOption('simulate needs a process: run it in Node, not in a page.');
  checkOptions(options);
  checkFunctions('simulate', options, ['begin', 'check', 'always', 'onProgress']);
  const agent = checkedAgent(given, options);
  const { seeds = 1000, firstSeed = 1, recheck = 0.02, maxFailures = 5, signal, onProgress, check, always } = options;
  checkNumbers({ ...options, seeds, firstSeed, recheck, maxFailures });
  const kinds: readonly string[] = ['without', 'order', 'reply', ...FAULT_NAMES];
  const unknown = options.only?.find((key) => !kinds.includes(key.split(' ')[0] ?? ''));
  if (unknown !== undefined) throw wrongOption(`simulate: option 'only' holds '${unknown}', which names no draw.`);
  const only = options.only === undefined ? null : new Set(options.only);
  const rates = ratesOf(options.faults);
  const { model, replies } = modelOf(options.model);
  const servers = await simulatedServers(agent, options.servers);
  // Time is the whole process's: one simulation after the other.
  const before = last;
  const own = Promise.withResolvers<undefined>();
  last = own.promise;
  await before;
  const began = realNow();
  const time = new VirtualTime();
  const errors = unhandledErrors();
  const printing = printedText();
  try {
    const simulated: Simulated = {
      agent,
      task: options.task ?? 'Simulate.',
      context: options.context,
      model,
      replies,
      hostile: hostileModel,
      servers,
      begin: options.begin ?? (() => undefined),
      rates,
      time,
      until: began + (options.budgetMs ?? Infinity),
      waited: new Set(),
      hanging: new Set(),
      unhandled: errors.seen,
      printed: printing.seen,
    };
    const search = { seeds, firstSeed, recheck, only, maxFailures, signal, onProgress, check, always };
    return await time.within(() => new Search(simulated, search).all());
  } finally {
    replaceHomePermissions(null);
    errors.stop();
    printing.stop();
    time.restore();
    own.resolve(undefined);
  }
}

/** Refuses what is not an agent, also of a function each time that it is called. */
function checkedAgent(given: AgentMaker | SimulatedAgent, { servers }: SimulateOptions): AgentMaker | SimulatedAgent {
  const refuse = (what: string): never => {
    throw wrongOption(`simulate: ${what}.`);
  };
  const offline = (agent: SimulatedAgent): SimulatedAgent => {
    const names = [...(servers === undefined ? serversOf(agent) : []), ...serversBelow(agent)];
    const what = 'MCP servers do not follow virtual time, and the agent has some';
    return names.length === 0
      ? agent
      : refuse(`${what}: ${names.join(', ')}. The option 'servers' replaces its own; agents below must have none`);
  };
  if (typeof given === 'function')
    return (options) => {
      const made = given(options);
      const must = 'the function must return what createAgent() gives, and returned';
      if (!canBeSimulated(made)) return refuse(`${must} ${otherThanAgent(made)}`);
      const passes = made.options.journal === options.journal;
      return passes
        ? offline(made)
        : refuse('the function must pass on the options that it gets: createAgent({ …, ...options })');
    };
  const must = 'the first argument must be an agent or a function that makes one, and is';
  return canBeSimulated(given) ? offline(given) : refuse(`${must} ${otherThanAgent(given)}`);
}

/** The names of the MCP servers that an agent has of its own. */
function serversOf({ options: { mcpServers = {} } }: SimulatedAgent): readonly string[] {
  return Object.keys(mcpServers);
}

/** Those of child agents, and of agents that repair arguments. */
function serversBelow({ options: { children = [], tools = [], onError } }: SimulatedAgent): readonly string[] {
  const steps = [onError, ...tools.map((one) => one.onError)].flatMap((slots) => Object.values(slots ?? {}).flat());
  const below = [...children, ...steps.map((step) => ('agent' in step ? step.agent : null))];
  return below.flatMap((one) => (canBeSimulated(one) ? [...serversOf(one), ...serversBelow(one)] : []));
}

/** A number that is worked out wrongly must not make a simulation of nothing, which finds no failure. */
function checkNumbers({ seeds, firstSeed, recheck, maxFailures, budgetMs = 1 }: SimulateOptions): void {
  const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1;
  const isFine =
    typeof seeds === 'number' ? isWhole(seeds) : Array.isArray(seeds) && seeds.length > 0 && seeds.every(isWhole);
  const isFirst = isWhole(firstSeed) && Number(firstSeed) <= LAST_UNBRED_SEED;
  const wrong: readonly (readonly [isFine: boolean, name: string, must: string, is: unknown])[] = [
    [isFine, 'seeds', 'a whole number from 1 on, or a list of such numbers', seeds],
    [isFirst, 'firstSeed', `a whole number from 1 to ${LAST_UNBRED_SEED}`, firstSeed],
    [recheck !== undefined && recheck >= 0 && recheck <= 1, 'recheck', 'a number from 0 to 1', recheck],
    [isWhole(maxFailures) || maxFailures === Infinity, 'maxFailures', 'a whole number from 1 on', maxFailures],
    [budgetMs > 0, 'budgetMs', 'milliseconds, more than 0', budgetMs],
  ];
  for (const [fine, name, must, is] of wrong)
    if (!fine)
      throw wrongOption(`simulate: option '${name}' must be ${must}, and is ${JSON.stringify(is) ?? String(is)}.`);
}

/** Loaded only where servers are simulated, and before time stands still. */
async function simulatedServers(
  agent: AgentMaker | SimulatedAgent,
  servers: SimulatedServers | undefined,
): Promise<Simulated['servers']> {
  if (servers === undefined) return null;
  if (typeof agent !== 'function')
    throw wrongOption("simulate: option 'servers' needs a function that makes the agent.");
  const [{ createMcpConnection: make }, { linkOver: link }] = await Promise.all([
    import('../mcp/create-connection.ts'),
    import('../mcp/link/sdk-link.ts'),
    import('../mcp/hub.ts'),
  ]);
  return (draws, rates) => new ServerWorld({ servers, draws, rates, make, link });
}

function modelOf(given: SimulateOptions['model']): Pick<Simulated, 'model' | 'replies'> {
  if (given === undefined) return { model: null, replies: null };
  if (typeof given === 'function') return { model: given, replies: null };
  if (isModel(given)) return { model: (seed) => begunAnew(given, seed), replies: given[MANY_RUNS]?.replies ?? null };
  const replies = typeof given === 'string' ? repliesIn(given) : given;
  if (!Array.isArray(replies)) {
    const must = 'a list of replies, a recording as text, a model, or a function that makes a model for a seed';
    throw wrongOption(`simulate: option 'model' must be ${must}, and is ${described(given)}.`);
  }
  return { model: (seed) => hostileModel({ seed, replies, rate: 0 }), replies: replies.length };
}

function isModel(given: unknown): given is Model & Partial<ManyRuns> {
  return typeof given === 'object' && given !== null && 'complete' in given && typeof given.complete === 'function';
}

/** What the model of a recorded run said, in order. */
function repliesIn(recording: string): readonly ScriptedReply[] {
  const { lines } = readRecording(recording);
  const asked = new Set(lines.flatMap((line) => (line.t === 'start' && line.name === 'callLlm' ? [line.id] : [])));
  const replies = lines.flatMap((line) =>
    line.t === 'outcome' && line.ok && asked.has(line.id) ? [checkReply(line.value)] : [],
  );
  if (replies.length === 0) throw wrongOption("simulate: the recording in option 'model' holds no reply of a model.");
  return replies;
}

/** Keeps the rejections and exceptions that nobody handles, in the place of whoever else listens: they are failures here. */
function unhandledErrors(): { readonly seen: Simulated['unhandled']; stop(): void } {
  const seen: Simulated['unhandled'] = [];
  const rejected = (error: unknown): void => void seen.push({ check: 'unhandled rejection', error });
  const thrown = (error: unknown): void => void seen.push({ check: 'uncaught exception', error });
  const [onReject, onThrow] = [process.listeners('unhandledRejection'), process.listeners('uncaughtException')];
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', rejected);
  process.removeAllListeners('uncaughtException').on('uncaughtException', thrown);
  return {
    seen,
    stop: () => {
      process.off('unhandledRejection', rejected).off('uncaughtException', thrown);
      for (const other of onReject) process.on('unhandledRejection', other);
      for (const other of onThrow) process.on('uncaughtException', other);
    },
  };
}

/** Keeps what the process prints, beside printing it. */
function printedText(): { readonly seen: string[]; stop(): void } {
  const seen: string[] = [];
  const undo = [process.stdout, process.stderr].map((stream) => {
    const { write } = stream;
    const keeping = (...args: Parameters<typeof write>): boolean => {
      const [chunk] = args;
      seen.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'));
      return Reflect.apply(write, stream, args);
    };
    Reflect.set(stream, 'write', keeping);
    return () => Reflect.set(stream, 'write', write);
  });
  return { seen, stop: () => undo.forEach((restore) => restore()) };
}

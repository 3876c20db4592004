import { checkReply } from '../actors/check-reply.ts';
import type { Model } from '../actors/model.ts';
import { optionsOf } from '../json/known-options.ts';
import { describeThrown } from '../json/to-json.ts';
import { readRecording } from '../journal/format/recording.ts';
import { agentMachine } from '../machines/agent/agent.ts';
import { llmCallMachine } from '../machines/llm-call/llm-call.ts';
import { toolCallMachine } from '../machines/tool-call/tool-call.ts';
import { machineCoverage } from './coverage/edges.ts';
import { hostileModel } from './hostile-model.ts';
import type { ScriptedReply } from './scripted-model.ts';
import { fewest } from './simulate/draws.ts';
import { type Faults, eachFault, ratesOf } from './simulate/simulated-faults.ts';
import { type OwnChecks, type Taken, judgedRun, recordingLines, resumeWrong } from './simulate/judge.ts';
import { simulatedRun } from './simulate/simulated-run.ts';
import type {
  AgentMaker,
  Problem,
  Simulated,
  SimulatedAgent,
  SimulatedFailure,
  SimulatedOutcome,
  Simulation,
} from './simulate/simulation.ts';
import { realNow, settled, virtualTime } from './simulate/virtual-time.ts';

/** What to simulate, and how much of it. */
export interface SimulateOptions extends OwnChecks {
  /** What the user asks. Default `Simulate.`. */
  readonly task?: string;
  /** How many seeds, from 1 on, or which. Default 1000. */
  readonly seeds?: number | readonly number[];
  /**
   * What the model means to say: a list of replies (the last again and again), a recording whose replies it gives, or a
   * function that makes a model for a seed. Default: it calls whatever is offered, at random. Faults come on top.
   */
  readonly model?: readonly ScriptedReply[] | string | ((seed: number) => Model);
  /** Called before each run: what your tools keep outside of the agent begins anew. A crash does not call it. */
  readonly begin?: () => void;
  /** Which faults happen: a list of names, or rates by name. Default: all at their usual rates. */
  readonly faults?: Faults;
  /** Stops after so much real time, in milliseconds. Default: when all seeds are run. */
  readonly budgetMs?: number;
  /** Stops once so many different failures are found. Default 5. */
  readonly maxFailures?: number;
  /** Called after each run. */
  readonly onProgress?: (soFar: { readonly runs: number; readonly failures: number }) => void;
}

const checkOptions = optionsOf<SimulateOptions>('simulate', 'docs/simulation.md', {
  task: true,
  seeds: true,
  model: true,
  begin: true,
  faults: true,
  budgetMs: true,
  maxFailures: true,
  onProgress: true,
  check: true,
  always: true,
});

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs an agent in virtual time, once for each seed, under faults and in orders that the seed draws, and checks every run.
 * `agent` is a function that makes the agent with the options that it is given (then its process can crash and the run is
 * resumed), or an agent (then it cannot). Rejects only for wrong options: what fails is in the result.
 *
 * @example
 * const found = await simulate((options) => createAgent({ tools: [pay], ...options }), { seeds: 500 });
 * expect(found.failures).toEqual([]);
 */
export async function simulate(agent: AgentMaker | SimulatedAgent, options: SimulateOptions = {}): Promise<Simulation> {
  checkOptions(options);
  const rates = ratesOf(options.faults);
  const model = modelOf(options.model);
  // Time is the whole process's: one simulation after the other.
  const before = last;
  const own = Promise.withResolvers<undefined>();
  last = own.promise;
  await before;
  const began = realNow();
  const time = virtualTime();
  const rejections = unhandledRejections();
  try {
    const simulated: Simulated = {
      agent,
      task: options.task ?? 'Simulate.',
      model,
      hostile: hostileModel,
      begin: options.begin ?? (() => undefined),
      rates,
      time,
      until: began + (options.budgetMs ?? Infinity),
      waited: new Set(),
      hanging: new Set(),
      unhandled: rejections.seen,
    };
    return await new Search(simulated, options).all();
  } finally {
    rejections.stop();
    time.restore();
    own.resolve(undefined);
  }
}

/** A run that was judged. */
interface Judged {
  readonly outcome: SimulatedOutcome;
  readonly problem: Problem | null;
}

interface Found {
  readonly failure: Omit<SimulatedFailure, 'count'>;
  count: number;
}

class Search {
  readonly #simulated: Simulated;
  readonly #options: SimulateOptions;
  readonly #taken: Taken = { edges: new Set(), states: new Set() };
  readonly #found = new Map<string, Found>();
  readonly #faults = new Map<string, number>();
  readonly #endings: { [reason: string]: number } = {};
  #runs = 0;
  #effects = 0;

  constructor(simulated: Simulated, options: SimulateOptions) {
    this.#simulated = simulated;
    this.#options = options;
  }

  async all(): Promise<Simulation> {
    const { seeds = 1000, maxFailures = 5, onProgress } = this.#options;
    const list = typeof seeds === 'number' ? Array.from({ length: seeds }, (_, index) => index + 1) : seeds;
    for (const seed of list) {
      if (realNow() >= this.#simulated.until) break;
      const run = await this.#judged(seed, null);
      this.#runs++;
      this.#note(run.outcome);
      if (run.problem !== null) await this.#fail(seed, run, run.problem);
      onProgress?.({ runs: this.#runs, failures: this.#found.size });
      if (this.#found.size >= maxFailures) break;
    }
    return this.#simulation();
  }

  async #judged(seed: number, only: ReadonlySet<string> | null): Promise<Judged> {
    const { unhandled } = this.#simulated;
    unhandled.splice(0);
    try {
      const outcome = await simulatedRun(this.#simulated, seed, only);
      const wrong = await judgedRun(outcome, this.#options, this.#taken);
      await settled();
      const [first] = unhandled;
      const rejected =
        unhandled.length === 0 ? null : { check: 'unhandled rejection', message: describeThrown(first).message };
      return { outcome, problem: wrong ?? rejected ?? (await this.#interrupted(outcome)) };
    } finally {
      unhandled.splice(0);
    }
  }

  /** Where nothing but interruptions was drawn, the run without them must end alike. */
  async #interrupted(outcome: SimulatedOutcome): Promise<Problem | null> {
    const rest = outcome.drawn.filter(({ kind }) => !interrupts(kind));
    if (rest.length === outcome.drawn.length || !rest.every(({ kind }) => HARMLESS.has(kind))) return null;
    const whole = await simulatedRun(this.#simulated, outcome.seed, new Set(rest.map(({ key }) => key)));
    return resumeWrong(outcome, whole);
  }

  #note({ drawn, result, store }: SimulatedOutcome): void {
    for (const { kind } of drawn) this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + 1);
    const reason = result?.reason ?? 'none';
    this.#endings[reason] = (this.#endings[reason] ?? 0) + 1;
    for (const { count } of store.performances.values()) this.#effects += count;
  }

  /** Keeps a failure by its reason, shrunk when it is the first of its kind. */
  async #fail(seed: number, { outcome }: Judged, problem: Problem): Promise<void> {
    const kind = kindOf(problem);
    const known = this.#found.get(kind);
    if (known !== undefined) {
      known.count++;
      return;
    }
    let smallest: Judged = { outcome, problem };
    const keys = await fewest(
      outcome.drawn.map(({ key }) => key),
      async (left) => {
        const tried = await this.#judged(seed, new Set(left));
        const isSame = tried.problem !== null && kindOf(tried.problem) === kind;
        if (isSame) smallest = tried;
        return isSame;
      },
    );
    const { drawn, recording } = smallest.outcome;
    const failure = {
      seed,
      check: problem.check,
      reason: smallest.problem?.message ?? problem.message,
      drawn: drawn.filter(({ key }) => keys.includes(key)).map(({ says }) => says),
      recording: recording === null ? '' : recordingLines(recording),
      records: { found: recordsIn(outcome), left: recordsIn(smallest.outcome) },
    };
    this.#found.set(kind, { failure, count: 1 });
  }

  #simulation(): Simulation {
    const failures = [...this.#found.values()].map(({ failure, count }) => ({ ...failure, count }));
    return {
      ok: failures.length === 0,
      runs: this.#runs,
      failures,
      coverage: {
        machines: [agentMachine, llmCallMachine, toolCallMachine].map((machine) =>
          machineCoverage(machine, this.#taken),
        ),
        faults: eachFault((name) => this.#faults.get(name) ?? 0),
        endings: this.#endings,
      },
      effects: this.#effects,
      waited: [...this.#simulated.waited].sort(),
    };
  }
}

const interrupts = (kind: string): boolean => kind.startsWith('process.') || kind.startsWith('journal.');
/** What changes nothing about what a run comes to. */
const HARMLESS: ReadonlySet<string> = new Set(['reply', 'order', 'person.twice', 'person.wrong']);

function recordsIn({ recording }: SimulatedOutcome): number {
  return recording === null ? 0 : recording.lines.length + 1;
}

/** Failures are the same whose check is, and whose words but for numbers and names. */
function kindOf({ check, message }: Problem): string {
  const isOwn = check === 'check' || check === 'always' || check === 'unhandled rejection';
  return isOwn ? `${check} ${message.split('\n')[0]?.replaceAll(/\d+/g, '#')}` : check;
}

function modelOf(given: SimulateOptions['model']): Simulated['model'] {
  if (given === undefined) return null;
  if (typeof given === 'function') return given;
  const replies = typeof given === 'string' ? repliesIn(given) : given;
  return (seed) => hostileModel({ seed, replies, rate: 0 });
}

/** What the model of a recorded run said, in order. */
function repliesIn(recording: string): readonly ScriptedReply[] {
  const { lines } = readRecording(recording);
  const asked = new Set(lines.flatMap((line) => (line.t === 'start' && line.name === 'callLlm' ? [line.id] : [])));
  const replies = lines.flatMap((line) =>
    line.t === 'outcome' && line.ok && asked.has(line.id) ? [checkReply(line.value)] : [],
  );
  if (replies.length === 0) throw new TypeError("simulate: the recording in option 'model' holds no reply of a model.");
  return replies;
}

/** Keeps the rejections that nobody handles, in the place of whoever else listens: they are failures here. */
function unhandledRejections(): { readonly seen: unknown[]; stop(): void } {
  const seen: unknown[] = [];
  const others = process.listeners('unhandledRejection');
  const note = (reason: unknown): void => void seen.push(reason);
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', note);
  return {
    seen,
    stop: () => {
      process.off('unhandledRejection', note);
      for (const other of others) process.on('unhandledRejection', other);
    },
  };
}

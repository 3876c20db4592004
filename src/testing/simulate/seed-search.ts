/**
 * Owns: which seeds are run, which of the runs are judged how thoroughly, what of it is a failure.
 * Does not own: how one seed runs (the simulated run's), what is right (the judge's), what is left out of a failure (the
 * shrinking's).
 *
 * I1 A seed alone determines its run; what earlier seeds have met determines only which seeds come next.
 * I2 A run in which something new happened is always judged in full.
 */
import type { RecordLine } from '../../journal/format/record.ts';
import { type Recording, recordingLines } from '../../journal/format/recording.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { describeThrown } from '../../json/to-json.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { llmCallMachine } from '../../machines/llm-call/llm-call.ts';
import { toolCallMachine } from '../../machines/tool-call/tool-call.ts';
import { machineCoverage } from '../coverage/edges.ts';
import { textAt } from '../explore/walk/story.ts';
import { type Drawn, type Only, bredSeed, drawsOf } from './draws.ts';
import { type OwnChecks, type Taken, judgedRun, resumeWrong } from './judge.ts';
import { Shrinking } from './shrinking.ts';
import { eachFault } from './simulated-faults.ts';
import { simulatedRun } from './simulated-run.ts';
import type { Problem } from './journal-laws.ts';
import { type Simulated, type SimulatedFailure, type SimulatedOutcome, type Simulation, kindOf } from './simulation.ts';
import { realNow, settled } from './virtual-time.ts';

interface SearchOptions extends OwnChecks {
  /** How many runs, or the seeds themselves. */
  readonly seeds: number | readonly number[];
  /** Where a number of seeds begins to count. */
  readonly firstSeed: number;
  /** The share of the runs that are judged in full though nothing in them is new. */
  readonly recheck: number;
  readonly only: Only;
  readonly maxFailures: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((soFar: { readonly runs: number; readonly failures: number }) => void) | undefined;
}

/** A run that was judged. */
interface Judged {
  readonly outcome: SimulatedOutcome;
  readonly problem: Problem | null;
}

/** What a failure was shrunk to. */
interface Shrunk extends Judged {
  readonly only: ReadonlySet<string>;
}

/** Seeds whose runs have met something new are bred from; the latest of them are kept. */
const MOST_PARENTS = 64;

/** Runs seeds one after the other and keeps what came of them. */
export class Search {
  readonly #simulated: Simulated;
  readonly #options: SearchOptions;
  readonly #taken: Taken = { edges: new Set(), states: new Set() };
  readonly #found = new Map<string, { readonly failure: Omit<SimulatedFailure, 'count'>; count: number }>();
  readonly #faults = new Map<string, number>();
  readonly #endings: { [reason: string]: number } = {};
  /** What runs were like: see `notePatterns`. */
  readonly #steps = new Set<number>();
  /** The shapes of records, each with its number. */
  readonly #shapes = new Map<string, number>();
  readonly #parents: number[] = [];
  #runs = 0;
  #effects = 0;

  constructor(simulated: Simulated, options: SearchOptions) {
    this.#simulated = simulated;
    this.#options = options;
  }

  async all(): Promise<Simulation> {
    const { maxFailures, signal, onProgress, only } = this.#options;
    for (const seed of this.#seeds()) {
      if (realNow() >= this.#simulated.until || signal?.aborted === true) break;
      const met = this.#met;
      const run = await this.#judged(seed, { only });
      this.#runs++;
      this.#note(run.outcome);
      if (this.#met > met && Number.isSafeInteger(bredSeed(seed, 1))) this.#parents.push(seed);
      if (this.#parents.length > MOST_PARENTS) this.#parents.shift();
      if (run.problem !== null) await this.#fail(seed, run.outcome, run.problem);
      onProgress?.({ runs: this.#runs, failures: this.#found.size });
      if (this.#found.size >= maxFailures) break;
    }
    return this.#simulation();
  }

  /** The seeds in turn: every second one is bred from one that has met something new. */
  *#seeds(): Generator<number> {
    const { seeds, firstSeed } = this.#options;
    if (typeof seeds !== 'number') return yield* seeds;
    for (let count = 0, plain = firstSeed; count < seeds; count++) {
      const parent = count % 2 === 0 ? undefined : this.#parents[(count >> 1) % this.#parents.length];
      yield parent === undefined ? plain++ : bredSeed(parent, count);
    }
  }

  /** How much was met so far: arrows and states of the machines, kinds of faults, and what runs were like. */
  get #met(): number {
    return this.#taken.edges.size + this.#taken.states.size + this.#faults.size + this.#steps.size;
  }

  /** Runs a seed and judges it: in full, not in full, or as what happened in it asks for. */
  async #judged(
    seed: number,
    { only, most = Infinity, isThorough: asked }: { only: Only; most?: number; isThorough?: boolean },
  ): Promise<Judged> {
    const { unhandled } = this.#simulated;
    unhandled.splice(0);
    try {
      const outcome = await simulatedRun(this.#simulated, seed, { only, most });
      const isThorough = asked ?? this.#isThorough(outcome);
      const wrong = await judgedRun(outcome, this.#options, isThorough ? this.#taken : null);
      await settled();
      const [first] = unhandled;
      const lost = first === undefined ? null : { check: first.check, message: describeThrown(first.error).message };
      const problem = wrong ?? lost;
      return { outcome, problem: problem ?? (isThorough ? await this.#interrupted(outcome, only) : null) };
    } finally {
      unhandled.splice(0);
    }
  }

  /** Whether a run is judged in full: when something in it is new, and then by chance, which the seed draws. */
  #isThorough({ seed, recording }: SimulatedOutcome): boolean {
    if (recording === null) return true;
    const known = this.#steps.size;
    notePatterns(recording, this.#shapes, this.#steps);
    return this.#steps.size > known || drawsOf(seed, null).below('recheck', 1000) < this.#options.recheck * 1000;
  }

  /** Where nothing but interruptions was drawn, the run without them must end alike. */
  async #interrupted(outcome: SimulatedOutcome, only: Only): Promise<Problem | null> {
    const { drawn } = outcome.draws;
    const rest = drawn.filter(({ kind }) => !interrupts(kind));
    if (rest.length === drawn.length || !rest.every(({ kind }) => HARMLESS.has(kind))) return null;
    const without = [...(only ?? [])].filter((key) => key.startsWith('without '));
    const again = (list: readonly Drawn[]): Promise<SimulatedOutcome> => {
      const kept = new Set([...list.map(({ key }) => key), ...without]);
      return simulatedRun(this.#simulated, outcome.seed, { only: kept, most: Infinity });
    };
    const wrong = resumeWrong(outcome, await again(rest));
    if (wrong === null || !rest.some(isOrder)) return wrong;
    // Another order may make something else of a run, and comes elsewhere in one that is interrupted: so both without it.
    const interrupted = await again(drawn.filter((one) => !isOrder(one)));
    return resumeWrong(interrupted, await again(rest.filter((one) => !isOrder(one))));
  }

  #note({ draws, result, store }: SimulatedOutcome): void {
    for (const { kind } of draws.drawn) this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + 1);
    const reason = result?.reason ?? 'none';
    this.#endings[reason] = (this.#endings[reason] ?? 0) + 1;
    for (const { count } of store.performances.values()) this.#effects += count;
  }

  /** Keeps a failure by its reason, shrunk when it is the first of its kind. */
  async #fail(seed: number, outcome: SimulatedOutcome, problem: Problem): Promise<void> {
    const kind = kindOf(problem);
    const known = this.#found.get(kind);
    if (known !== undefined) {
      known.count++;
      return;
    }
    const smallest = await this.#shrunk(seed, outcome, kind);
    const { draws, recording } = smallest.outcome;
    const failure = {
      seed,
      check: problem.check,
      reason: smallest.problem?.message ?? problem.message,
      drawn: draws.drawn.map(({ says }) => says),
      only: [...smallest.only],
      recording: recording === null ? '' : recordingLines(recording),
      records: { found: recordsIn(outcome), left: recordsIn(smallest.outcome) },
    };
    this.#found.set(kind, { failure, count: 1 });
  }

  /** The smallest run that fails for the same reason. One that does not fail again is left as it is. */
  async #shrunk(seed: number, outcome: SimulatedOutcome, kind: string): Promise<Shrunk> {
    const tries = (isThorough: boolean) => async (only: ReadonlySet<string>, most: number) => {
      const { outcome: tried, problem } = await this.#judged(seed, { only, most, isThorough });
      const isSame = problem !== null && kindOf(problem) === kind;
      return { only, outcome: tried, problem, draws: tried.draws, records: recordsIn(tried), isSame };
    };
    const given = [...(this.#options.only ?? [])].filter((key) => key.startsWith('without '));
    const all = new Set([...outcome.draws.drawn.map(({ key }) => key), ...given]);
    // What is seen without playing a run again is looked for without it.
    for (const isThorough of [false, true]) {
      const first = await tries(isThorough)(all, Infinity);
      if (!first.isSame) continue;
      const { only } = await new Shrinking(first, this.#simulated.replies, tries(isThorough)).smallest();
      const smallest = await tries(true)(only, Infinity);
      if (smallest.isSame) return smallest;
    }
    return { only: all, outcome, problem: null };
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

const interrupts = (kind: string): boolean =>
  /^(process|journal)\.|^outside\.(release|park)$|^mcp\.duplicate$/.test(kind);
const isOrder = ({ kind }: Drawn): boolean => kind === 'order';
/** What mostly changes nothing about what a run comes to. */
const HARMLESS: ReadonlySet<string> = new Set(['reply', 'order', 'person.twice', 'person.wrong']);

function recordsIn({ recording }: SimulatedOutcome): number {
  return recording === null ? 0 : recording.lines.length + 1;
}

/**
 * What a run was like, without its contents: each three records in a row, by what was started, which tool, how it ended
 * and what came from outside. A run without a new one takes the machines a known way, but for rare guards.
 */
function notePatterns({ lines }: Recording, shapes: Map<string, number>, steps: Set<number>): void {
  let [last, before, owner] = [0, 0, ''];
  for (const line of lines) {
    const own = ownerOfLine(line);
    const text = `${own === owner ? '' : '/'}${shapeOf(line)}`;
    const shape = shapes.get(text) ?? shapes.size + 1;
    shapes.set(text, shape);
    steps.add((before * MOST_SHAPES + last) * MOST_SHAPES + shape);
    [before, last, owner] = [last, shape, own];
  }
}

/** So many shapes, and three in a row are one safe integer; runs have a few hundred. */
const MOST_SHAPES = 2 ** 17;

function ownerOfLine(line: RecordLine): string {
  if (line.t === 'event') return line.to ?? '';
  return 'id' in line ? line.id.slice(0, line.id.lastIndexOf('/')) : '';
}

function shapeOf(line: RecordLine): string {
  switch (line.t) {
    case 'start':
      return `${line.name} ${textAt(line.request, 'tool')}`;
    case 'outcome':
      return `${nameIn(line.id)} ${line.ok ? valueShape(line.value) : line.error.code}`;
    case 'event':
      return line.event.type;
    case 'end':
      return `end ${textAt(line.output, 'reason')}`;
    default:
      return line.t;
  }
}

/** `callTool` of `agent/c1/callTool#2`. */
function nameIn(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1, id.lastIndexOf('#'));
}

/** A reply by the tools that it calls, a verdict by what it says. */
function valueShape(value: Json): string {
  if (!isJsonObject(value)) return typeof value;
  const { toolCalls, ok, content } = value;
  const calls = Array.isArray(toolCalls) ? toolCalls.map((call) => textAt(call, 'name')).join() : '';
  const said = ['finishReason', 'status', 'decision', 'kind'].map((key) => textAt(value, key)).join('');
  return `${calls}${content === undefined || content === '' ? '' : ' text'}${said}${typeof ok === 'boolean' ? String(ok) : ''}`;
}

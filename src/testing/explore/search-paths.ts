import type { AnyStateMachine } from 'xstate';
import { EXPLORE, type Explorable } from '../../journal/replay/replay.ts';
import type { Json } from '../../json/json.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { llmCallMachine } from '../../machines/llm-call/llm-call.ts';
import { toolCallMachine } from '../../machines/tool-call/tool-call.ts';
import { fraction } from '../../recovery/backoff.ts';
import { keyOf } from './abstraction.ts';
import { type World, choicesOf } from './choices.ts';
import { type ExploreOptions, checkTried, lawsOf } from './explore-options.ts';
import { type Findings, findings } from './findings.ts';
import { type ExploredMachine, exploredMachine } from './walk/explored-machine.ts';
import { type ExploredRun, type PathChoice, exploredRun } from './walk/explored-run.ts';

/**
 * Owns: the order in which states are visited, which of them are the same, and when to stop.
 * Does not own: what can happen (choices), what must hold (laws).
 *
 * I1 Breadth first, so the way to what is found is a shortest one.
 * I2 Each state is left by everything that can happen there, each by a separate walk from the start.
 * I3 Nothing is performed: no tool runs, no model is asked, no time passes.
 */

/** Says after each walk whether enough was found. */
type Enough = (found: Findings) => boolean;

const PART_FOR_WALKS = 0.2;
const YIELD_MS = 20;
const RARELY = 0.05;
const ENDING: readonly object[] = [agentMachine.config, llmCallMachine.config, toolCallMachine.config];

/** Explores a machine or an agent until `enough` says so, everything was visited, or a bound is reached. */
export async function searchPaths(
  target: AnyStateMachine | Explorable,
  options: ExploreOptions,
  enough: Enough,
): Promise<Findings> {
  const began = performance.now();
  const { task = 'Explore.', input, maxSteps = null, agent = null } = options;
  const explored = await exploredMachine(target, { task, input, maxSteps, agent });
  if (EXPLORE in target) checkTried(options, explored.head);
  return new Search(explored, options, { began, enough }).run();
}

class Search {
  readonly #explored: ExploredMachine;
  readonly #options: ExploreOptions;
  readonly #maxPaths: number;
  readonly #maxSeconds: number;
  readonly #maxDepth: number;
  readonly #began: number;
  readonly #enough: Enough;
  readonly #found: Findings;
  readonly #world: World;
  readonly #known = new Map<string, Node>();
  readonly #graph = new Map<number, { readonly choice: PathChoice; readonly to: Node }[]>();
  readonly #queue: Node[] = [];
  #walks = 0;
  #tooDeep = 0;
  #yielded = performance.now();

  constructor(
    explored: ExploredMachine,
    options: ExploreOptions,
    { began, enough }: { readonly began: number; readonly enough: Enough },
  ) {
    const { maxPaths = 20_000, maxSeconds = Infinity, maxDepth = 200 } = options;
    this.#explored = explored;
    this.#options = options;
    this.#maxPaths = maxPaths;
    this.#maxSeconds = maxSeconds;
    this.#maxDepth = maxDepth;
    this.#began = began;
    this.#enough = enough;
    this.#found = findings(explored, lawsOf(options));
    this.#world = {
      outcomes: options.outcomes ?? {},
      events: options.events ?? null,
      arguments: options.arguments ?? {},
      onGap: this.#found.gap,
    };
  }

  async run(): Promise<Findings> {
    const found = this.#found;
    const start = this.#arrive(exploredRun(this.#explored), 0, null, null);
    if (start !== null) this.#queue.push(start);
    await this.#visitAll();
    if (this.#enough(found)) found.gap('it was stopped when enough had been found');
    else {
      if (this.#tooDeep > 0)
        found.gap(`${this.#tooDeep} states lie deeper than maxDepth (${this.#maxDepth}) and were not left`);
      if (this.#queue.length > 0) await this.#walkAtRandom();
      if (start !== null && (this.#options.terminates ?? ENDING.includes(this.#explored.machine.config)))
        this.#checkCycle(start);
    }
    const depth = [...this.#known.values()].reduce((deepest, node) => Math.max(deepest, node.depth), 0);
    found.close(this.#known.size, depth);
    return found;
  }

  /** Leaves each state by each choice; what it did not come to stays in the queue. */
  async #visitAll(): Promise<void> {
    for (let node = this.#queue.shift(); node !== undefined; node = this.#queue.shift()) {
      if (this.#walks >= this.#budget() || this.#isSpent(1 - PART_FOR_WALKS) || this.#enough(this.#found)) {
        this.#queue.unshift(node);
        return;
      }
      if (node.depth >= this.#maxDepth) this.#tooDeep++;
      else await this.#leave(node);
    }
  }

  async #leave(node: Node): Promise<void> {
    for (const choice of node.choices) {
      if (this.#enough(this.#found)) return;
      const run = this.#walkTo(node);
      const since = run.story.length;
      run.tell(choice);
      const next = this.#arrive(run, since, node, choice);
      if (next !== null) this.#queue.push(next);
      // Lets others have the thread.
      await this.#breathe();
    }
  }

  /** Judges where a walk has come to; gives the node when it is a new one to continue from. */
  #arrive(run: ExploredRun, since: number, parent: Node | null, choice: PathChoice | null): Node | null {
    const choices = choicesOf(run, this.#world);
    const isSound = this.#found.judge(run, since, choices);
    if (!isSound || run.isOver()) return null;
    const key = this.#keyOf(run);
    const before = this.#known.get(key);
    const node = before ?? { id: this.#known.size, parent, choice, depth: (parent?.depth ?? -1) + 1, choices };
    if (before === undefined) this.#known.set(key, node);
    if (parent !== null && choice !== null)
      this.#graph.set(parent.id, [...(this.#graph.get(parent.id) ?? []), { choice, to: node }]);
    return before === undefined ? node : null;
  }

  #walkTo(node: Node): ExploredRun {
    const run = exploredRun(this.#explored);
    for (const choice of pathTo(node)) run.tell(choice);
    this.#walks++;
    return run;
  }

  /** Beyond a bound: walks at random from the states that were not left. */
  async #walkAtRandom(): Promise<void> {
    const depth = this.#queue[0]?.depth ?? 0;
    const bound = this.#walks >= this.#budget() ? `maxPaths (${this.#maxPaths})` : `maxSeconds (${this.#maxSeconds})`;
    this.#found.gap(
      `${bound} was reached: everything within ${depth} events of the start was explored, beyond it random walks only`,
    );
    const random = randomFrom(this.#options.seed ?? 1);
    for (let left = this.#maxPaths - this.#walks; left > 0 && !this.#isSpent(1) && !this.#enough(this.#found); left--) {
      const from = this.#queue[Math.floor(random() * this.#queue.length)];
      if (from === undefined) return;
      this.#wander(this.#walkTo(from), random);
      // Lets others have the thread.
      await this.#breathe();
    }
  }

  /** Continues at random until something ends it, judged at every state. */
  #wander(run: ExploredRun, random: () => number): void {
    for (let depth = 0; depth < this.#maxDepth && !run.isOver(); depth++) {
      const choices = choicesOf(run, this.#world);
      const calm = choices.filter(({ entry }) => entry.t !== 'event' || random() < RARELY);
      const choice = calm[Math.floor(random() * calm.length)];
      if (choice === undefined) return;
      const since = run.story.length;
      run.tell(choice);
      if (!this.#found.judge(run, since, choicesOf(run, this.#world))) return;
    }
  }

  /** On every cycle of states something must run out; steps do, being part of what distinguishes states. */
  #checkCycle(from: Node): void {
    const cycle = findCycle(this.#graph, from);
    if (cycle === null) return;
    const run = this.#walkTo(cycle.at);
    const begun = this.#keyOf(run);
    for (const { label } of [...cycle.round, ...cycle.round]) {
      const choice = choicesOf(run, this.#world).find((one) => withoutCall(one.label) === withoutCall(label));
      if (choice === undefined) break;
      run.tell(choice);
    }
    if (!run.isOver() && this.#keyOf(run) === begun) this.#found.cycle(run);
    else this.#found.gap('states repeat that are not quite the same, so that it is not certain that every path ends');
  }

  #keyOf(run: ExploredRun): string {
    // Replies of the caller's making may hold any number of calls.
    const callsATurn = this.#options.outcomes?.['callLlm'] === undefined ? 2 : Infinity;
    return keyOf(run, this.#claimsDependOn(run), callsATurn);
  }

  #claimsDependOn(run: ExploredRun): Json {
    const { distinguish, never, always } = this.#options;
    if (distinguish !== undefined) return distinguish(run.view());
    if (never === undefined && always === undefined) return null;
    return [...new Set(run.view().ran.map(({ tool }) => tool))];
  }

  #budget(): number {
    return Math.ceil(this.#maxPaths * (1 - PART_FOR_WALKS));
  }

  #isSpent(part: number): boolean {
    return performance.now() - this.#began >= this.#maxSeconds * 1000 * part;
  }

  /** Yields the thread now and then, and reports progress. */
  #breathe(): Promise<void> | undefined {
    if (performance.now() - this.#yielded < YIELD_MS) return undefined;
    this.#options.onProgress?.({ configurations: this.#known.size, paths: this.#walks });
    // A page has no `setImmediate`.
    const later = typeof setImmediate === 'function' ? setImmediate : setTimeout;
    return new Promise<void>((resolve) => void later(resolve)).then(() => void (this.#yielded = performance.now()));
  }
}

/** A label without the number of its call. */
function withoutCall(label: string): string {
  return label.replaceAll(/c\d+/g, 'c');
}

function randomFrom(seed: number): () => number {
  let count = 0;
  return () => fraction(seed * 7919 + count++);
}

/** A state that was reached, known by the choices that lead to it. */
interface Node {
  readonly id: number;
  readonly parent: Node | null;
  /** The choice that led here; null at the start. */
  readonly choice: PathChoice | null;
  readonly depth: number;
  /** What can be chosen here. */
  readonly choices: readonly PathChoice[];
}

/** Where the choices of explored nodes lead, for what concerns the graph as a whole. */
type Graph = ReadonlyMap<number, readonly { readonly choice: PathChoice; readonly to: Node }[]>;

/** The choices from the start to a node. */
function pathTo(node: Node): readonly PathChoice[] {
  const path: PathChoice[] = [];
  for (let at: Node | null = node; at !== null; at = at.parent) if (at.choice !== null) path.unshift(at.choice);
  return path;
}

/** A way round a cycle of the graph and the node that it begins at; null when there is none. */
function findCycle(graph: Graph, start: Node): { readonly at: Node; readonly round: readonly PathChoice[] } | null {
  const done = new Set<number>();
  const way: { readonly node: Node; readonly via: PathChoice | null; next: number }[] = [
    { node: start, via: null, next: 0 },
  ];
  const onWay = new Map<number, number>([[start.id, 0]]);
  for (let top = way.at(-1); top !== undefined; top = way.at(-1)) {
    const step = graph.get(top.node.id)?.[top.next++];
    if (step === undefined) {
      done.add(top.node.id);
      onWay.delete(top.node.id);
      way.pop();
      continue;
    }
    const begun = onWay.get(step.to.id);
    if (begun !== undefined) {
      const round = way.slice(begun + 1).flatMap(({ via }) => via ?? []);
      return { at: step.to, round: [...round, step.choice] };
    }
    if (done.has(step.to.id)) continue;
    onWay.set(step.to.id, way.length);
    way.push({ node: step.to, via: step.choice, next: 0 });
  }
  return null;
}

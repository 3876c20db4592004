/**
 * Owns: the order in which states are visited, which of them are the same, and when to stop.
 * Does not own: what can happen (choices), what must hold (laws).
 *
 * I1 Breadth first, so the way to what is found is a shortest one.
 * I2 Each state is left by everything that can happen there, each by a walk of its own from the start.
 * I3 Nothing is performed: no tool runs, no model is asked, no time passes.
 */
import type { AnyStateMachine } from 'xstate';
import { fraction } from '../../recovery/backoff.ts';
import type { Explorable } from '../../journal/replay/replay.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { llmCallMachine } from '../../machines/llm-call/llm-call.ts';
import { toolCallMachine } from '../../machines/tool-call/tool-call.ts';
import type { Json } from '../../json/json.ts';
import { type Choice, type ExploredRun, exploredRun } from './walk/explored-run.ts';
import { choicesOf } from './choices.ts';
import type { Exploration } from './walk/exploration.ts';
import { type Findings, findings } from './walk/findings.ts';
import { keyOf } from './walk/memory.ts';
import { type Node, findCycle, pathTo } from './walk/node.ts';
import { type ExploreOptions, checkExploreOptions, lawsOf } from './options.ts';
import { subjectOf } from './subject.ts';

const PART_FOR_WALKS = 0.2;
const YIELD_MS = 20;
const ENDING: readonly object[] = [agentMachine.config, llmCallMachine.config, toolCallMachine.config];

/**
 * Explores what a machine can do as it is configured: the real machine is driven through everything that models, tools,
 * people and time can do to it, one representative of each kind, and laws are checked at every state. Nothing is called.
 * Rejects with an `ExplorationError` for a machine whose actors would really act.
 *
 * @example
 * const found = await explorePaths(agent, { maxSteps: 3, never: (view) => view.ran.some(({ tool }) => tool === 'delete') });
 * expect(found.violations).toEqual([]);
 * expect(found.exhaustive).toBe(true);
 */
export async function explorePaths(
  target: AnyStateMachine | Explorable,
  options: ExploreOptions = {},
): Promise<Exploration> {
  checkExploreOptions(options);
  const { maxViolations = Infinity } = options;
  return (await explore(target, options, ({ violations }) => violations.length >= maxViolations)).exploration();
}

/** Explores until `enough` says so after a walk. */
export async function explore(
  target: AnyStateMachine | Explorable,
  options: ExploreOptions,
  enough: (found: Findings) => boolean,
): Promise<Findings> {
  const { task = 'Explore.', maxPaths = 20_000, maxSeconds = Infinity, maxDepth = 200, seed = 1 } = options;
  const began = performance.now();
  const isSpent = (part: number): boolean => performance.now() - began >= maxSeconds * 1000 * part;
  const subject = await subjectOf(target, {
    task,
    input: options.input,
    maxSteps: options.maxSteps ?? null,
    agent: options.agent ?? null,
  });
  const found = findings(subject, lawsOf(options));
  const world = {
    outcomes: options.outcomes ?? {},
    events: options.events ?? null,
    arguments: options.arguments ?? {},
    onGap: found.gap,
  };
  const known = new Map<string, Node>();
  const graph = new Map<number, { readonly choice: Choice; readonly to: Node }[]>();
  const queue: Node[] = [];
  let walks = 0;
  const breathe = breather(() => options.onProgress?.({ configurations: known.size, paths: walks }));

  const more = (run: ExploredRun): Json => {
    if (options.distinguish !== undefined) return options.distinguish(run.view());
    if (options.never === undefined && options.always === undefined) return null;
    return [...new Set(run.view().ran.map(({ tool }) => tool))];
  };

  // Replies of somebody else's making may hold any number of calls.
  const callsATurn = options.outcomes?.['callLlm'] === undefined ? 2 : Infinity;
  const key = (run: ExploredRun): string => keyOf(run, more(run), callsATurn);

  /** Judges where a walk has come to; gives the node when it is a new one to go on from. */
  const arrive = (run: ExploredRun, since: number, parent: Node | null, choice: Choice | null): Node | null => {
    const choices = choicesOf(run, world);
    const isSound = found.judge(run, since, choices);
    if (!isSound || run.isOver()) return null;
    const own = key(run);
    const before = known.get(own);
    const node = before ?? { id: known.size, parent, choice, depth: (parent?.depth ?? -1) + 1, choices };
    if (before === undefined) known.set(own, node);
    if (parent !== null && choice !== null)
      graph.set(parent.id, [...(graph.get(parent.id) ?? []), { choice, to: node }]);
    return before === undefined ? node : null;
  };

  const walkTo = (node: Node): ExploredRun => {
    const run = exploredRun(subject);
    for (const choice of pathTo(node)) run.tell(choice);
    walks++;
    return run;
  };

  const start = arrive(exploredRun(subject), 0, null, null);
  if (start !== null) queue.push(start);
  const budget = Math.ceil(maxPaths * (1 - PART_FOR_WALKS));
  let cut = 0;
  for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
    if (walks >= budget || isSpent(1 - PART_FOR_WALKS) || enough(found)) {
      queue.unshift(node);
      break;
    }
    if (node.depth >= maxDepth) {
      cut++;
      continue;
    }
    for (const choice of node.choices) {
      if (enough(found)) break;
      const run = walkTo(node);
      const since = run.story.length;
      run.tell(choice);
      const next = arrive(run, since, node, choice);
      if (next !== null) queue.push(next);
      await breathe();
    }
  }

  if (enough(found)) found.gap('it was stopped when enough had been found');
  else {
    if (cut > 0) found.gap(`${cut} states lie deeper than maxDepth (${maxDepth}) and were not left`);
    if (queue.length > 0) {
      const depth = queue[0]?.depth ?? 0;
      const bound = walks >= budget ? `maxPaths (${maxPaths})` : `maxSeconds (${maxSeconds})`;
      found.gap(
        `${bound} was reached: everything within ${depth} events of the start was explored, beyond it random walks only`,
      );
      const random = randomFrom(seed);
      for (let left = maxPaths - walks; left > 0 && !isSpent(1) && !enough(found); left--) {
        wander(walkTo(queue[Math.floor(random() * queue.length)] ?? queue[0] ?? NOWHERE), random);
        await breathe();
      }
    }
    if (start !== null && (options.terminates ?? ENDING.includes(subject.machine.config))) checkCycle(start);
  }
  found.close(known.size, Math.max(0, ...[...known.values()].map(({ depth }) => depth)));
  return found;

  /** Goes on at random until something ends it, judged at every state. */
  function wander(run: ExploredRun, random: () => number): void {
    for (let depth = 0; depth < maxDepth && !run.isOver(); depth++) {
      const choices = choicesOf(run, world);
      const calm = choices.filter(({ entry }) => entry.t !== 'event' || random() < RARELY);
      const choice = calm[Math.floor(random() * calm.length)];
      if (choice === undefined) return;
      const since = run.story.length;
      run.tell(choice);
      if (!found.judge(run, since, choicesOf(run, world))) return;
    }
  }

  /** On every cycle of states something must run out; steps do, being part of what tells states apart. */
  function checkCycle(from: Node): void {
    const cycle = findCycle(graph, from);
    if (cycle === null) return;
    const run = walkTo(cycle.at);
    const begun = key(run);
    for (const { label } of [...cycle.round, ...cycle.round]) {
      const choice = choicesOf(run, world).find((one) => bare(one.label) === bare(label));
      if (choice === undefined) break;
      run.tell(choice);
    }
    if (!run.isOver() && key(run) === begun) found.cycle(run);
    else found.gap('states repeat that are not quite the same, so that it is not certain that every path ends');
  }
}

const RARELY = 0.05;
const NOWHERE: Node = { id: -1, parent: null, choice: null, depth: 0, choices: [] };

/** A label without the number of its call. */
const bare = (label: string): string => label.replaceAll(/c\d+/g, 'c');

function randomFrom(seed: number): () => number {
  let count = 0;
  return () => fraction(seed * 7919 + count++);
}

/** Lets others have the thread now and then, and tells them how far it is. */
function breather(tell: () => void): () => Promise<void> | undefined {
  let last = performance.now();
  return () => {
    if (performance.now() - last < YIELD_MS) return undefined;
    tell();
    return new Promise((resolve) => {
      setImmediate(() => {
        last = performance.now();
        resolve();
      });
    });
  };
}

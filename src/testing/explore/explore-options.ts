import type { OutsideEvent } from '../../actors/journal.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { Explorable } from '../../journal/replay/replay.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import { checkFunctions, hint, optionsOf, wrongOption } from '../../json/known-options.ts';
import { mayAskAgent } from '../../machines/tool-call/recovery-progress.ts';
import type { Law } from './laws/law.ts';
import type { OutcomesOf } from './outcomes/outcome.ts';
import { OUTCOMES } from './outcomes/outcomes.ts';
import type { View } from './walk/exploration.ts';

/** A claim about states: one predicate, or several by name. */
export type Claims = ((view: View) => boolean) | { readonly [name: string]: (view: View) => boolean };

/** The progress of an exploration: the states found, and the walks made. */
export interface ExploreProgress {
  readonly configurations: number;
  readonly paths: number;
}

/** What to explore and how far. */
export interface ExploreOptions {
  /** What the user asks. Default `Explore.`; the machines do not read it. */
  readonly task?: string | undefined;
  /** What a machine is started with: an `AgentInput`, a `ToolCallInput`, your own machine's input. */
  readonly input?: unknown;
  /** The agent whose tools and limits a variant of the agent machine gets. */
  readonly agent?: Explorable | undefined;
  /** Explores with this limit in place of the agent's own `maxSteps`. */
  readonly maxSteps?: number | undefined;
  /** The maximum number of walks. Default 20 000. */
  readonly maxPaths?: number | undefined;
  /** Time limit, including random walks. Default: none. With a limit, what is found depends on the computer's speed. */
  readonly maxSeconds?: number | undefined;
  /** Called many times a second with the progress. */
  readonly onProgress?: ((soFar: ExploreProgress) => void) | undefined;
  /** Stops once this many laws are broken. Default: never. */
  readonly maxViolations?: number | undefined;
  /** The maximum number of entries on one path. Default 200. */
  readonly maxDepth?: number | undefined;
  /** Chooses the random walks beyond `maxPaths`. Default 1. */
  readonly seed?: number | undefined;
  /** What must hold nowhere. */
  readonly never?: Claims | undefined;
  /** What must hold everywhere. */
  readonly always?: Claims | undefined;
  /** What your claims depend on beyond the machines' states, so that states that differ in it are distinguished. */
  readonly distinguish?: ((view: View) => Json) | undefined;
  /** The possible outcomes of leaves, by name, instead of the built-in table. */
  readonly outcomes?: { readonly [leaf: string]: OutcomesOf } | undefined;
  /** Events from outside that may come, besides cancel and approvals. */
  readonly events?: ((view: View) => readonly OutsideEvent[]) | undefined;
  /** Arguments for tools, by the tool's name, if none can be generated from the schema. */
  readonly arguments?: { readonly [tool: string]: JsonObject } | undefined;
  /** The machine must come to an end on every path. Default: true for ours that end, false for others. */
  readonly terminates?: boolean | undefined;
}

/** Rejects unknown options of an exploration, what is not a function where one is needed, and limits of nothing. */
export function checkExploreOptions(options: ExploreOptions, called = 'explorePaths'): void {
  checkNames(options, called);
  checkFunctions(called, options, ['events', 'distinguish', 'onProgress']);
  for (const name of ['maxSteps', 'maxPaths', 'maxDepth', 'maxViolations', 'maxSeconds'] as const)
    if (!((options[name] ?? 1) > 0))
      throw wrongOption(`${called}: option '${name}' must be more than 0, and is ${options[name]}.`);
  for (const kind of ['never', 'always', 'outcomes'] as const)
    if (typeof options[kind] === 'object') checkFunctions(called, options[kind], Object.keys(options[kind]));
}

const checkNames = optionsOf<ExploreOptions>('explorePaths', 'docs/proof.md', {
  task: true,
  input: true,
  agent: true,
  maxSteps: true,
  maxPaths: true,
  maxSeconds: true,
  onProgress: true,
  maxViolations: true,
  maxDepth: true,
  seed: true,
  never: true,
  always: true,
  distinguish: true,
  outcomes: true,
  events: true,
  arguments: true,
  terminates: true,
});

/**
 * Rejects what would be tried nowhere: outcomes of no leaf, arguments of no tool. The caller's events may bring tools, and a repair
 * agent has some of its own.
 */
export function checkTried({ outcomes = {}, arguments: given = {}, events }: ExploreOptions, head: RunRecord): void {
  refuseOthers("'outcomes': no agent has a leaf", outcomes, [...OUTCOMES.keys()]);
  const isKnown = events === undefined && !mayBeRepaired(head);
  if (isKnown) refuseOthers("'arguments': no agent has a tool", given, toolNames(head));
}

function refuseOthers(what: string, given: object, names: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) throw wrongOption(`Option ${what} '${unknown}'.${hint(unknown, names)}`);
}

type Below = Pick<RunRecord, 'toolset' | 'children'>;

function mayBeRepaired({ toolset, children = [] }: Below): boolean {
  const plans = [toolset, ...toolset.tools].map(({ recovery }) => recovery);
  return plans.some(mayAskAgent) || children.some(({ setup }) => mayBeRepaired(setup));
}

function toolNames({ toolset, children = [] }: Below): readonly string[] {
  return [...toolset.tools.map(({ name }) => name), ...children.flatMap(({ setup }) => toolNames(setup))];
}

/** Claims as laws. */
export function lawsOf({ never, always }: ExploreOptions): readonly Law[] {
  return [
    ...entriesOf('never', never).map(([name, holds]) => claim(name, 'must hold nowhere', holds, false)),
    ...entriesOf('always', always).map(([name, holds]) => claim(name, 'must hold everywhere', holds, true)),
  ];
}

function entriesOf(kind: string, claims: Claims | undefined): readonly [string, (view: View) => boolean][] {
  if (claims === undefined) return [];
  return typeof claims === 'function' ? [[kind, claims]] : Object.entries(claims);
}

function claim(name: string, says: string, holds: (view: View) => boolean, wanted: boolean): Law {
  return {
    name,
    says: `'${name}' ${says}.`,
    check: ({ run }) => {
      const view = run.view();
      const held: unknown = holds(view);
      if (held instanceof Promise)
        throw wrongOption(`explorePaths: the claim '${name}' must give true or false, and gives a promise.`);
      return Boolean(held) === wanted ? null : `'${name}' ${says}, and was broken in ${view.state}`;
    },
  };
}

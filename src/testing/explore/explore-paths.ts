import type { AnyStateMachine } from 'xstate';
import type { Explorable } from '../../journal/replay/replay.ts';
import { type ExploreOptions, checkExploreOptions } from './explore-options.ts';
import { searchPaths } from './search-paths.ts';
import { type Exploration, type View, ExplorationError } from './walk/exploration.ts';

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
  return (await searchPaths(target, options, ({ violations }) => violations.length >= maxViolations)).exploration();
}

/**
 * Whether a machine, as it is configured, can come to a state for which the predicate is true. False is a proof; if the
 * bounds end the search before that, it rejects with an `ExplorationError` (code `not-exhaustive`). For the path to it
 * use `explorePaths(…, { never })`, whose violation has it as a recording.
 *
 * @example expect(await canReach(agent, (view) => view.ran.some(({ tool }) => tool === 'delete_all'))).toBe(false);
 */
export async function canReach(
  target: AnyStateMachine | Explorable,
  predicate: (view: View) => boolean,
  options: Omit<ExploreOptions, 'never' | 'always'> = {},
): Promise<boolean> {
  checkExploreOptions(options, 'canReach');
  const isReached = ({ law }: { readonly law: string }): boolean => law === NAME;
  const claims = { never: { [NAME]: predicate } };
  const found = await searchPaths(target, { ...options, ...claims }, ({ violations }) => violations.some(isReached));
  if (found.violations.some(isReached)) return true;
  const { exhaustive, bounds } = found.exploration();
  if (exhaustive) return false;
  throw new ExplorationError(
    'not-exhaustive',
    `The state was not found, and not everything was explored: ${bounds.join('; ')}. Raise maxPaths, or lower maxSteps.`,
  );
}

const NAME = 'reached';

import type { AnyStateMachine } from 'xstate';
import type { Explorable } from '../../journal/replay/replay.ts';
import { ExplorationError } from './errors.ts';
import { explore } from './explore-paths.ts';
import { type ExploreOptions, checkExploreOptions } from './options.ts';
import type { View } from './view.ts';

/**
 * Whether a machine, as it is configured, can come to a state of which the predicate is true. False is a proof; when the
 * bounds end the search before that, it rejects with an `ExplorationError` (code `not-exhaustive`). For the way there use
 * `explorePaths(…, { never })`, whose violation has it as a recording.
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
  const found = await explore(target, { ...options, ...claims }, ({ violations }) => violations.some(isReached));
  if (found.violations.some(isReached)) return true;
  const { exhaustive, bounds } = found.exploration();
  if (exhaustive) return false;
  throw new ExplorationError(
    'not-exhaustive',
    `The state was not found, and not everything was explored: ${bounds.join('; ')}. Raise maxPaths, or lower maxSteps.`,
  );
}

const NAME = 'reached';

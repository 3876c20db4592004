import type { Law } from './law.ts';
import { ends, honesty, nothingLeft, oneResult } from './laws/endings.ts';
import { planLimit, spending, stepBudget } from './laws/limits.ts';
import { modelTurns } from './laws/model-turns.ts';
import { recoveryTried } from './laws/recovery.ts';
import { routes } from './laws/routes.ts';
import { turns } from './laws/turns.ts';
import { asking, deadlines, denials, permission } from './laws/gate.ts';
import { noLoops, onceIsOnce, soundArguments } from './laws/running-tools.ts';

/** Checked on the choices themselves, not on what happened. */
export const ALIVE = {
  name: 'alive',
  says: 'There is no dead state: as long as a run is not over, something is open.',
} as const;

/** The laws that every machine of ours keeps, whatever its tools, policies and limits. */
export const DEFAULT_LAWS: readonly Law[] = [
  ends,
  stepBudget,
  permission,
  asking,
  denials,
  deadlines,
  soundArguments,
  onceIsOnce,
  oneResult,
  nothingLeft,
  honesty,
  noLoops,
  planLimit,
  spending,
  modelTurns,
  turns,
  routes,
  recoveryTried,
];

import type { Law } from './law.ts';
import { ends, fittingOutput, honesty, nothingLeft, oneResult, planLimit, spending, stepBudget } from './whole-run.ts';
import { modelTurns } from './model-turns.ts';
import { delivery, messages } from './delivery.ts';
import { recoveryTried, routes } from './recovery.ts';
import { turns } from './turns.ts';
import { asking, deadlines, denials, permission } from './gate.ts';
import { noLoops, onceIsOnce, soundArguments } from './running-tools.ts';

/** Checked on the choices themselves, not on what happened. */
export const ALIVE = {
  name: 'alive',
  says: 'There is no dead state: until a run ends, something is open.',
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
  fittingOutput,
  delivery,
  messages,
  noLoops,
  planLimit,
  spending,
  modelTurns,
  turns,
  routes,
  recoveryTried,
];

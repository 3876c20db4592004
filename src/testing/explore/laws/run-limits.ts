import { type Json, isJsonObject } from '../../../json/json.ts';
import type { Law, Situation } from './law.ts';
import { textAt, wasHandedOver } from '../walk/story.ts';

/** The budget of steps. That it falls on every cycle is checked on the graph of all states. */
export const stepBudget: Law = {
  name: 'budget',
  says: 'The budget of steps falls on every cycle, and no step beyond maxSteps begins.',
  check: ({ story, settings, output }) => {
    if (settings === null) return null;
    const steps = entered(story, 'PLANNING.ASKING') + entered(story, 'EXECUTING_PLAN.RUNNING_STEP');
    if (steps > settings.maxSteps) return `step ${steps} began, and maxSteps is ${settings.maxSteps}`;
    return output?.reason === 'max-steps' && steps < settings.maxSteps && !wasHandedOver(story)
      ? `the run ended at the step limit after ${steps} of ${settings.maxSteps} steps`
      : null;
  },
};

/** The number of plans. */
export const planLimit: Law = {
  name: 'plans',
  says: 'No more than maxPlanIterations plans are carried out, and none fewer is refused.',
  check: ({ story, settings, output, fresh }) => {
    if (settings === null || settings.maxPlanIterations === 0) return null;
    const plans = story.filter(
      (one) => isTransition(one) && one.from === 'PLANNING.DECIDING' && one.to.startsWith('EXECUTING_PLAN'),
    ).length;
    if (plans > settings.maxPlanIterations)
      return `plan ${plans} was carried out, and maxPlanIterations is ${settings.maxPlanIterations}`;
    const refused = output?.reason === 'plan-limit' && fresh.some(isTransition);
    return refused && plans < settings.maxPlanIterations
      ? `the run ended at the plan limit after ${plans} plans`
      : null;
  },
};

/** The option `budget`. */
export const spending: Law = {
  name: 'spending',
  says: 'No call runs beyond budget.maxToolCalls, no model turn begins once budget.maxTokens is spent, and usage counts every reply.',
  check: ({ story, settings, fresh, output, schema }) => {
    if (settings === null) return null;
    const { maxToolCalls, maxTokens } = settings.budget;
    const calls = new Set(
      story.flatMap((one) =>
        one.kind === 'started' && one.effect.name === 'callTool' ? [textAt(one.effect.request, 'callId')] : [],
      ),
    ).size;
    if (maxToolCalls !== null && calls > maxToolCalls) return `call ${calls} ran, and maxToolCalls is ${maxToolCalls}`;
    const spent = tokensSpent(story);
    if (output !== null && output.usage.totalTokens !== spent)
      return `the run used ${spent} tokens, and its usage counts ${output.usage.totalTokens}`;
    const isEarly = maxToolCalls === null && (maxTokens === null || spent < maxTokens);
    if (output?.reason === 'budget' && isEarly && !wasHandedOver(story))
      return `the run ended at its budget after ${calls} calls and ${spent} tokens`;
    const turn = fresh.some((one) => isTransition(one) && one.to === 'PLANNING.ASKING');
    const isKept = schema !== null && turnsAfter(story, maxTokens) === 1;
    return maxTokens !== null && turn && spent >= maxTokens && !isKept
      ? `a model turn began after ${spent} of ${maxTokens} tokens`
      : null;
  },
};

/** How many tokens have been used, those of agents below included. */
export function tokensSpent(story: Situation['story']): number {
  return story.reduce((sum, one) => sum + (one.kind === 'settled' && one.out.ok ? tokensOf(one.out.value) : 0), 0);
}

/** How many turns began after the tokens were spent: one is kept for an answer that has a schema. */
function turnsAfter(story: Situation['story'], maxTokens: number | null): number {
  let spent = 0;
  let turns = 0;
  for (const one of story)
    if (one.kind === 'settled' && one.out.ok) spent += tokensOf(one.out.value);
    else if (isTransition(one) && one.to === 'PLANNING.ASKING' && maxTokens !== null && spent >= maxTokens) turns += 1;
  return turns;
}

function tokensOf(value: Json): number {
  if (!isJsonObject(value) || !isJsonObject(value.usage)) return 0;
  return typeof value.usage.totalTokens === 'number' ? value.usage.totalTokens : 0;
}

function isTransition(one: Situation['story'][number]): one is Extract<Situation['story'][number], { kind: 'moved' }> {
  return one.kind === 'moved' && one.machine === 'agent' && !one.actor.includes('/');
}

/** How often the agent came into a state, itself and not one within it. */
function entered(story: Situation['story'], state: string): number {
  return story.filter((one) => isTransition(one) && one.to === state).length;
}

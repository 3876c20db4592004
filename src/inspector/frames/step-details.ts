import type { AnyMachineSnapshot, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { evaluateGuard } from 'xstate/guards';
import { isEventless } from './actors.ts';
import { statePath, transitionIds, transitionsFor } from './drawing.ts';
import { type DisplayCache, displayJson, displayObject } from './display-json.ts';
import { type StepSource, isInitial, snapshotAt } from './initial-snapshot.ts';
import { guardName } from './names.ts';
import type { StepDetail, StepInfo } from './protocol.ts';

/** What is shown of one step. */
export function detailOf(step: StepInfo, source: StepSource, known?: DisplayCache): StepDetail {
  const { event, before, after } = source;
  const [was, is] = [snapshotAt(before), snapshotAt(after)];
  return {
    step,
    event: displayObject(event, known),
    before: displayJson(was?.context ?? null, known),
    after: displayJson(is?.context ?? null, known),
    unknown: [
      ...(before !== null && was === null ? ['before' as const] : []),
      ...(is === null ? ['after' as const] : []),
    ],
    candidates: candidatesOf(source),
  };
}

/**
 * Each transition that could have been taken on a step's event, innermost state first, as XState tries them, and what its
 * guard says on the snapshot before it. Guards are pure, so they may be asked again.
 */
export function candidatesOf({ event, before, taken }: StepSource): StepDetail['candidates'] {
  if (before === null) return [];
  const snapshot = snapshotAt(before);
  const nodes: readonly AnyStateNode[] = isInitial(before) ? before.nodes : before._nodes;
  const innermostFirst = nodes.toSorted((one, other) => other.path.length - one.path.length || one.order - other.order);
  return innermostFirst
    .flatMap((node) => (isEventless(taken) ? (node.always ?? []) : transitionsFor(node, event.type)))
    .map((transition) => ({
      transition: transitionIds(transition)[0] ?? statePath(transition.source),
      guard: transition.guard === undefined ? null : guardName(transition.guard),
      passed: snapshot === null ? likelihood(transition, taken) : verdict(transition, event, snapshot),
      taken: taken.includes(transition),
    }));
}

function verdict(
  { guard }: AnyTransitionDefinition,
  event: { readonly type: string },
  before: AnyMachineSnapshot,
): boolean | 'failed' {
  if (guard === undefined) return true;
  try {
    return evaluateGuard(guard, before.context, event, before);
  } catch {
    return 'failed';
  }
}

/** What is known of a guard without calling it: the first that passes is taken, so those before it have not passed. */
function likelihood(transition: AnyTransitionDefinition, taken: StepSource['taken']): boolean | 'unknown' {
  if (taken.includes(transition)) return true;
  const inOrder = transition.source.always ?? [];
  const chosen = inOrder.findIndex((one) => taken.includes(one));
  return chosen > inOrder.indexOf(transition) && inOrder.includes(transition) ? false : 'unknown';
}

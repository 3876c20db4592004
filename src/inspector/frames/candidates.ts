import type { AnyMachineSnapshot, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { evaluateGuard } from 'xstate/guards';
import { isBeginning, snapshotAt } from './beginning.ts';
import { statePath, transitionIds } from './drawing.ts';
import type { StepMatter } from './frame-maker.ts';
import { guardName } from './names.ts';
import type { StepDetail } from './protocol.ts';

/**
 * Each transition that could have been taken on a step's event, innermost state first, as XState tries them, and what its
 * guard says on the snapshot of that moment. Guards are pure, so they may be asked again.
 */
export function candidatesOf({ event, before, taken }: StepMatter): StepDetail['candidates'] {
  if (before === null) return [];
  const eventless = taken.length > 0 && taken.every(({ eventType }) => eventType === '');
  const snapshot = snapshotAt(before);
  const nodes: readonly AnyStateNode[] = isBeginning(before) ? before.nodes : before._nodes;
  const innermostFirst = nodes.toSorted((one, other) => other.path.length - one.path.length || one.order - other.order);
  return innermostFirst
    .flatMap((node) => (eventless ? (node.always ?? []) : transitionsFor(node, event.type)))
    .map((transition) => ({
      transition: transitionIds(transition)[0] ?? statePath(transition.source),
      guard: transition.guard === undefined ? null : guardName(transition.guard),
      passed: snapshot === null ? likelihood(transition, taken) : verdict(transition, event, snapshot),
      taken: taken.includes(transition),
    }));
}

/** The transitions of a state that an event of this type could take. */
export function transitionsFor(node: AnyStateNode, type: string): readonly AnyTransitionDefinition[] {
  return [...node.transitions].filter(([descriptor]) => describes(descriptor, type)).flatMap(([, list]) => list);
}

/** `a.*` describes `a.b` and `a.b.c`, `*` everything. */
function describes(descriptor: string, type: string): boolean {
  if (descriptor === type || descriptor === '*') return true;
  return descriptor.endsWith('.*') && `${type}.`.startsWith(descriptor.slice(0, -1));
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

/** What can be said of a guard without asking it: the first that passes is taken, so those before it have not passed. */
function likelihood(transition: AnyTransitionDefinition, taken: StepMatter['taken']): boolean | 'unknown' {
  if (taken.includes(transition)) return true;
  const inOrder = transition.source.always ?? [];
  const chosen = inOrder.findIndex((one) => taken.includes(one));
  return chosen > inOrder.indexOf(transition) && inOrder.includes(transition) ? false : 'unknown';
}

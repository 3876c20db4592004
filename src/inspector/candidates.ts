import type { AnyMachineSnapshot, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { evaluateGuard } from 'xstate/guards';
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
  const nodes: readonly AnyStateNode[] = before._nodes;
  const innermostFirst = nodes.toSorted((one, other) => other.path.length - one.path.length || one.order - other.order);
  return innermostFirst
    .flatMap((node) => (eventless ? (node.always ?? []) : transitionsFor(node, event.type)))
    .map((transition) => ({
      transition: transitionIds(transition)[0] ?? statePath(transition.source),
      guard: transition.guard === undefined ? null : guardName(transition.guard),
      passed: verdict(transition, event, before),
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

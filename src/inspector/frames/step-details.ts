import type { AnyMachineSnapshot, AnyStateNode, AnyTransitionDefinition, AnyStateMachine } from 'xstate';
// As a whole: an XState older than our range has not all of its functions, and a missing name would fail at the import.
import * as xstate from 'xstate';
import { evaluateGuard } from 'xstate/guards';
import { isEventless, initialOf } from './actors.ts';
import { statePath, transitionIds, transitionsFor } from './drawing.ts';
import { type DisplayCache, displayJson, displayObject } from './display-json.ts';
import { guardName } from './names.ts';
import type { StepDetail, StepInfo } from './protocol.ts';
import type { Microstep } from '../../machines/events/transition-log.ts';

/**
 * Owns: what is shown of a step; and the snapshot of an actor between its start and its first immediate transition. XState
 * reports neither the moment nor its snapshot, so it is computed on demand. Does not own: when that is.
 *
 * I1 No action and no effect is run again: at most what makes the initial context, and assignments, which are pure in any
 *    machine that can be replayed. Where the first step shows that they are not, nothing is claimed to be known.
 */

/** The moment at which an actor had begun, and nothing more. */
export interface InitialSnapshot {
  /** The states in which it began. */
  readonly nodes: readonly AnyStateNode[];
  /** Takes note of the first microstep that was seen. */
  wentTo(microstep: Pick<Microstep, 'snapshot' | 'event' | 'taken'>): void;
  /** Null: it cannot be known. */
  snapshot(): AnyMachineSnapshot | null;
}

/** What a step's details are made of. */
export interface StepSource {
  readonly event: { readonly type: string };
  readonly before: LazySnapshot;
  readonly after: LazySnapshot;
  readonly taken: Microstep['taken'];
}

/** How an actor stands: a snapshot that was seen, one to be worked out, or none. */
export type LazySnapshot = AnyMachineSnapshot | InitialSnapshot | null;

/** What is known of an actor when it comes into view. */
interface Birth {
  readonly machine: AnyStateMachine;
  /** What it was given. */
  readonly input: unknown;
  /** Its first snapshot that was seen, where that stands in the initial states; null where it is further on. */
  readonly seen: AnyMachineSnapshot | null;
}

/** How an actor begins. */
export function initialSnapshot({ machine, input, seen }: Birth): LazySnapshot {
  const { nodes } = initialOf(machine);
  if (seen !== null && nodes.every(({ always = [] }) => always.length === 0)) return seen;
  let next: Parameters<InitialSnapshot['wentTo']>[0] | null = null;
  let known: AnyMachineSnapshot | null | undefined;
  const workOut = ({ snapshot, taken }: NonNullable<typeof next>): AnyMachineSnapshot | null =>
    mayAssign(machine, [...nodes, ...snapshot._nodes], taken)
      ? begunAgain(machine, input, snapshot)
      : machine.resolveState({ value: {}, context: snapshot.context });
  return {
    nodes,
    wentTo: (microstep) => {
      // What stood in the initial states when it was seen has left them at once only if it did so on its beginning.
      if (seen === null || microstep.event.type === 'xstate.init') next ??= microstep;
    },
    snapshot: () => {
      if (next === null) return seen;
      known = known === undefined ? workOut(next) : known;
      return known;
    },
  };
}

/** True for a snapshot that has to be worked out. */
export function isInitial(moment: LazySnapshot): moment is InitialSnapshot {
  return moment !== null && 'wentTo' in moment;
}

/** The snapshot itself, worked out where it has to be; null where there was none, or it cannot be known. */
export function snapshotAt(moment: LazySnapshot): AnyMachineSnapshot | null {
  return isInitial(moment) ? moment.snapshot() : moment;
}

/** Whether anything that could have run between two moments changes the context. Wrong on the side of caution. */
function mayAssign(machine: AnyStateMachine, nodes: readonly AnyStateNode[], taken: Microstep['taken']): boolean {
  const isLeft = ({ parent }: AnyStateNode): boolean =>
    parent !== undefined || taken.some(({ source }) => source === machine.root);
  const actions: readonly unknown[] = [
    ...nodes.filter(isLeft).flatMap(({ entry, exit }) => [...entry, ...exit]),
    ...nodes.flatMap((node) => (node.type === 'compound' ? node.initial.actions : [])),
    ...taken.flatMap(({ actions: own }) => own),
  ];
  return actions.some((action) => ASSIGNING.has(kindOf(machine, action)));
}

const ASSIGNING: ReadonlySet<unknown> = new Set(['xstate.assign', 'xstate.enqueueActions']);

/** What XState does for an action: the type of a built-in action; undefined for a function of the user. */
function kindOf({ implementations }: AnyStateMachine, action: unknown): unknown {
  if (typeof action === 'function') return Reflect.get(action, 'type');
  const name: unknown = typeof action === 'object' && action !== null ? Reflect.get(action, 'type') : action;
  const found: unknown = typeof name === 'string' ? implementations.actions[name] : undefined;
  return typeof found === 'function' ? Reflect.get(found, 'type') : undefined;
}

/** Starts again without running anything, and compares the next step with the real one: both must match. */
function begunAgain(machine: AnyStateMachine, input: unknown, next: AnyMachineSnapshot): AnyMachineSnapshot | null {
  try {
    const [begun, then] = xstate.getInitialMicrosteps(machine, input);
    const isSame = then !== undefined && JSON.stringify(then[0].value) === JSON.stringify(next.value);
    if (begun === undefined || !isSame) return null;
    return JSON.stringify(displayJson(then[0].context)) === JSON.stringify(displayJson(next.context)) ? begun[0] : null;
  } catch {
    return null;
  }
}

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

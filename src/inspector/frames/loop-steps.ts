import { type AnyMachineSnapshot, isMachineSnapshot } from 'xstate';
import { isJsonObject } from '../../json/json.ts';
import type { StepSource } from './initial-snapshot.ts';

/** The loop detection in an agent's context; null where there is none. */
export function loopOf({ machine, context }: AnyMachineSnapshot): AnyMachineSnapshot | null {
  if (machine.id !== 'agent' || !isJsonObject(context)) return null;
  const loop: unknown = Reflect.get(context, 'loop');
  return isMachineSnapshot(loop) ? loop : null;
}

/** What moved the loop detection between two snapshots of its agent, as one transition; null when nothing did. */
export function loopStep(before: AnyMachineSnapshot | null, after: AnyMachineSnapshot): StepSource | null {
  if (before === null || before === after || sameMemory(before, after)) return null;
  const type = before.context.recent === after.context.recent ? 'round.settled' : 'call.proposed';
  const from = before.machine.root.states[String(before.value)];
  const possible = [from, before.machine.root].flatMap((node) => node?.transitions.get(type) ?? []);
  const taken = possible.find(({ target }) => target?.some(({ key }) => key === String(after.value)));
  return { event: { type }, before, after, taken: taken === undefined ? [] : [taken] };
}

/** Equal, though perhaps not the same: a settled round counts its failures again, and a run that is joined is another's copy. */
function sameMemory(one: AnyMachineSnapshot, other: AnyMachineSnapshot): boolean {
  return one.value === other.value && isEqual(one.context, other.context);
}

function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => isEqual(Reflect.get(one, key), Reflect.get(other, key)));
}

import type { AnyActor, AnyStateMachine, StateValue } from 'xstate';
import { stateText } from '../../../machines/events/transition-log.ts';

/** Any machine's snapshot, with nothing said about its memory. */
export interface MachineState {
  readonly machine: AnyStateMachine;
  readonly value: StateValue;
  readonly status: string;
  readonly context: unknown;
  readonly children: { readonly [id: string]: unknown };
  readonly output?: unknown;
  readonly error?: unknown;
}

/** A machine's actor that is there now. */
export interface LiveActor {
  /** The ids from the root down to it, joined with `/`. */
  readonly path: string;
  /** Its state as one dotted path. */
  readonly state: string;
  readonly snapshot: MachineState;
}

/** The machines' actors below a root, itself first. Leaves are no machines. */
export function liveActors(root: AnyActor): readonly LiveActor[] {
  const list: LiveActor[] = [];
  collect(root.id, root.getSnapshot(), list);
  return list;
}

function collect(path: string, snapshot: unknown, list: LiveActor[]): void {
  if (!isMachineSnapshot(snapshot)) return;
  list.push({ path, state: stateText(snapshot.value), snapshot });
  for (const [id, child] of Object.entries(snapshot.children)) {
    if (typeof child === 'object' && child !== null && 'getSnapshot' in child)
      collect(`${path}/${id}`, Reflect.apply(Object(child.getSnapshot), child, []), list);
  }
}

function isMachineSnapshot(snapshot: unknown): snapshot is MachineState {
  return typeof snapshot === 'object' && snapshot !== null && 'machine' in snapshot && 'value' in snapshot;
}

import { type AnyActorRef, type AnyMachineSnapshot, isMachineSnapshot } from 'xstate';

type Children = Readonly<Record<string, AnyActorRef | undefined>>;

/** Remembers how actors were when they were made, for who looks at them a little later. */
export interface Newborns {
  /** Takes note of those that are seen for the first time. */
  note(children: Children): void;
  /** An actor as it was when it was noted; one that was not, as it is. Null: it is no machine. */
  snapshotOf(actor: AnyActorRef): AnyMachineSnapshot | null;
}

/** Nobody is remembered yet. Forgets by itself whom nobody holds any more. */
export function newborns(): Newborns {
  const known = new WeakMap<AnyActorRef, AnyMachineSnapshot | null>();
  let latest: Children | null = null;
  return {
    note: (children) => {
      if (children === latest) return;
      latest = children;
      for (const id of Object.keys(children)) {
        const child = children[id];
        if (child !== undefined && !known.has(child)) known.set(child, snapshotOf(child));
      }
    },
    snapshotOf: (actor) => known.get(actor) ?? snapshotOf(actor),
  };
}

/** The snapshot of a machine's actor; null for any other. */
export function snapshotOf(actor: AnyActorRef): AnyMachineSnapshot | null {
  const snapshot: unknown = actor.getSnapshot();
  return isMachineSnapshot(snapshot) ? snapshot : null;
}

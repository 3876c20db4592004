import type { createInspector } from '@statelyai/inspect';
import { type AnyActorRef, isMachineSnapshot } from 'xstate';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { inertJson, inertObject } from '../frames/inert-json.ts';
import { rootOf } from '../sessions/root-of.ts';

/** What is told of an actor: that it is there, an event that it got, what it is then. */
export type Reported =
  | { readonly type: 'met' }
  | { readonly type: 'event'; readonly event: { readonly type: string }; readonly source: string | undefined }
  | { readonly type: 'snapshot'; readonly event: { readonly type: string }; readonly snapshot: object };

/**
 * Makes events of Stately's protocol out of what is told, at once and by their own code, and hands them on as plain JSON.
 * An actor is introduced when it is first spoken of, after its parent. What is read may throw.
 */
export function statelyReporter(
  make: typeof createInspector,
  send: (event: JsonObject) => void,
): (actor: AnyActorRef, what: Reported) => void {
  const known = new WeakSet<AnyActorRef>();
  let about: AnyActorRef | null = null;
  const stately = make({
    send: (event) => {
      if (about === null) return;
      const rootId = rootOf(about)?.sessionId ?? about.sessionId;
      const shared = { ...inertObject(event), rootId };
      if (event.type !== '@xstate.actor') return send(shared);
      const name = about.id;
      send({ ...shared, name, definition: event.definition ?? JSON.stringify({ id: name }) });
    },
  });

  const meet = (actor: AnyActorRef): void => {
    if (known.has(actor)) return;
    known.add(actor);
    const parent: AnyActorRef | undefined = actor._parent;
    if (parent !== undefined) meet(parent);
    about = actor;
    stately.actor(actor, readable(actor.getSnapshot()));
  };

  return (actor, what) => {
    meet(actor);
    about = actor;
    if (what.type === 'event') {
      const { event, source } = what;
      stately.event(actor, { ...inertObject(event), type: event.type }, source === undefined ? {} : { source });
    }
    if (what.type === 'snapshot') {
      const { event, snapshot } = what;
      stately.snapshot(actor, readable(snapshot), { event: { ...inertObject(event), type: event.type } });
    }
  };
}

/** A snapshot as plain JSON; one that is still alive loses its machine. */
function readable(snapshot: unknown): { readonly [member: string]: Json } {
  const json = inertJson(isMachineSnapshot(snapshot) ? snapshot.toJSON() : snapshot);
  return isJsonObject(json) ? json : { output: json };
}

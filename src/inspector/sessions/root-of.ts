import type { AnyActorRef } from 'xstate';

/** The root of the actor system that an actor, as XState inspects it, belongs to; null for what is no actor. */
export function rootOf(actor: object): AnyActorRef | null {
  let at: object = actor;
  for (let parent: unknown = Reflect.get(at, '_parent'); typeof parent === 'object' && parent !== null;) {
    at = parent;
    parent = Reflect.get(at, '_parent');
  }
  return isActor(at) ? at : null;
}

/** True for an actor that runs here. */
export function isActor(actor: object): actor is AnyActorRef {
  return 'getSnapshot' in actor && 'send' in actor;
}

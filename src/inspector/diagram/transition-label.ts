import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { guardName } from '../frames/names.ts';

/** What makes a transition happen, in plain words: its guard, else its event, else that nothing else applied. */
export function transitionLabel({ guard, eventType }: AnyTransitionDefinition, node: AnyStateNode): string {
  if (guard !== undefined) return words(guardName(guard));
  if (eventType !== '') return eventLabel(eventType, node);
  return (node.always?.length ?? 0) > 1 ? 'otherwise' : '';
}

function eventLabel(event: string, node: AnyStateNode): string {
  const [, kind, actor] = /^xstate\.(done|error)\.actor\.(.+)$/.exec(event) ?? [];
  if (kind !== undefined && actor !== undefined)
    return `${actorLabel(actor, node)} ${kind === 'done' ? 'done' : 'failed'}`;
  const [, delay] = /^xstate\.after\.([^.]+)\./.exec(event) ?? [];
  if (delay === undefined) return event;
  return /^\d+$/.test(delay) ? `after ${delay} ms` : `after ${words(delay)}`;
}

/** The name of the actor that a state invokes; of any of several that it spawned. */
function actorLabel(id: string, node: AnyStateNode): string {
  const source = node.invoke.find((invoked) => invoked.id === id)?.src;
  return typeof source === 'string' ? words(source) : 'a call';
}

function words(name: string): string {
  return name.replaceAll(
    /([a-z0-9])([A-Z])/g,
    (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
  );
}

import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';

/** What makes a transition happen, in plain words: its guard, else its event, else that nothing else applied. */
export function transitionLabel({ guard, eventType }: AnyTransitionDefinition, node: AnyStateNode): string {
  if (guard !== undefined) return guardLabel(guard);
  if (eventType !== '') return eventLabel(eventType, node);
  return (node.always?.length ?? 0) > 1 ? 'otherwise' : '';
}

function guardLabel(guard: unknown): string {
  if (typeof guard === 'string') return words(guard);
  const parts = member(guard, 'guards');
  const type = member(guard, 'type');
  if (typeof guard === 'function' && Array.isArray(parts)) {
    const inner = parts.map(guardLabel);
    return guard.name === 'not' ? `not ${inner.join('')}` : inner.join(` ${guard.name} `);
  }
  const params = member(guard, 'params');
  if (typeof type === 'string') return typeof params === 'string' ? `${words(type)} ${params}` : words(type);
  throw new Error('A guard without a name cannot be drawn: name it in setup().');
}

function eventLabel(event: string, node: AnyStateNode): string {
  const [, kind, actor] = /^xstate\.(done|error)\.actor\.(.+)$/.exec(event) ?? [];
  if (kind !== undefined && actor !== undefined)
    return `${actorLabel(actor, node)} ${kind === 'done' ? 'done' : 'failed'}`;
  const [, delay] = /^xstate\.after\.([^.]+)\./.exec(event) ?? [];
  return delay === undefined ? event : `after ${words(delay)}`;
}

/** The name of the actor that a state invokes; of any of several that it spawned. */
function actorLabel(id: string, node: AnyStateNode): string {
  const source = node.invoke.find((invoked) => invoked.id === id)?.src;
  return typeof source === 'string' ? words(source) : 'a call';
}

function member(value: unknown, key: string): unknown {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
    ? Reflect.get(value, key)
    : undefined;
}

function words(name: string): string {
  return name.replaceAll(
    /([a-z0-9])([A-Z])/g,
    (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
  );
}

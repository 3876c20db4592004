import type { AnyStateNode } from 'xstate';
import { sourceName } from './names.ts';

/** An event type as people read it: `tool.failed`, `after backoff`, `callLlm.done`, `always`. */
export function eventLabel(eventType: string, node: AnyStateNode): string {
  if (eventType === '') return 'always';
  if (eventType === '*') return 'any event';
  const [, kind = '', rest = ''] =
    /^xstate\.(done\.actor|error\.actor|done\.state|snapshot|after|init)(?:\.(.*))?$/.exec(eventType) ?? [];
  switch (kind) {
    case 'done.actor':
      return `${actorName(rest, node)}.done`;
    case 'error.actor':
      return `${actorName(rest, node)}.failed`;
    case 'snapshot':
      return `${actorName(rest, node)}.changed`;
    case 'done.state':
      return `${rest.split('.').at(-1) ?? rest}.done`;
    case 'after':
      return `after ${delayName(rest, node)}`;
    case 'init':
      return 'started';
    default:
      return eventType;
  }
}

/** The id that an invoked actor was given; one that XState made up is replaced by what is invoked. */
function actorName(id: string, node: AnyStateNode): string {
  if (id === '*') return 'child';
  const invoked = node.invoke.find((one) => one.id === id);
  if (invoked === undefined || !/^\d+\./.test(id)) return id;
  return sourceName(invoked.src, node.machine);
}

/** `500.machine.STATE` is a number of milliseconds, `backoff.machine.STATE` a name. */
function delayName(rest: string, node: AnyStateNode): string {
  const suffix = `.${node.id}`;
  const delay = rest.endsWith(suffix) ? rest.slice(0, -suffix.length) : (rest.split('.')[0] ?? rest);
  return /^[\d.]+$/.test(delay) ? `${delay} ms` : delay;
}

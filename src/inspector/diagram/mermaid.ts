import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { guardLabel, guardName, inWords } from '../frames/names.ts';

/**
 * Draws a machine as a Mermaid `stateDiagram-v2`. A transition that leaves a composite state is drawn from that state's
 * border, because Mermaid draws none between the insides of two states; transitions with the same ends share an arrow.
 */
export function mermaid(machine: AnyStateMachine): string {
  const lines = [...inside(machine.root, '  '), ...fromAnywhere(machine.root)];
  return ['stateDiagram-v2', ...lines].join('\n');
}

function inside(parent: AnyStateNode, indent: string): readonly string[] {
  const children = Object.values(parent.states);
  const first = children.find((child) => parent.initial.target.includes(child)) ?? children[0];
  const entry = first === undefined ? [] : [`${indent}[*] --> ${first.key}`];
  const composites = children
    .filter(isComposite)
    .flatMap((child) => [`${indent}state ${child.key} {`, ...inside(child, `${indent}  `), `${indent}}`]);
  const ends = children.filter((child) => child.type === 'final').map((child) => `${indent}${child.key} --> [*]`);
  return [...entry, ...composites, ...arrows(children, indent), ...ends];
}

/** The arrows between these siblings, of every transition in or below them. */
function arrows(siblings: readonly AnyStateNode[], indent: string): readonly string[] {
  const labels = new Map<string, Set<string>>();
  for (const from of siblings) {
    for (const node of withDescendants(from)) {
      for (const transition of transitionsOf(node)) {
        const to = siblings.find((sibling) =>
          transition.target?.some((target) => withDescendants(sibling).includes(target)),
        );
        if (to === undefined || (to === from && node !== from)) continue;
        const arrow = `${from.key} --> ${to.key}`;
        labels.set(arrow, (labels.get(arrow) ?? new Set()).add(transitionLabel(transition, node)));
      }
    }
  }
  return [...labels].map(([arrow, texts]) => {
    const text = [...texts].filter((label) => label !== '').join('<br/>');
    return `${indent}${arrow}${text === '' ? '' : ` : ${text}`}`;
  });
}

/** What the machine's root listens to: it holds in every state. */
function fromAnywhere(root: AnyStateNode): readonly string[] {
  return Object.values(root.states).flatMap((state) => {
    const labels = transitionsOf(root)
      .filter(({ target }) => target?.includes(state))
      .map((transition) => transitionLabel(transition, root));
    return labels.length === 0
      ? []
      : [`  note right of ${state.key} : from any other state<br/>${labels.join('<br/>')}`];
  });
}

function transitionsOf(node: AnyStateNode) {
  return [...(node.always ?? []), ...[...node.transitions.values()].flat()];
}

function withDescendants(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(withDescendants)];
}

function isComposite(node: AnyStateNode): boolean {
  return Object.keys(node.states).length > 0;
}

/** What makes a transition happen, in plain words: its guard, else its event, else that nothing else applied. */
function transitionLabel({ guard, eventType }: AnyTransitionDefinition, node: AnyStateNode): string {
  if (guard !== undefined) return guardLabel(guardName(guard));
  if (eventType !== '') return eventLabel(eventType, node);
  return (node.always?.length ?? 0) > 1 ? 'otherwise' : '';
}

function eventLabel(event: string, node: AnyStateNode): string {
  const [, kind, actor] = /^xstate\.(done|error)\.actor\.(.+)$/.exec(event) ?? [];
  if (kind !== undefined && actor !== undefined)
    return `${actorLabel(actor, node)} ${kind === 'done' ? 'done' : 'failed'}`;
  const [, delay] = /^xstate\.after\.([^.]+)\./.exec(event) ?? [];
  if (delay === undefined) return event;
  return /^\d+$/.test(delay) ? `after ${delay} ms` : `after ${inWords(delay)}`;
}

/** The name of the actor that a state invokes; of any of several that it spawned. */
function actorLabel(id: string, node: AnyStateNode): string {
  const source = node.invoke.find((invoked) => invoked.id === id)?.src;
  return typeof source === 'string' ? inWords(source) : 'a call';
}

import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { digest } from '../../json/digest.ts';
import { type JsonSchema, defined, plainJson } from '../../json/json.ts';
import { describes } from './event-issues.ts';
import { eventSchemas } from './event-schemas.ts';
import { actionName, guardName, sourceName } from './names.ts';
import type { MachineDrawing, StateDrawing, TransitionDrawing } from './protocol.ts';
import { stateTone } from './state-tones.ts';

const drawings = new WeakMap<object, MachineDrawing>();
const ids = new WeakMap<object, readonly string[]>();

/**
 * Draws any XState v5 machine: its states, and what leads from one to another, as data. Pure; the same definition gives
 * the same drawing and hash, whatever is provided to it. Inline functions are named by what they say, if that is short.
 *
 * @example drawMachine(agentMachine).root.children.map(({ name }) => name); // ['PLANNING', 'EXECUTING_PLAN', …]
 */
export function drawMachine(machine: AnyStateMachine): MachineDrawing {
  const before = drawings.get(machine.config);
  if (before !== undefined) return before;
  const root = drawState(machine.root);
  const events = drawnEvents(machine);
  const known = events === null ? {} : { events };
  // Machines that look alike may take events of other shapes.
  const hash = digest(plainJson(events === null ? root : { root, events }));
  const drawing: MachineDrawing = { hash, id: machine.id, root, ...known };
  drawings.set(machine.config, drawing);
  return drawing;
}

/** The ids, in the drawing of its machine, of the arrows that a transition is drawn as: one for each target. */
export function transitionIds(transition: AnyTransitionDefinition): readonly string[] {
  const known = ids.get(transition);
  if (known !== undefined) return known;
  nameTransitions(transition.source);
  return ids.get(transition) ?? [];
}

/** The dotted path of a state below its machine, as XState's targets have it: a dot in a name is `\.`. Empty for the root. */
export function statePath({ path }: Pick<AnyStateNode, 'path'>): string {
  return path.map((key) => key.replaceAll('.', String.raw`\.`)).join('.');
}

/** All transitions that begin in a state, those without an event last, as XState tries them. */
function transitionsOf(node: AnyStateNode): readonly AnyTransitionDefinition[] {
  return [...[...node.transitions.values()].flat(), ...(node.always ?? [])];
}

/** The transitions of a state that an event of this type could take. */
export function transitionsFor(node: AnyStateNode, type: string): readonly AnyTransitionDefinition[] {
  return [...node.transitions].filter(([descriptor]) => describes(descriptor, type)).flatMap(([, list]) => list);
}

function drawnEvents(machine: AnyStateMachine): { readonly [type: string]: JsonSchema } | null {
  const written = [...eventSchemas(machine)].flatMap(([type, { json }]) =>
    json === null ? [] : [[type, json] as const],
  );
  return written.length === 0 ? null : Object.fromEntries(written);
}

function nameTransitions(node: AnyStateNode): void {
  const counts = new Map<string, number>();
  for (const transition of transitionsOf(node)) {
    const index = counts.get(transition.eventType) ?? 0;
    counts.set(transition.eventType, index + 1);
    const id = `${statePath(node)}|${transition.eventType}|${index}`;
    const more = (transition.target ?? []).slice(1).map((_, extra) => `${id}|${extra + 1}`);
    ids.set(transition, [id, ...more]);
  }
}

function drawState(node: AnyStateNode): StateDrawing {
  const { type, key, history } = node;
  const first = type === 'compound' ? node.initial.target[0] : undefined;
  return {
    path: statePath(node),
    name: key,
    type,
    initial: first === undefined ? null : statePath(first),
    children: Object.values(node.states).map(drawState),
    transitions: [
      ...transitionsOf(node).flatMap((transition) => drawTransition(transition, node)),
      ...withoutPast(node),
    ],
    invokes: node.invoke.map(({ id, src }) => ({ id, src: sourceName(src, node.machine) })),
    ...defined({ tone: stateTone(node) }),
    ...(history === false ? {} : { history }),
  };
}

/** Where a history state leads that has nothing to remember yet. */
function withoutPast({ type, parent, config, machine, ...node }: AnyStateNode): readonly TransitionDrawing[] {
  if (type !== 'history' || parent === undefined) return [];
  const named: unknown = [Reflect.get(config, 'target') ?? []].flat()[0];
  const below = (at: AnyStateNode | undefined, key: string) => at?.states[key];
  const first =
    typeof named !== 'string'
      ? parent.initial.target[0]
      : named.startsWith('#')
        ? machine.getStateNodeById(named)
        : named.split('.').reduce<AnyStateNode | undefined>(below, parent);
  if (first === undefined || first === parent) return [];
  const path = statePath(node);
  const leads = { id: `${path}||0`, label: 'default', eventType: '', target: statePath(first), guard: null };
  return [{ ...leads, actions: [] }];
}

function drawTransition(transition: AnyTransitionDefinition, node: AnyStateNode): readonly TransitionDrawing[] {
  const { eventType, guard, actions } = transition;
  const targets = transition.target ?? [];
  return transitionIds(transition).map((id, index) => {
    const target = targets[index];
    return {
      id,
      label: eventLabel(eventType, node),
      eventType,
      target: target === undefined ? null : statePath(target),
      guard: guard === undefined ? null : guardName(guard),
      actions: actions.map(actionName).filter((name) => name !== null),
    };
  });
}

/** An event type as people read it: `tool.failed`, `after backoff`, `callLlm.done`, `always`. */
function eventLabel(eventType: string, node: AnyStateNode): string {
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

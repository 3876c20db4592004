import type { MachineDrawing, StateDrawing } from '../../frames/protocol.ts';

/**
 * The events from outside that a machine in these states has a transition for, each once: innermost states first. What a
 * wildcard takes is offered where the machine says which events there are.
 */
export function acceptedEvents(drawing: MachineDrawing, active: ReadonlySet<string>): readonly string[] {
  const { events: schemas = {} } = drawing;
  const known = Object.keys(schemas);
  const events = new Set<string>();
  for (const descriptor of descriptorsOf(drawing, active)) {
    const described = isWildcard(descriptor) ? known.filter((type) => describes(descriptor, type)) : [descriptor];
    for (const type of described) if (schemas[type] !== false) events.add(type);
  }
  return [...events];
}

/** The wildcards that a machine in these states has transitions for, each once. */
export function wildcards(drawing: MachineDrawing, active: ReadonlySet<string>): readonly string[] {
  return [...new Set(descriptorsOf(drawing, active).filter(isWildcard))];
}

/** What the transitions of the active states are for, innermost states first. */
function descriptorsOf({ root }: MachineDrawing, active: ReadonlySet<string>): readonly string[] {
  const visit = (state: StateDrawing): readonly string[] =>
    state.path !== '' && !active.has(state.path)
      ? []
      : [...state.children.flatMap(visit), ...state.transitions.map(({ eventType }) => eventType)];
  return visit(root).filter((type) => type !== '' && !type.startsWith('xstate.'));
}

function isWildcard(descriptor: string): boolean {
  return descriptor === '*' || descriptor.endsWith('.*');
}

/** `a.*` describes `a`, `a.b` and `a.b.c`, `*` everything. */
export function describes(descriptor: string, type: string): boolean {
  if (descriptor === type || descriptor === '*') return true;
  return descriptor.endsWith('.*') && `${type}.`.startsWith(descriptor.slice(0, -1));
}

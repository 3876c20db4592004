import type { MachineDrawing, StateDrawing, TransitionDrawing } from '../../frames/protocol.ts';

/** A transition in one line: the state that it leaves, on what, and where it leads. Its id, when it is not in the drawing. */
export function arrowText(drawing: MachineDrawing | null, id: string): string {
  const found = drawing === null ? null : find(drawing.root, id);
  if (found === null) return id;
  const { from, transition } = found;
  const on = transition.eventType === '' ? '' : ` on ${transition.label}`;
  return `${from === '' ? 'anywhere' : from}${on} → ${transition.target ?? 'stays'}`;
}

function find(
  state: StateDrawing,
  id: string,
): { readonly from: string; readonly transition: TransitionDrawing } | null {
  const transition = state.transitions.find((one) => one.id === id);
  if (transition !== undefined) return { from: state.path, transition };
  for (const child of state.children) {
    const found = find(child, id);
    if (found !== null) return found;
  }
  return null;
}

import type { MachineDrawing, StateDrawing } from '../../protocol.ts';

/** The events from outside that a machine in these states has a transition for, each once: innermost states first. */
export function acceptedEvents(drawing: MachineDrawing, active: ReadonlySet<string>): readonly string[] {
  const events: string[] = [];
  const visit = (state: StateDrawing): void => {
    if (state.path !== '' && !active.has(state.path)) return;
    for (const child of state.children) visit(child);
    for (const { eventType } of state.transitions)
      if (eventType !== '' && eventType !== '*' && !eventType.startsWith('xstate.') && !events.includes(eventType))
        events.push(eventType);
  };
  visit(drawing.root);
  return events;
}

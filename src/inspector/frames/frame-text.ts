import type { Frame, MachineDrawing, StepInfo } from './protocol.ts';

/**
 * A frame as JSON, the same as `JSON.stringify` gives. What occurs again and again is written once: how a machine is drawn,
 * and the lists of states and transitions between which its steps lead.
 */
export function frameText(frame: Frame): string {
  if (frame.t === 'step') return stepText(frame.session, frame.step);
  return frame.t === 'drawing' ? drawingText(frame.drawing) : JSON.stringify(frame);
}

function stepText(session: string, { n, at, actor, event, transitions, from, to, entry, sender }: StepInfo): string {
  const where = `"actor":${JSON.stringify(actor)},"event":${JSON.stringify(event)}`;
  const moved = `"transitions":${listText(transitions)},"from":${listText(from)},"to":${listText(to)}`;
  const told = sender === undefined ? '' : `,"sender":${JSON.stringify(sender)}`;
  const step = `{"n":${n},"at":${at},${where},${moved},"entry":${entry}${told}}`;
  return `{"t":"step","session":${JSON.stringify(session)},"step":${step}}`;
}

function drawingText(drawing: MachineDrawing): string {
  return written(drawing, () => JSON.stringify({ t: 'drawing', drawing }));
}

function listText(list: readonly string[]): string {
  return list.length === 0 ? '[]' : written(list, () => JSON.stringify(list));
}

const texts = new WeakMap<object, string>();

function written(value: object, write: () => string): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = write();
  texts.set(value, text);
  return text;
}

import type { TransitionDrawing } from '../frames/protocol.ts';

/** What an arrow says in a drawing: its guard in words, else its event. Its whole definition is one click away. */
export function transitionText({ guard, label, eventType }: TransitionDrawing): string {
  if (guard !== null && guard !== '') return words(guard);
  return eventType === '' ? 'otherwise' : words(label);
}

/** `modelFailed` as `model failed`; event types keep their dots. */
function words(name: string): string {
  return name.replaceAll(/([a-z])([A-Z])/g, (_, end: string, begin: string) => `${end} ${begin.toLowerCase()}`);
}

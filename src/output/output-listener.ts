import type { RunEvent } from '../machines/events/run-events.ts';
import { type OutputHandler, guardOutput } from './output-handler.ts';
import { type ShowOptions, advanceView, EMPTY_VIEW, showEvent, waitingFor } from './show-event.ts';

/** What a listener shows beyond the usual, and the name of the model. */
export interface OutputListenerOptions {
  /** Shown when a run begins. A function is asked then, since the name may be known only after a search. */
  readonly model?: string | (() => string | undefined);
  readonly showStats?: boolean;
  readonly debug?: boolean;
}

/**
 * Makes a listener for RunEvents that shows them on an output. Replayed events are not shown, and progress is always
 * stopped before anything else is. One listener follows one run at a time; it never throws, whatever the output does.
 *
 * @example const listen = outputListener(consoleOutput(), { model: 'ollama:qwen2.5:7b' });
 */
export function outputListener(handler: OutputHandler, options: OutputListenerOptions = {}): (event: RunEvent) => void {
  const output = guardOutput(handler);
  const show = showOptions(handler, options);
  let view = EMPTY_VIEW;
  let progress = false;
  return (received) => {
    // A caller that takes a run up may show that it waits; the first event that is new ends that.
    if (received.replayed) progress = true;
    const event = shown(received);
    if (event === null) return;
    const before = view;
    view = advanceView(view, event);
    const waiting = waitingFor(view);
    const quiet = event.type === 'model.token' && event.kind !== 'text';
    if (quiet && progress) return;
    if (progress) output.stopProgress();
    if (before.streaming && !view.streaming) output.streamEnd();
    showEvent(output, { event, before, after: view }, show);
    if (waiting !== null) output.startProgress(waiting);
    progress = waiting !== null;
  };
}

/** What is shown of child agents: what their calls do, named by the agent that does it. Their thoughts would only confuse. */
const OF_CHILDREN: ReadonlySet<RunEvent['type']> = new Set([
  'tool.started',
  'tool.progress',
  'tool.finished',
  'tool.denied',
  'approval.requested',
  'recovery.step',
  'escalation.raised',
  'warning',
]);

function shown(event: RunEvent): RunEvent | null {
  if (event.replayed) return null;
  if (event.child === undefined) return event;
  if (!OF_CHILDREN.has(event.type)) return null;
  const by = event.child.replaceAll('/', ' › ');
  return 'tool' in event ? { ...event, tool: `${by} › ${event.tool}` } : event;
}

function showOptions({ wants }: OutputHandler, { model, showStats, debug }: OutputListenerOptions): ShowOptions {
  return {
    model: () => (typeof model === 'function' ? model() : model) ?? '',
    stats: showStats === true || wants?.stats === true,
    debug: debug === true || wants?.debug === true,
  };
}

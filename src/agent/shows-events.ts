import type { RunEvent } from '../machines/run-events.ts';
import { consoleOutput } from '../output/console-output.ts';
import { guardOutput } from '../output/guard-output.ts';
import type { OutputHandler } from '../output/output-handler.ts';
import { outputListener } from '../output/output-listener.ts';
import type { AgentCore } from './agent-core.ts';

/** What gets the events of a run: the user's `onEvent`, and the output. */
export function showsEvents(core: AgentCore, _runId: string): (event: RunEvent) => void {
  const { onEvent, showStats = false, debug = false } = core.options();
  const output = outputOf(core);
  const listen = output === null ? null : outputListener(output, { model: () => core.model().id, showStats, debug });
  return (event) => {
    tell(onEvent, event);
    listen?.(event);
  };
}

/** A listener must not break the run that it listens to, nor the process, when it is asynchronous. */
function tell(listener: ((event: RunEvent) => unknown) | undefined, event: RunEvent): void {
  try {
    const told = listener?.(event);
    if (told !== undefined) Promise.resolve(told).catch(() => undefined);
  } catch {
    // It is the listener's to notice.
  }
}

/** The output of an agent: the given one, else the console in a terminal, else none. */
function outputOf(core: AgentCore): OutputHandler | null {
  const { output, silent } = core.options();
  if (output !== undefined) return output;
  if (silent === true || typeof process === 'undefined' || process.stderr?.isTTY !== true) return null;
  return consoleOutput();
}

/** Shows a prompt on an agent's output, where there is one. */
export function showPrompt(core: AgentCore, text: string): void {
  const output = outputOf(core);
  if (output !== null) guardOutput(output).prompt(text);
}

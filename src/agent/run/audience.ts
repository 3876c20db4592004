import type { RunEvent } from '../../machines/events/run-events.ts';
import { consoleOutput } from '../../output/console/console-output.ts';
import { guardOutput, type OutputHandler } from '../../output/output-handler.ts';
import { outputListener } from '../../output/output-listener.ts';
import type { AgentCore } from '../core/agent-core.ts';

/** The listeners of a run: the user's `onEvent`, and the output. */
export interface Audience {
  /** Undefined if there is no listener. */
  readonly onEvent: ((event: RunEvent) => void) | undefined;
  /** Undefined if prompts are not requested. */
  readonly onPrompt: ((prompt: string) => void) | undefined;
}

/** Makes the audience of one run, of the agent's options. */
export function audienceOf(core: AgentCore): Audience {
  const { onEvent, showStats = false, debug = false, showPrompts = false } = core.options;
  const output = outputOf(core);
  const listen = output === null ? null : outputListener(output, { model: () => core.model.id, showStats, debug });
  const shows = output !== null && (showPrompts || output.wants?.prompts === true);
  return {
    onEvent:
      onEvent === undefined && listen === null
        ? undefined
        : (event) => {
            tell(onEvent, event);
            listen?.(event);
          },
    onPrompt: shows ? (prompt) => guardOutput(output).prompt(prompt) : undefined,
  };
}

/** A listener must not break the run that it listens to, or the process if it is asynchronous. */
function tell(listener: ((event: RunEvent) => unknown) | undefined, event: RunEvent): void {
  try {
    const told = listener?.(event);
    if (told !== undefined) Promise.resolve(told).catch(() => undefined);
  } catch {
    // It is the listener's to notice.
  }
}

/**
 * The output of an agent: the given one, else the console in a terminal, else none. That console shows the way to the answer
 * and not the answer, which `run` gives to the program that asked: printed there, it would stand in the terminal twice.
 */
function outputOf(core: AgentCore): OutputHandler | null {
  const { output, silent } = core.options;
  if (output !== undefined) return output;
  if (silent === true || typeof process === 'undefined' || process.stderr?.isTTY !== true) return null;
  return consoleOutput({ answer: false });
}

import { consoleOutput, type ConsoleOutputOptions } from './console-output.ts';
import type { OutputHandler } from './output-handler.ts';
import { silentOutput } from './silent-output.ts';

/** What an agent shows itself on when nobody said: the console in a terminal, nothing elsewhere. */
export function defaultOutput(options: ConsoleOutputOptions = {}): OutputHandler {
  return globalThis.process?.stderr?.isTTY === true ? consoleOutput(options) : silentOutput();
}

/** Outputs: where a run shows itself. */
export { type ConsoleOutput, consoleOutput, type ConsoleOutputOptions } from './console-output.ts';
export { silentOutput } from './silent-output.ts';
export { defaultOutput } from './default-output.ts';
export { outputListener, type OutputListenerOptions } from './output-listener.ts';
export { showingPrompts } from './showing-prompts.ts';
export { guardOutput, type GuardedOutput } from './guard-output.ts';
export type { OutputHandler, OutputStats } from './output-handler.ts';
export type { OutputStream } from './console/terminal.ts';

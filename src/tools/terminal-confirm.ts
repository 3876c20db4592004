import { type TerminalDecision, askInTerminal } from './terminal-confirm-ask.ts';
import type { ConfirmQuestion } from './terminal-confirm-text.ts';
import { type TerminalInput, visibleOutput } from './terminal.ts';
import { inTurn } from './terminal-queue.ts';

/** Where to ask. */
export interface TerminalConfirmOptions {
  /** Default `process.stdin`. Without a terminal (`isTTY`) every question is answered with deny. */
  readonly input?: TerminalInput;
  /** Default `process.stderr`, so that what a program prints stays clean, or `process.stdout` where only that is a terminal. */
  readonly output?: NodeJS.WritableStream;
}

/** One call of the function that {@link terminalConfirm} makes. */
export interface TerminalConfirmRequest extends ConfirmQuestion {
  /** Withdraws the question. */
  readonly signal?: AbortSignal;
}

/**
 * Asks in the terminal whether a tool may run, for `confirm` of an agent or of a tool registry. The person sees tool,
 * arguments and reason and answers `y` (allow once), `a` (always allow) or `n` (deny). Everything else is a denial: another
 * answer, Ctrl-C, the end of the input, an aborted `signal`, and no terminal at all. Several questions are asked one after
 * the other, and keys pressed before a question stands on the screen do not answer it. Never rejects.
 *
 * @example createToolRegistry({ confirm: terminalConfirm() })
 */
export function terminalConfirm(options: TerminalConfirmOptions = {}) {
  return (request: TerminalConfirmRequest): Promise<TerminalDecision> => {
    const { input = process.stdin, output = visibleOutput() } = options;
    if (input.isTTY !== true || output === null || request.signal?.aborted === true) return Promise.resolve('deny');
    const terminal = { input, output, lastKey: '' };
    const { signal } = request;
    return inTurn<TerminalDecision>(terminal, { signal, otherwise: 'deny' }, (done) =>
      askInTerminal(terminal, request, signal, done),
    );
  };
}

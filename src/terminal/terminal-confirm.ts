import { optionsOf } from '../json/known-options.ts';
import { DENIED, type TerminalAnswer, type TerminalDecision, askInTerminal } from './terminal-confirm-ask.ts';
import type { ConfirmQuestion } from './terminal-confirm-text.ts';
import { type TerminalInput, type TerminalOutput, visibleOutput } from './terminal.ts';
import { inTurn } from './terminal-queue.ts';

/** Where to ask. */
export interface TerminalConfirmOptions {
  /** Default `process.stdin`. Without a terminal (`isTTY`) every question is answered with deny. */
  readonly input?: TerminalInput;
  /** Default `process.stderr`, so that what a program prints stays clean, or `process.stdout` where only that is a terminal. */
  readonly output?: TerminalOutput;
  /** Called when a Ctrl-C has denied a call: the place to cancel the run. Without it a Ctrl-C denies that one call. */
  readonly onInterrupt?: () => void;
}

const checkOptions = optionsOf<TerminalConfirmOptions>('terminalConfirm', 'docs/security.md', {
  input: true,
  output: true,
  onInterrupt: true,
});

/** One call of the function that {@link terminalConfirm} makes. */
export interface TerminalConfirmRequest extends ConfirmQuestion {
  /** Withdraws the question. */
  readonly signal?: AbortSignal;
}

/**
 * Asks in the terminal whether a tool may run, for `confirm` of an agent or of a tool registry. The person sees tool,
 * arguments and reason and answers `y` (allow once), `a` (always allow) or `n` (deny), or first `s` to see all of a call
 * that does not fit the screen. Everything else is a denial: another answer, Ctrl-C, the end of the input, an aborted
 * `signal`, and no terminal at all. Several questions are asked one after the other, and keys pressed before a question
 * stands on the screen do not answer it. Never rejects.
 *
 * @example createToolRegistry({ confirm: terminalConfirm() })
 */
export function terminalConfirm(options: TerminalConfirmOptions = {}) {
  checkOptions(options);
  return async (request: TerminalConfirmRequest): Promise<TerminalDecision> => {
    const { input = process.stdin, output = visibleOutput(), onInterrupt } = options;
    if (input.isTTY !== true || output === null || request.signal?.aborted === true) return 'deny';
    const terminal = { input, output, lastKey: '' };
    const { signal } = request;
    const { decision } = await inTurn<TerminalAnswer>(terminal, { signal, otherwise: DENIED }, (done) =>
      askInTerminal(terminal, request, signal, (answer) => {
        // First, so that whoever cancels withdraws the questions behind this one before they are put.
        try {
          if (answer.interrupted) onInterrupt?.();
        } finally {
          done(answer);
        }
      }),
    );
    return decision;
  };
}

import { type Terminal, type TerminalDecision, type TerminalInput, askInTerminal } from './terminal-confirm-ask.ts';
import type { ConfirmQuestion } from './terminal-confirm-text.ts';

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

interface Waiting {
  readonly terminal: Terminal;
  readonly request: TerminalConfirmRequest;
  readonly decide: (decision: TerminalDecision) => void;
}

/** One queue a terminal, whoever asks: two prompts at once could not be told apart. */
const queues = new WeakMap<TerminalInput, Waiting[]>();

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
    return enqueue({ input, output, lastKey: '' }, request);
  };
}

function enqueue(terminal: Terminal, request: TerminalConfirmRequest): Promise<TerminalDecision> {
  const queue = queues.get(terminal.input) ?? [];
  queues.set(terminal.input, queue);
  return new Promise((resolve) => {
    const decide = (decision: TerminalDecision) => {
      request.signal?.removeEventListener('abort', leave);
      resolve(decision);
    };
    const waiting: Waiting = { terminal, request, decide };
    const leave = () => {
      const place = queue.indexOf(waiting);
      if (place > 0) queue.splice(place, 1);
      if (place > 0) decide('deny');
    };
    request.signal?.addEventListener('abort', leave);
    queue.push(waiting);
    if (queue.length === 1) askFirst(queue);
  });
}

/** Goes on at once, within the same key: what follows that key was typed when the next question was already there. */
function askFirst(queue: Waiting[]): void {
  const [first] = queue;
  if (first === undefined) return;
  askInTerminal(first.terminal, first.request, first.request.signal, (decision) => {
    queue.shift();
    first.decide(decision);
    const [next] = queue;
    if (next !== undefined) next.terminal.lastKey = first.terminal.lastKey;
    askFirst(queue);
  });
}

/** A question that nobody sees must not be answered: `null` when neither output is a terminal. */
function visibleOutput(): NodeJS.WritableStream | null {
  return [process.stderr, process.stdout].find(({ isTTY }) => isTTY) ?? null;
}

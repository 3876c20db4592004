import { optionsOf } from '../json/known-options.ts';
import {
  type PromptTerminal,
  type ScreenSize,
  type TerminalInput,
  type TerminalOutput,
  inTurn,
  visibleOutput,
} from './prompt-terminal.ts';
import { type ConfirmQuestion, type ShownQuestion, questionText } from './terminal-confirm-text.ts';
import { type LinePrompt, type TypedEnd, takeLine } from './terminal-line.ts';

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
        // First, so that a caller that cancels withdraws the questions behind this one before they are put.
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

/** What a person answers. */
type TerminalDecision = 'allow-once' | 'always-allow' | 'deny';

/** How a question came out; `interrupted`: by a Ctrl-C, which denies. */
interface TerminalAnswer {
  readonly decision: TerminalDecision;
  readonly interrupted: boolean;
}

type Layout = (size: ScreenSize, how: { readonly whole: boolean }) => ShownQuestion;

/** The answer if no one responds. */
const DENIED: TerminalAnswer = { decision: 'deny', interrupted: false };
const MAX_ANSWER_CHARS = 20;
const ANSWERS: ReadonlyMap<string, TerminalDecision> = new Map([
  ['y', 'allow-once'],
  ['yes', 'allow-once'],
  ['a', 'always-allow'],
  ['always', 'always-allow'],
]);
const SHOW_ALL: ReadonlySet<string> = new Set(['s', 'show']);

/**
 * Asks one question and calls `done` once, also if the input ends, breaks or was over before, if the question cannot be
 * shown, and if `signal` aborts: these are denials. The terminal is left as it was found.
 */
function askInTerminal(
  terminal: PromptTerminal,
  question: ConfirmQuestion,
  signal: AbortSignal | undefined,
  done: (answer: TerminalAnswer) => void,
): void {
  const layout = layoutOf(question);
  if (layout === null) return done(DENIED);
  ask(terminal, layout, { whole: false, signal, done });
}

function ask(
  terminal: PromptTerminal,
  layout: Layout,
  how: {
    readonly whole: boolean;
    readonly signal: AbortSignal | undefined;
    readonly done: (answer: TerminalAnswer) => void;
  },
): void {
  let canShowMore = false;
  const wantsMore = (end: TypedEnd): boolean => canShowMore && end.kind === 'line' && SHOW_ALL.has(wordOf(end.text));
  const prompt: LinePrompt = {
    maxChars: MAX_ANSWER_CHARS,
    text: (size, { again }) => {
      // After a change of size one screenful stands there again, with the tool at its top.
      const shown = layout(size, { whole: how.whole && !again });
      canShowMore = shown.isCut;
      return shown.text;
    },
    note: (end) => (wantsMore(end) ? '' : `${noteOf(end)}\n`),
  };
  takeLine(terminal, prompt, how.signal, (end) => {
    if (wantsMore(end)) return ask(terminal, layout, { ...how, whole: true });
    how.done({ decision: decisionOf(end), interrupted: end.kind === 'interrupted' });
  });
}

function layoutOf(question: ConfirmQuestion): Layout | null {
  try {
    return questionText(question);
  } catch {
    return null;
  }
}

function decisionOf(end: TypedEnd): TerminalDecision {
  return end.kind === 'line' ? (ANSWERS.get(wordOf(end.text)) ?? 'deny') : 'deny';
}

function noteOf(end: TypedEnd): string {
  switch (end.kind) {
    case 'line':
      return NOTES[decisionOf(end)];
    case 'interrupted':
      return NOTES.deny;
    case 'over':
      return 'Denied: the input is over.';
    case 'withdrawn':
      return 'Withdrawn: the call is not wanted any more.';
  }
}

const NOTES: Readonly<Record<TerminalDecision, string>> = {
  'allow-once': 'Allowed once.',
  'always-allow': 'Always allowed.',
  deny: 'Denied.',
};

function wordOf(typed: string): string {
  return typed.trim().toLowerCase();
}

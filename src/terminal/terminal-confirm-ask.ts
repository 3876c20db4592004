import { type ConfirmQuestion, type ShownQuestion, questionText } from './terminal-confirm-text.ts';
import { type LinePrompt, type TypedEnd, takeLine } from './terminal-line.ts';
import type { ScreenSize, Terminal } from './terminal.ts';

/** What a person answers. */
export type TerminalDecision = 'allow-once' | 'always-allow' | 'deny';

/** How a question came out; `interrupted`: by a Ctrl-C, which denies. */
export interface TerminalAnswer {
  readonly decision: TerminalDecision;
  readonly interrupted: boolean;
}

type Layout = (size: ScreenSize, how: { readonly whole: boolean }) => ShownQuestion;

/** What it comes to when nobody answers. */
export const DENIED: TerminalAnswer = { decision: 'deny', interrupted: false };

const MAX_ANSWER_CHARS = 20;

const ANSWERS: ReadonlyMap<string, TerminalDecision> = new Map([
  ['y', 'allow-once'],
  ['yes', 'allow-once'],
  ['a', 'always-allow'],
  ['always', 'always-allow'],
]);
const SHOW_ALL: ReadonlySet<string> = new Set(['s', 'show']);

/**
 * Asks one question and calls `done` once, also when the input ends, breaks or was over before, when the question cannot be
 * shown, and when `signal` aborts: that is a denial then. The terminal is left as it was found.
 */
export function askInTerminal(
  terminal: Terminal,
  question: ConfirmQuestion,
  signal: AbortSignal | undefined,
  done: (answer: TerminalAnswer) => void,
): void {
  const layout = layoutOf(question);
  if (layout === null) return done(DENIED);
  ask(terminal, layout, { whole: false, signal, done });
}

function ask(
  terminal: Terminal,
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

import { type Key, emitKeypressEvents } from 'node:readline';
import { ReadStream } from 'node:tty';
import { type ConfirmQuestion, questionText } from './terminal-confirm-text.ts';

/** What a person answers. */
export type TerminalDecision = 'allow-once' | 'always-allow' | 'deny';

/** Where keys come from: `process.stdin`, or a stream that says that it is a terminal. */
export interface TerminalInput extends NodeJS.ReadableStream {
  readonly isTTY?: boolean;
  readonly isRaw?: boolean;
  readonly readableFlowing?: boolean | null;
  readonly readableEnded?: boolean;
  readonly destroyed?: boolean;
  setRawMode?(mode: boolean): unknown;
}

/** A terminal, and the last key that it gave. */
export interface Terminal {
  readonly input: TerminalInput;
  readonly output: NodeJS.WritableStream;
  /** Enter may be one sign or two; the second belongs to the answer before. */
  lastKey: string;
}

/** How long to throw keys away that were typed before the question, in milliseconds: one look into the terminal's buffer. */
const SETTLE_MS = 50;
const MAX_ANSWER_CHARS = 20;

const ANSWERS: ReadonlyMap<string, TerminalDecision> = new Map([
  ['y', 'allow-once'],
  ['yes', 'allow-once'],
  ['a', 'always-allow'],
  ['always', 'always-allow'],
]);

/**
 * Asks one question and calls `done` once, also when the input ends, breaks or was over before, when the question cannot be
 * shown, and when `signal` aborts: that is a denial then. The terminal is left as it was found.
 */
export function askInTerminal(
  terminal: Terminal,
  question: ConfirmQuestion,
  signal: AbortSignal | undefined,
  done: (decision: TerminalDecision) => void,
): void {
  const { input, output } = terminal;
  if (signal?.aborted === true || input.readableEnded === true || input.destroyed === true) return done('deny');
  const text = textOf(question);
  if (text === null) return done('deny');
  const release = hold(input);
  let answer = '';
  let isShown = false;
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;

  const finish = (decision: TerminalDecision, note: string) => {
    clearTimeout(timer);
    clearImmediate(immediate);
    input.off('keypress', onKey).off('end', onEnd).off('close', onEnd).off('error', onEnd);
    signal?.removeEventListener('abort', onAbort);
    release();
    if (isShown) output.write(`\n${note}\n`);
    output.off('error', onOutputError);
    done(decision);
  };
  const onEnd = () => finish('deny', 'Denied: the input is over.');
  const onAbort = () => finish('deny', 'Withdrawn: the call is not wanted any more.');
  const onOutputError = () => {
    isShown = false;
    onEnd();
  };
  const onKey = (sign: string | undefined, key: Key) => {
    const isSecondSign = sign === '\n' && terminal.lastKey === '\r';
    terminal.lastKey = sign ?? '';
    if (key.ctrl === true && (key.name === 'c' || key.name === 'd')) return finish('deny', 'Denied.');
    if (!isShown || isSecondSign) return;
    if (sign === '\r' || sign === '\n') {
      const decision = ANSWERS.get(answer.trim().toLowerCase()) ?? 'deny';
      return finish(decision, noteOf(decision));
    }
    if (key.name === 'backspace' && answer !== '') {
      answer = answer.slice(0, -1);
      output.write('\b \b');
    } else if (isLetter(sign) && answer.length < MAX_ANSWER_CHARS) {
      answer += sign;
      output.write(sign);
    }
  };
  const show = () => {
    isShown = true;
    output.write(text);
  };

  input.on('keypress', onKey).on('end', onEnd).on('close', onEnd).on('error', onEnd);
  output.on('error', onOutputError);
  signal?.addEventListener('abort', onAbort);
  // The immediate comes after one more look into the buffer, however late the timer is.
  if (input instanceof ReadStream) timer = setTimeout(() => (immediate = setImmediate(show)), SETTLE_MS);
  else show();
}

/** Takes keys one by one and unechoed, until the returned function puts everything back. */
function hold(input: TerminalInput): () => void {
  const wasRaw = input.isRaw === true;
  const wasFlowing = input.readableFlowing === true;
  emitKeypressEvents(input);
  input.setRawMode?.(true);
  input.resume();
  return () => {
    input.setRawMode?.(wasRaw);
    if (!wasFlowing) input.pause();
  };
}

function textOf(question: ConfirmQuestion): string | null {
  try {
    return questionText(question);
  } catch {
    return null;
  }
}

function noteOf(decision: TerminalDecision): string {
  switch (decision) {
    case 'allow-once':
      return 'Allowed once.';
    case 'always-allow':
      return 'Always allowed.';
    case 'deny':
      return 'Denied.';
  }
}

function isLetter(sign: string | undefined): sign is string {
  return sign !== undefined && /^\P{C}$/u.test(sign);
}

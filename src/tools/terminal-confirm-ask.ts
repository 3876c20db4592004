import type { Key } from 'node:readline';
import { type ConfirmQuestion, questionText } from './terminal-confirm-text.ts';
import { type Terminal, holdKeys, onceSettled } from './terminal.ts';

/** What a person answers. */
export type TerminalDecision = 'allow-once' | 'always-allow' | 'deny';

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
  const release = holdKeys(input);
  let answer = '';
  let isShown = false;
  let unsettle = (): void => undefined;

  const finish = (decision: TerminalDecision, note: string) => {
    unsettle();
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
  unsettle = onceSettled(input, show);
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

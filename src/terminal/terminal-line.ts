import { type ScreenSize, type PromptTerminal, holdKeys, screenSize, onceSettled } from './prompt-terminal.ts';
import type { Key } from 'node:readline';
import { holdWrites } from './held-writes.ts';
import { erasing } from './text-width.ts';

/**
 * The outcome of a prompt: a line that was typed, Ctrl-C, or the end of the input. `over` means Ctrl-D or an input or
 * output that is gone, `withdrawn` an aborted signal.
 */
export type TypedEnd =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'interrupted' | 'over' | 'withdrawn' };

/** A prompt: what it shows, and how its line is taken. */
export interface LinePrompt {
  /** Lays the prompt out, in rows that fit the screen. `again`: the screen was cleared, and nothing else stands there. */
  readonly text: (size: ScreenSize, how: { readonly again: boolean }) => string;
  readonly maxChars: number;
  /** What is typed is shown as stars. */
  readonly isHidden?: boolean;
  /** Called once, when keys and screen are free again; what it gives is written below what was typed. */
  readonly note: (end: TypedEnd) => string;
}

/** Smaller than this, a screen shows no prompt, and nothing can be answered. */
const SMALLEST: ScreenSize = { columns: 20, rows: 8 };
const TOO_SMALL = '\nToo small to ask. Enlarge the terminal, or Ctrl-D. ';
const CLEAR_SCREEN = '\u001b[2J\u001b[H';

/**
 * Shows a prompt, reads one line and calls `done` once. Only what is typed while the prompt stands there counts. What
 * others write to the screen meanwhile is held back; after a change of its size the screen is redrawn, since rows that a
 * terminal has rewrapped could look like the prompt. The terminal is left as it was found. Never throws.
 */
export function takeLine(
  terminal: PromptTerminal,
  prompt: LinePrompt,
  signal: AbortSignal | undefined,
  done: (end: TypedEnd) => void,
): void {
  const { input, output } = terminal;
  if (signal?.aborted === true) return done({ kind: 'withdrawn' });
  if (input.readableEnded === true || input.destroyed === true) return done({ kind: 'over' });
  const release = holdKeys(input);
  const shown = (sign: string): string => (prompt.isHidden === true ? '*' : sign);
  const line = (): string => typed.map(shown).join('');
  let typed: readonly string[] = [];
  let state: 'settling' | 'asking' | 'too-small' | 'broken' = 'settling';
  let letWrite = (): void => undefined;
  let unsettle = (): void => undefined;

  const finish = (end: TypedEnd): void => {
    unsettle();
    input.off('keypress', onKey).off('end', onEnd).off('close', onEnd).off('error', onEnd);
    signal?.removeEventListener('abort', onAbort);
    output.off('resize', onResize);
    release();
    if (state === 'asking' || state === 'too-small') output.write(`\n${prompt.note(end)}`);
    output.off('error', onOutputError);
    letWrite();
    done(end);
  };
  const onEnd = (): void => finish({ kind: 'over' });
  const onAbort = (): void => finish({ kind: 'withdrawn' });
  const onOutputError = (): void => {
    state = 'broken';
    onEnd();
  };
  const onKey = (sign: string | undefined, key: Key): void => {
    const isSecondSign = sign === '\n' && terminal.lastKey === '\r';
    terminal.lastKey = sign ?? '';
    if (key.ctrl === true && key.name === 'c') return finish({ kind: 'interrupted' });
    if (key.ctrl === true && key.name === 'd') return onEnd();
    if (state !== 'asking' || isSecondSign) return;
    if (sign === '\r' || sign === '\n') return finish({ kind: 'line', text: typed.join('') });
    if (key.name === 'backspace' && typed.length > 0) {
      const before = line();
      typed = typed.slice(0, -1);
      output.write(erasing(before, line()));
    } else if (isLetter(sign) && typed.length < prompt.maxChars) {
      typed = [...typed, sign];
      output.write(shown(sign));
    }
  };
  const draw = (again: boolean): void => {
    const size = screenSize(output);
    const fits = size.columns >= SMALLEST.columns && size.rows >= SMALLEST.rows;
    state = fits ? 'asking' : 'too-small';
    const text = fits ? prompt.text(size, { again }) + line() : TOO_SMALL;
    output.write(again ? CLEAR_SCREEN + text : text);
  };
  const onResize = (): void => {
    if (state !== 'settling') draw(true);
  };
  input.on('keypress', onKey).on('end', onEnd).on('close', onEnd).on('error', onEnd);
  output.on('error', onOutputError).on('resize', onResize);
  signal?.addEventListener('abort', onAbort);
  unsettle = onceSettled(input, () => {
    letWrite = holdWrites(output);
    draw(false);
  });
}

/** The same, awaited, for prompts that leave no note. Gives the line, or why there is none. */
export function readLine(
  terminal: PromptTerminal,
  { text, isHidden = false }: Pick<LinePrompt, 'text' | 'isHidden'>,
  signal: AbortSignal,
): Promise<TypedEnd> {
  const prompt = { text, isHidden, maxChars: MAX_CHARS, note: () => '' };
  return new Promise((resolve) => takeLine(terminal, prompt, signal, resolve));
}

const MAX_CHARS = 4000;

function isLetter(sign: string | undefined): sign is string {
  return sign !== undefined && /^\P{C}$/u.test(sign);
}

import type { Key } from 'node:readline';
import { type Terminal, holdKeys, onceSettled } from './terminal.ts';

/** A line that was typed; null when there is none: Ctrl-C, the end of the input, an aborted signal. */
export type TypedLine = string | null;

const MAX_CHARS = 4000;

/**
 * Shows a prompt, which must be inert, and reads one line. Only what is typed while the prompt stands there counts. The
 * terminal is left as it was found. Never rejects.
 */
export function readLine(terminal: Terminal, prompt: string, signal: AbortSignal): Promise<TypedLine> {
  const { input, output } = terminal;
  if (signal.aborted || input.readableEnded === true || input.destroyed === true) return Promise.resolve(null);
  return new Promise((resolve) => {
    const release = holdKeys(input);
    let typed: readonly string[] = [];
    let isShown = false;
    let unsettle = (): void => undefined;

    const finish = (line: TypedLine): void => {
      unsettle();
      input.off('keypress', onKey).off('end', leave).off('close', leave).off('error', leave);
      signal.removeEventListener('abort', leave);
      release();
      if (isShown) output.write('\n');
      output.off('error', onOutputError);
      resolve(line);
    };
    const leave = (): void => finish(null);
    const onOutputError = (): void => {
      isShown = false;
      leave();
    };
    const onKey = (sign: string | undefined, key: Key): void => {
      const isSecondSign = sign === '\n' && terminal.lastKey === '\r';
      terminal.lastKey = sign ?? '';
      if (key.ctrl === true && (key.name === 'c' || key.name === 'd')) return leave();
      if (!isShown || isSecondSign) return;
      if (sign === '\r' || sign === '\n') return finish(typed.join(''));
      if (key.name === 'backspace' && typed.length > 0) {
        typed = typed.slice(0, -1);
        output.write('\b \b');
      } else if (sign !== undefined && /^\P{C}$/u.test(sign) && typed.length < MAX_CHARS) {
        typed = [...typed, sign];
        output.write(sign);
      }
    };
    const show = (): void => {
      isShown = true;
      output.write(prompt);
    };
    input.on('keypress', onKey).on('end', leave).on('close', leave).on('error', leave);
    output.on('error', onOutputError);
    signal.addEventListener('abort', leave);
    unsettle = onceSettled(input, show);
  });
}

import { cutToWidth } from '../../terminal/text-width.ts';
import { oneLine } from './escaped.ts';
import type { Paint } from './paint.ts';
import type { Terminal } from './terminal.ts';

/** Whole lines, with a spinner below them while something is waited for. */
export type Screen = ReturnType<typeof openScreen>;

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;
const FRAME_MS = 80;
/** From here on the spinner shows the elapsed time. */
const LONG_MS = 3_000;
const ERASE_LINE = '\r\u001b[K';

/** Opens the screen of a terminal. If the last line cannot be redrawn there is no spinner. */
export function openScreen(terminal: Terminal, paint: Paint) {
  const spinner = openSpinner(terminal, paint);
  let column = 0;
  let empty = true;
  const write = (text: string): void => {
    spinner.erase();
    terminal.write(text);
  };
  const endLine = (): void => {
    if (column === 0) return;
    column = 0;
    write('\n');
  };
  return {
    line(text: string): void {
      endLine();
      empty = text === '';
      write(`${text}\n`);
    },
    /** An empty line, unless the last one was empty. */
    gap(): void {
      endLine();
      if (!empty) write('\n');
      empty = true;
    },
    /** Text without a line break; the next line begins below it. No spinner stays: it would erase what stands there. */
    raw(text: string): void {
      if (text === '') return;
      spinner.stop();
      terminal.write(text);
      empty = text.endsWith('\n\n');
      column = text.endsWith('\n') ? 0 : 1;
    },
    /** A function is called for each frame. */
    spin(text: string | (() => string)): void {
      endLine();
      spinner.start(text);
    },
    stopSpinning: (): void => spinner.stop(),
  };
}

function openSpinner(terminal: Terminal, paint: Paint) {
  let timer: ReturnType<typeof setInterval> | undefined;
  let visible = false;
  const erase = (): void => {
    if (visible) terminal.write(ERASE_LINE);
    visible = false;
  };
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
    erase();
  };
  return {
    erase,
    stop,
    start(text: string | (() => string)): void {
      stop();
      if (!terminal.live) return;
      const began = performance.now();
      let frame = 0;
      const draw = (): void => {
        if (terminal.isHeld()) return;
        const waited = performance.now() - began;
        const time = waited < LONG_MS ? '' : ` ${Math.floor(waited / 1000)} s`;
        // A server says how far its tool is.
        const said = oneLine(typeof text === 'string' ? text : text());
        const shown = cutToWidth(said, terminal.columns() - 12);
        terminal.write(
          `${ERASE_LINE}${paint('cyan', FRAMES[frame % FRAMES.length] ?? '')} ${paint('dim', `${shown}…${time}`)}`,
        );
        visible = true;
        frame += 1;
      };
      draw();
      timer = setInterval(draw, FRAME_MS);
      // A spinner must not keep a process alive. In a browser a timer is a number and does not.
      if (typeof timer === 'object') timer.unref();
    },
  };
}

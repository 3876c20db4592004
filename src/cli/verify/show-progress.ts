import { oneLine } from '../../output/console/escaped.ts';
import { openScreen } from '../../output/console/screen.ts';
import { painter } from '../../output/console/paint.ts';
import { openTerminal } from '../../output/console/terminal.ts';

/** Where no line can be redrawn, one is printed as often as this. */
const LINE_MS = 5_000;

/** Shows on standard error how far a long command is: a line that changes in a terminal, else one now and then. */
export function showProgress(begun: string): { tell(said: string): void; end(): void } {
  // Taken now: a simulation stops the clock of the process.
  const now = performance.now.bind(performance);
  const terminal = openTerminal(process.stderr);
  const screen = openScreen(terminal, painter(terminal.color));
  const began = now();
  let shown = begun;
  let printed = began;
  screen.spin(() => shown);
  return {
    tell: (said) => {
      shown = said;
      if (terminal.live || now() - printed < LINE_MS) return;
      printed = now();
      screen.line(`${oneLine(said)}, ${Math.round((printed - began) / 1000)} s`);
    },
    end: () => screen.stopSpinning(),
  };
}

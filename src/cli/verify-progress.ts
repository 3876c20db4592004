import { inert } from '../output/console/inert.ts';
import { painter } from '../output/console/paint.ts';
import { openScreen } from '../output/console/screen.ts';
import { openTerminal } from '../output/console/terminal.ts';
import type { ExploreProgress } from '../testing/explore/options.ts';

/** Where no line can be redrawn, one is printed as often as this. */
const LINE_MS = 5_000;

/** Says on standard error how far the exploration of an agent is: a line that changes in a terminal, else one now and then. */
export function showProgress(agent: string): { tell(soFar: ExploreProgress): void; end(): void } {
  const terminal = openTerminal(process.stderr, undefined, process.env);
  const screen = openScreen(terminal, painter(terminal.color));
  const began = performance.now();
  let said = `Exploring ${inert(agent)}`;
  let printed = began;
  screen.spin(() => said);
  return {
    tell: ({ configurations, paths }) => {
      said = `Exploring ${inert(agent)}: ${configurations} states, ${paths} paths`;
      const now = performance.now();
      if (terminal.live || now - printed < LINE_MS) return;
      printed = now;
      screen.line(`${said}, ${Math.round((now - began) / 1000)} s`);
    },
    end: () => screen.stopSpinning(),
  };
}

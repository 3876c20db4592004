import { type Paint, painter } from '../../output/console/paint.ts';
import type { Terminal } from '../../output/console/terminal.ts';
import type { ExploreProgress } from '../../testing/explore/explore-options.ts';
import { escaped } from '../../output/console/escaped.ts';
import { counted, wrapText } from '../../terminal/text-width.ts';
import type { BrokenLaw, VerifiedAgent } from './verify-agent.ts';

const NAME_WIDTH = 14;
const MARK_WIDTH = 8;

/** A verdict as people read it: what is configured, law by law what holds, what was walked, and what is broken. */
export function verdictText(verdict: VerifiedAgent, terminal: Terminal): string {
  const paint = painter(terminal.color);
  const columns = Math.min(terminal.columns(), 100);
  return [
    paint('bold', escaped(verdict.agent)) + paint('dim', `  at most ${counted(verdict.maxSteps, 'step')}`),
    ...verdict.tools.map((tool) => toolLine(tool, verdict.exhaustive, paint)),
    '',
    ...verdict.laws.flatMap((law) => lawLines(law, verdict.exhaustive, { columns, paint })),
    '',
    ...summaryLines(verdict, columns),
    ...verdict.violations.flatMap((violation) => violationLines(violation, { columns, paint })),
    '',
  ].join('\n');
}

interface Layout {
  readonly columns: number;
  readonly paint: Paint;
}

function toolLine({ name, policy, ran }: VerifiedAgent['tools'][number], exhaustive: boolean, paint: Paint): string {
  const never = exhaustive ? 'never runs' : 'did not run';
  return `  ${paint('cyan', escaped(name))}  ${policy}, ${ran ? 'can run' : never}`;
}

function lawLines(
  { name, says, held }: VerifiedAgent['laws'][number],
  exhaustive: boolean,
  layout: Layout,
): readonly string[] {
  const { columns, paint } = layout;
  const [mark, style] = held
    ? ([exhaustive ? 'proven' : 'held', exhaustive ? 'green' : 'yellow'] as const)
    : (['BROKEN', 'red'] as const);
  const indent = 2 + MARK_WIDTH + NAME_WIDTH;
  return wrapText(escaped(says), columns - indent).map((line, index) =>
    index === 0
      ? `  ${paint(style, mark.padEnd(MARK_WIDTH))}${name.padEnd(NAME_WIDTH)}${paint('dim', line)}`
      : `${' '.repeat(indent)}${paint('dim', line)}`,
  );
}

function summaryLines(verdict: VerifiedAgent, columns: number): readonly string[] {
  const { configurations, events, depth, seconds, endings, exhaustive, bounds } = verdict;
  const walked = `${counted(configurations, 'state')}, ${counted(events, 'event')}, the longest path to a state ${counted(depth, 'event')}; ${seconds} s.`;
  const ends = Object.entries(endings)
    .toSorted(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${reason} ${count}`)
    .join(', ');
  const whole = exhaustive
    ? ['Everything that can happen was explored, one of each kind of outcome.']
    : ['Not everything was explored:', ...bounds.map((bound) => `${escaped(bound)}.`)];
  return [walked, `Paths that ended: ${ends === '' ? 'none' : ends}.`, ...whole].flatMap((line) =>
    wrapText(line, columns - 2).map((part) => `  ${part}`),
  );
}

function violationLines({ law, message, state, path, file }: BrokenLaw, { columns, paint }: Layout): readonly string[] {
  const said = wrapText(`${law}: ${escaped(message)}`, columns - 2).map((line) => `  ${paint('red', line)}`);
  const way = path.map((step, index) => `    ${String(index + 1).padStart(2)}  ${escaped(step)}`);
  return [
    '',
    ...said,
    `  in ${state}, reached by this shortest path:`,
    ...way,
    ...(file === null ? [] : [`  The counterexample is a recording: ${file}`]),
  ];
}

/** How far the exploration of an agent is. */
export function exploredSoFar(agent: string, { configurations, paths }: ExploreProgress): string {
  return `Exploring ${escaped(agent)}: ${configurations} states, ${paths} paths`;
}

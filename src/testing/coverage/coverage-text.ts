import { type MachineCoverage, edgeText } from '../machine-coverage.ts';

/** The coverage as people read it: a table, then what nobody has taken. */
export function coverageText(machines: readonly MachineCoverage[]): string {
  const width = Math.max(...machines.map(({ machine }) => machine.length), 'Machine'.length) + 2;
  const rows = machines.map(
    ({ machine, states, edges }) => `  ${machine.padEnd(width)}${shareText(states)}   ${shareText(edges)}`,
  );
  const missed = machines.flatMap(missedLines);
  return [
    `  ${'Machine'.padEnd(width)}${'states'.padEnd(SHARE_WIDTH)}   arrows`,
    ...rows,
    ...(missed.length === 0 ? [] : ['', 'No test has taken:', ...missed]),
  ].join('\n');
}

const SHARE_WIDTH = 16;

function shareText({ covered, total }: { readonly covered: number; readonly total: number }): string {
  const percent = total === 0 ? 100 : Math.floor((100 * covered) / total);
  return `${covered} of ${total}, ${percent} %`.padEnd(SHARE_WIDTH);
}

function missedLines({ machine, states, edges }: MachineCoverage): readonly string[] {
  const lines = [
    ...states.missed.map((state) => `    ${state}`),
    ...edges.missed.map((edge) => `    ${edgeText(edge)}`),
  ];
  return lines.length === 0 ? [] : [`  ${machine}`, ...lines];
}

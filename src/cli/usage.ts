import type { Command, OptionSpec } from './command.ts';
import { COMMON_OPTIONS } from './read-arguments.ts';

/** The help of the program: what it is, and its commands. */
export function programUsage(commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }): Row => [name, summary]);
  return [
    'Usage: signalbox [command] [options]',
    '',
    'Runs an LLM agent as a state machine that you can watch, stop and replay.',
    '',
    'Commands:',
    ...columns(rows),
    '',
    `Without a command, '${commands[0]?.name ?? ''}' is run. 'signalbox <command> --help' shows what a command takes;`,
    `'signalbox --version' shows the version.`,
  ].join('\n');
}

/** The help of one command. */
export function commandUsage({ name, synopsis, about, options }: Command): string {
  return [
    synopsisLine(name, synopsis),
    '',
    about,
    '',
    'Options:',
    ...columns([...options, ...COMMON_OPTIONS].map(optionRow)),
  ].join('\n');
}

/** The first line of a command's help, shown beside an error too. */
export function synopsisLine(name: string, synopsis: string): string {
  return `Usage: signalbox ${name} ${synopsis}`;
}

type Row = readonly [left: string, right: string];

function optionRow({ name, short, value, help }: OptionSpec): Row {
  return [`${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`, help];
}

const WIDTH = 100;

function columns(rows: readonly Row[]): readonly string[] {
  const left = Math.max(...rows.map(([name]) => name.length)) + 4;
  return rows.flatMap(([name, text]) =>
    wrapWords(text, WIDTH - left).map((line, index) => `  ${(index === 0 ? name : '').padEnd(left - 2)}${line}`),
  );
}

function wrapWords(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let current = '';
  for (const word of text.split(' ')) {
    if (current !== '' && current.length + word.length >= width) {
      lines.push(current);
      current = '';
    }
    current += current === '' ? word : ` ${word}`;
  }
  return [...lines, current];
}

import {
  type Command,
  COMMON_OPTIONS,
  EXIT_CODE,
  type OptionSpec,
  readArguments,
  UsageError,
} from './command/command.ts';
import { didYouMean } from '../json/nearest-name.ts';
import { wrapText } from '../terminal/text-width.ts';
import { packageVersion } from '../inspector/version.ts';
import { setTimeout as wait } from 'node:timers/promises';

/** Runs the command line and ends the process with its exit code, once everything that was printed has gone out. */
export async function start(argv: readonly string[]): Promise<void> {
  // A reader that has gone, as in `signalbox run … | head -1`, is not a reason to fail noisily.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  await endProcess(await exitCodeOf(argv));
}

async function exitCodeOf(argv: readonly string[]): Promise<number> {
  try {
    return await dispatch(argv);
  } catch (error) {
    console.error(`signalbox: ${error instanceof Error ? error.message : String(error)}`);
    return EXIT_CODE.failed;
  }
}

async function dispatch(argv: readonly string[]): Promise<number> {
  const [first] = argv;
  if (first === '--help' || first === '-h' || first === 'help') return showHelp(argv[1]);
  if (first === '--version' || first === '-v') return print(packageVersion());
  const named = first !== undefined && !first.startsWith('-');
  const listed = named ? COMMANDS.find(({ name }) => name === first) : COMMANDS[0];
  if (listed === undefined) return unknownCommand(first ?? '');
  return runCommand(await listed.load(), named ? argv.slice(1) : argv);
}

async function runCommand(command: Command, argv: readonly string[]): Promise<number> {
  try {
    const args = readArguments(argv, command.options);
    return args.flags.has('help') ? print(commandUsage(command)) : await command.run(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`signalbox ${command.name}: ${error.message}`);
    console.error(synopsisLine(command.name, command.synopsis));
    console.error(`'signalbox ${command.name} --help' shows the options.`);
    return EXIT_CODE.usage;
  }
}

async function showHelp(name: string | undefined): Promise<number> {
  const listed = COMMANDS.find((command) => command.name === name);
  if (listed !== undefined) return print(commandUsage(await listed.load()));
  if (name !== undefined && !name.startsWith('-')) return unknownCommand(name);
  return print(programUsage(await Promise.all(COMMANDS.map(({ load }) => load()))));
}

async function unknownCommand(name: string): Promise<number> {
  const names = COMMANDS.map((command) => command.name);
  console.error(`signalbox: there is no command '${name}'.${didYouMean(name, names)}`);
  console.error('');
  console.error(programUsage(await Promise.all(COMMANDS.map(({ load }) => load()))));
  return EXIT_CODE.usage;
}

function print(text: string): number {
  console.log(text);
  return EXIT_CODE.answered;
}

/** A command that is loaded when it is used. */
interface Listed {
  readonly name: string;
  readonly load: () => Promise<Command>;
}

/** All commands, in the order in which the help lists them. The first is the one that runs when none is named. */
export const COMMANDS: readonly [Listed, ...Listed[]] = [
  { name: 'chat', load: async () => (await import('./chat/chat-command.ts')).chatCommand },
  { name: 'run', load: async () => (await import('./run-command.ts')).runCommand },
  { name: 'runs', load: async () => (await import('./runs/runs-command.ts')).runsCommand },
  { name: 'journal', load: async () => (await import('./journal-command.ts')).journalCommand },
  { name: 'replay', load: async () => (await import('./recording/recording-command.ts')).replayCommand },
  { name: 'fork', load: async () => (await import('./recording/recording-command.ts')).forkCommand },
  { name: 'recording', load: async () => (await import('./recording/recording-command.ts')).recordingCommand },
  { name: 'bisect', load: async () => (await import('./recording/bisect-command.ts')).bisectCommand },
  { name: 'parse', load: async () => (await import('./parse/parse-command.ts')).parseCommand },
  { name: 'verify', load: async () => (await import('./verify/verify-command.ts')).verifyCommand },
  { name: 'simulate', load: async () => (await import('./simulate/simulate-command.ts')).simulateCommand },
  { name: 'upgrade', load: async () => (await import('./upgrade/upgrade-command.ts')).upgradeCommand },
  { name: 'test', load: async () => (await import('./regression/test-command.ts')).testCommand },
  { name: 'permissions', load: async () => (await import('./permissions/permissions-command.ts')).permissionsCommand },
  { name: 'mcp', load: async () => (await import('./mcp/mcp-command.ts')).mcpCommand },
  { name: 'inspect', load: async () => (await import('./inspect-command.ts')).inspectCommand },
  { name: 'diagram', load: async () => (await import('./diagram-command.ts')).diagramCommand },
];

/** The help of the program: what it is, and its commands. */
function programUsage(commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }): Row => [name, summary]);
  return [
    'Usage: signalbox [command] [options]',
    '',
    'Runs an LLM agent as a state machine that you can watch, stop and replay.',
    '',
    'Commands:',
    ...columns(rows),
    '',
    `Without a command, '${commands[0]?.name ?? ''}' runs. 'signalbox <command> --help' explains a command;`,
    `'signalbox --version' shows the version.`,
  ].join('\n');
}

/** The help of one command. */
function commandUsage({ name, synopsis, about, options }: Command): string {
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
function synopsisLine(name: string, synopsis: string): string {
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
    wrapText(text, WIDTH - left).map((line, index) => `  ${(index === 0 ? name : '').padEnd(left - 2)}${line}`),
  );
}

/** A reader that takes nothing must not keep the process forever. */
const FLUSH_MS = 5_000;

/** Ends the process with an exit code, after what was written to its pipes has been taken. */
async function endProcess(code: number): Promise<void> {
  process.exitCode = code;
  const flushed = Promise.all([flush(process.stdout), flush(process.stderr)]);
  await Promise.race([flushed, wait(FLUSH_MS, undefined, { ref: false })]);
  process.exit(code);
}

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}

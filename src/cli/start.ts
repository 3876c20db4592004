import {
  type Command,
  COMMON_OPTIONS,
  EXIT_CODE,
  type OptionSpec,
  pending,
  readArguments,
  UsageError,
} from './command/command.ts';
import { didYouMean } from '../json/nearest-name.ts';
import { textTable, wrapHanging, wrapText } from '../terminal/text-width.ts';
import { packageVersion } from '../inspector/version.ts';
import { escaped } from '../output/console/escaped.ts';
import { openTerminal } from '../output/console/terminal.ts';
import { systemCode } from '../security/folders.ts';
import { setTimeout as wait } from 'node:timers/promises';

/** Runs the command line and ends the process with its exit code, once everything that was printed has gone out. */
export async function start(argv: readonly string[]): Promise<void> {
  const unwritten: Error[] = [];
  process.stdout.on('error', (error) => unwritten.push(error));
  process.stderr.on('error', () => undefined);
  // Nothing is left that could go on, and the command has not ended: Node would end it with exit code 0.
  const onIdle = (): void => {
    console.error(`signalbox: ${escaped(pending.says)}: it waits for a promise that never settles.`);
    void endProcess(EXIT_CODE.failed, unwritten);
  };
  process.once('beforeExit', onIdle);
  const code = await exitCodeOf(argv);
  process.off('beforeExit', onIdle);
  await endProcess(code, unwritten);
}

async function exitCodeOf(argv: readonly string[]): Promise<number> {
  try {
    return await dispatch(argv);
  } catch (error) {
    console.error(`signalbox: ${escaped(error instanceof Error ? error.message : String(error))}`);
    return EXIT_CODE.failed;
  }
}

async function dispatch(argv: readonly string[]): Promise<number> {
  const [first] = argv;
  if (first === '--help' || first === '-h' || first === 'help') return showHelp(argv[1]);
  if (first === '--version' || first === '-v') return print(packageVersion());
  const named = first !== undefined && !first.startsWith('-');
  const name = named ? first : USUAL;
  if (!isCommand(name)) return unknownCommand(name);
  return runCommand(name, await COMMANDS[name](), named ? argv.slice(1) : argv);
}

async function runCommand(name: string, command: Command, argv: readonly string[]): Promise<number> {
  try {
    const args = readArguments(argv, command.options);
    return args.flags.has('help') ? print(fitted(commandUsage(name, command))) : await command.run(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`signalbox ${name}: ${escaped(error.message)}`);
    console.error(fitted(synopsisLine(name, command.synopsis), process.stderr));
    console.error(`'signalbox ${name} --help' shows the options.`);
    return EXIT_CODE.usage;
  }
}

async function showHelp(name: string | undefined): Promise<number> {
  if (name !== undefined && isCommand(name)) return print(fitted(commandUsage(name, await COMMANDS[name]())));
  if (name !== undefined && !name.startsWith('-')) return unknownCommand(name);
  return print(fitted(programUsage()));
}

function unknownCommand(name: string): number {
  console.error(
    `signalbox: there is no command '${escaped(name)}'.${didYouMean(name, [...Object.keys(COMMANDS), 'help'])}`,
  );
  console.error('');
  console.error(fitted(programUsage(), process.stderr));
  return EXIT_CODE.usage;
}

function isCommand(name: string): name is keyof typeof COMMANDS {
  return Object.hasOwn(COMMANDS, name);
}

function print(text: string): number {
  console.log(text);
  return EXIT_CODE.answered;
}

/** What each command does, in the order of the help. */
const SUMMARIES = {
  chat: 'Ask an agent about the current folder, question after question.',
  run: 'Answer one question and exit.',
  runs: 'List, show, resume, recover, repair and remove stored runs.',
  journal: 'Create or update the tables of a Postgres database of runs.',
  replay: 'Replay a recording and show every transition.',
  fork: 'Continue a recorded run from one of its lines as a separate run.',
  recording: 'Show, compare, validate and normalize recordings.',
  bisect: 'Find the first record where two runs, or two versions of an agent, diverge.',
  parse: "Show how a model's reply is read, and every repair.",
  verify: 'Prove what an agent can and cannot do.',
  simulate: 'Run an agent a thousand times under faults.',
  upgrade: 'Check that runs which have not ended can continue with new code.',
  test: 'Make a failing test of a run that went wrong.',
  permissions: 'Show and revoke "always allow" decisions.',
  mcp: 'List, call and check MCP servers, and sign in.',
  inspect: 'Show recorded runs on a local page.',
  diagram: "Draw a machine: one of Signalbox's or your own.",
} as const;

/** All commands, loaded when they are used. */
export const COMMANDS: { readonly [Name in keyof typeof SUMMARIES]: () => Promise<Command> } = {
  chat: async () => (await import('./chat/chat-command.ts')).chatCommand,
  run: async () => (await import('./run-command.ts')).runCommand,
  runs: async () => (await import('./runs/runs-command.ts')).runsCommand,
  journal: async () => (await import('./runs/runs-command.ts')).journalCommand,
  replay: async () => (await import('./recording/recording-command.ts')).replayCommand,
  fork: async () => (await import('./recording/recording-command.ts')).forkCommand,
  recording: async () => (await import('./recording/recording-command.ts')).recordingCommand,
  bisect: async () => (await import('./recording/recording-command.ts')).bisectCommand,
  parse: async () => (await import('./parse/parse-command.ts')).parseCommand,
  verify: async () => (await import('./verify/verify-command.ts')).verifyCommand,
  simulate: async () => (await import('./simulate/simulate-command.ts')).simulateCommand,
  upgrade: async () => (await import('./upgrade/upgrade-command.ts')).upgradeCommand,
  test: async () => (await import('./regression/test-command.ts')).testCommand,
  permissions: async () => (await import('./permissions/permissions-command.ts')).permissionsCommand,
  mcp: async () => (await import('./mcp/mcp-command.ts')).mcpCommand,
  inspect: async () => (await import('./inspect-command.ts')).inspectCommand,
  diagram: async () => (await import('./diagram-command.ts')).diagramCommand,
};

/** The one that runs when none is named. */
const USUAL = 'chat';

/** The help of the program: what it is, and its commands. */
function programUsage(): string {
  return [
    'Usage: signalbox [command] [options]',
    '',
    'Runs an LLM agent as a state machine that you can watch, stop and replay.',
    '',
    'Commands:',
    ...columns(Object.entries(SUMMARIES)),
    '',
    `Without a command, '${USUAL}' runs. 'signalbox <command> --help' explains a command;`,
    `'signalbox --version' shows the version.`,
  ].join('\n');
}

/** The help of one command. */
function commandUsage(name: string, { synopsis, about, options }: Command): string {
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

function columns(rows: readonly Row[]): readonly string[] {
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows.map(([name, text]) => `  ${name.padEnd(width)}${text}`);
}

const WIDTH = 100;
/** A line that stands below others with a name at its beginning. */
const ROW = /^( {2}\S.*?) {2,}(\S.*)$/;

/** Help in lines that fit the terminal. The lines of a paragraph are joined first. */
function fitted(help: string, stream: NodeJS.WriteStream = process.stdout): string {
  const width = Math.min(WIDTH, openTerminal(stream).columns());
  const lines = help.replaceAll(/(?<=^\S.*)\n(?=\S)/gm, ' ').split('\n');
  return lines
    .flatMap((line) => {
      const [, name, text = ''] = ROW.exec(line) ?? [];
      if (name !== undefined) return textTable([[name.padEnd(line.length - text.length - 2), text]], width);
      return /^(?: |Usage: )/.test(line) ? wrapHanging(line, width) : wrapText(line, width);
    })
    .join('\n');
}

/** A reader that takes nothing must not keep the process forever. */
const FLUSH_MS = 5_000;

/** Ends the process with an exit code, after what was written to its pipes has been taken; with 1 where it could not be written. */
async function endProcess(code: number, unwritten: readonly Error[]): Promise<void> {
  process.exitCode = code;
  const flushed = Promise.all([flush(process.stdout), flush(process.stderr)]);
  // The error of a write is only told a turn later.
  await Promise.race([flushed.then(() => wait(0)), wait(FLUSH_MS, undefined, { ref: false })]);
  const [error] = unwritten;
  // A reader that has gone, as in `signalbox run … | head -1`, is not a reason to fail noisily.
  if (error === undefined || systemCode(error) === 'EPIPE') process.exit(code);
  console.error(`signalbox: standard output could not be written: ${error.message}`);
  process.exit(EXIT_CODE.failed);
}

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}

import { type Command, UsageError } from './command.ts';
import { EXIT_CODE } from './exit-code.ts';
import { didYouMean } from '../json/nearest-name.ts';
import { endProcess } from './process-end.ts';
import { readArguments } from './read-arguments.ts';
import { commandUsage, programUsage, synopsisLine } from './usage.ts';
import { packageVersion } from '../inspector/version.ts';

/** Runs the command line and ends the process with its exit code, once everything that was printed has gone out. */
export async function start(argv: readonly string[]): Promise<void> {
  // A reader that has gone, as in `signalbox run … | head -1`, is no reason to die noisily.
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
  if (first === '--help' || first === '-h' || first === 'help') return help(argv[1]);
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

async function help(name: string | undefined): Promise<number> {
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
  { name: 'run', load: async () => (await import('./run/run-command.ts')).runCommand },
  { name: 'runs', load: async () => (await import('./runs/runs-command.ts')).runsCommand },
  { name: 'replay', load: async () => (await import('./recording/replay-command.ts')).replayCommand },
  { name: 'fork', load: async () => (await import('./recording/fork-command.ts')).forkCommand },
  { name: 'recording', load: async () => (await import('./recording/recording-command.ts')).recordingCommand },
  { name: 'parse', load: async () => (await import('./parse/parse-command.ts')).parseCommand },
  { name: 'verify', load: async () => (await import('./verify/verify-command.ts')).verifyCommand },
  { name: 'permissions', load: async () => (await import('./permissions/permissions-command.ts')).permissionsCommand },
  { name: 'mcp', load: async () => (await import('./mcp/mcp-command.ts')).mcpCommand },
  { name: 'inspect', load: async () => (await import('./inspect-command.ts')).inspectCommand },
  { name: 'diagram', load: async () => (await import('./diagram-command.ts')).diagramCommand },
];

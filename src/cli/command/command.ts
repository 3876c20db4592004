import { didYouMean } from '../../json/nearest-name.ts';
import type { RunStatus } from '../../machines/contract/run-result.ts';
import { existsSync, accessSync, constants, rmSync, statSync, writeFileSync } from 'node:fs';
import { resolve, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { describeThrown } from '../../json/to-json.ts';
import { escaped, machineJson } from '../../output/console/escaped.ts';
import { makeFolder, moveOver } from '../../security/folders.ts';

/** An option that a command takes: a flag, or with `value` one that is followed by a value. */
export interface OptionSpec {
  /** Without dashes. */
  readonly name: string;
  /** Its one-letter short form. */
  readonly short?: string;
  /** What the value is, as the help shows it, such as `<n>`. */
  readonly value?: string;
  readonly help: string;
}

/** The arguments of a command line, sorted out. */
export interface Arguments {
  /** Values by the name of their option. */
  readonly values: ReadonlyMap<string, string>;
  readonly flags: ReadonlySet<string>;
  readonly positionals: readonly string[];
}

/** One command of `signalbox`. */
export interface Command {
  /** What follows the name, as the help shows it. */
  readonly synopsis: string;
  /** Notes for the user beyond the options. */
  readonly about: string;
  readonly options: readonly OptionSpec[];
  /** Does the work and returns the exit code. Throws a {@link UsageError} for invalid arguments. */
  run(args: Arguments): Promise<number>;
}

/** The user asked for something that cannot be done as asked: shown with a hint at the help, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The whole number from 1 on that an option has; undefined when it was not given. */
export function wholeNumber({ values }: Arguments, name: string): number | undefined {
  const text = values.get(name);
  if (text === undefined) return undefined;
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (Number.isSafeInteger(number) && number >= 1) return number;
  throw new UsageError(`--${name} must be a whole number from 1 on, and is '${text}'.`);
}

/** What has not been done if the command now waits for something that never comes. */
export const pending = { says: 'the command did not end' };

/** Waits for code of the user. An error, or its never coming, is told after `failure`. */
export async function ofUser<T>(failure: string, work: () => T | Promise<T>): Promise<T> {
  const before = pending.says;
  pending.says = failure;
  try {
    return await work();
  } catch (cause) {
    throw new Error(`${failure}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  } finally {
    pending.says = before;
  }
}

/** Runs a module of the user's. Throws a {@link UsageError} where there is no such file, or no such export. */
export async function loadModule(file: string, wanted?: string): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(file);
  if (!existsSync(path)) throw new UsageError(`there is no file '${file}'.`);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await ofUser(`'${file}' could not be loaded`, () => import(pathToFileURL(path).href));
  } catch (error) {
    // The stack of what it threw says where, and Node shows it.
    if (error instanceof Error) error.message += `\nThis shows where: node ${shellWord(file.replace(/^-/, './-'))}`;
    throw error;
  }
  if (wanted === undefined || wanted in module) return module;
  const names = Object.keys(module).join(', ');
  throw new UsageError(`'${file}' has no export '${wanted}'${names === '' ? '' : `, but ${names}`}.`);
}

/** Keeps standard output free until the returned function is called: what a user's code prints goes to standard error. */
export function keepOutputFree(): () => void {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return () => {
    stdout.write = write;
  };
}

/** Prints what a command with `--json` has found, and nothing else on standard output; null without it. */
export function jsonPrinter({ flags }: Pick<Arguments, 'flags'>): ((found: object) => void) | null {
  if (!flags.has('json')) return null;
  const free = keepOutputFree();
  return (found) => {
    free();
    console.log(machineJson(found));
  };
}

/** What the process ends with; scripts rely on these. */
export const EXIT_CODE = {
  answered: 0,
  failed: 1,
  usage: 2,
  stopped: 3,
  cancelled: 130,
  waiting: 3,
} as const satisfies Readonly<Record<RunStatus | 'usage', number>>;

/** One thing that a command with several can do. */
export interface Action {
  readonly name: string;
  /** What follows its name: `<file>` must be there, `[file]` may be, `<file…>` may be several. */
  readonly takes: readonly string[];
  readonly help: string;
  /** The options of the command that go with it. */
  readonly options?: readonly string[];
  run(args: Arguments): Promise<number>;
}

interface ActionCommand {
  /** What stands in the help before and after the list of actions. */
  readonly about: readonly [before: string, after: string];
  readonly options: readonly OptionSpec[];
  readonly actions: readonly Action[];
}

/** A command whose first argument names an action. Each action receives the remaining arguments. */
export function actionCommand({ about: [before, after], options, actions }: ActionCommand): Command {
  const names = actions.map((action) => action.name);
  const width = Math.max(...actions.map((action) => usageOf(action).length)) + 2;
  return {
    synopsis: `${actions.map(usageOf).join(' | ')} [options]`,
    about: [before, ...actions.map((action) => `  ${usageOf(action).padEnd(width)}${action.help}`), '', after].join(
      '\n',
    ),
    options,
    async run({ values, flags, positionals }) {
      const [first = '', ...rest] = positionals;
      const action = actions.find((one) => one.name === first);
      if (first === '') throw new UsageError(`say what to do: ${names.join(', ')}.`);
      if (action === undefined)
        throw new UsageError(`there is no '${first}', but ${names.join(', ')}.${didYouMean(first, names)}`);
      checkArguments(action, rest);
      checkOptions(action, [...values.keys(), ...flags]);
      return action.run({ values, flags, positionals: rest });
    },
  };
}

function usageOf({ name, takes }: Action): string {
  return [name, ...takes].join(' ');
}

function checkArguments({ name, takes }: Action, given: readonly string[]): void {
  const missing = takes.find((what, index) => what.startsWith('<') && (given[index] ?? '') === '');
  if (missing !== undefined) throw new UsageError(`'${name}' needs ${takes.join(' ')}.`);
  const extra = takes.at(-1)?.includes('…') === true ? undefined : given[takes.length];
  const quotes = takes.at(-1) === '[json]' ? ' Put the JSON into quotation marks, as one piece.' : '';
  if (extra !== undefined) throw new UsageError(`'${extra}' is one argument too many.${quotes}`);
}

function checkOptions({ name, options = [] }: Action, given: readonly string[]): void {
  const wrong = given.find((option) => !options.includes(option));
  if (wrong !== undefined) throw new UsageError(`--${wrong} does not go with '${name}'.`);
}

/** Every command takes these. */
export const COMMON_OPTIONS: readonly OptionSpec[] = [{ name: 'help', short: 'h', help: 'Show this help.' }];

/** Where runs are that are named by their ids. */
export const IN_OPTION: OptionSpec = {
  name: 'in',
  value: '<place>',
  help: 'Where to look up run ids: a folder of recordings, a SQLite file or a Postgres URL. Default: .signalbox/runs.',
};

/**
 * Sorts a command's arguments. Throws a {@link UsageError} for an unknown option, a missing value or an unexpected one.
 * If an option is given twice, the last one counts.
 */
export function readArguments(argv: readonly string[], own: readonly OptionSpec[]): Arguments {
  const specs = [...own, ...COMMON_OPTIONS];
  const values = new Map<string, string>();
  const flags = new Set<string>();
  const positionals: string[] = [];
  const options = Object.fromEntries(specs.map((spec) => [spec.name, typeOf(spec)]));
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const spec = specs.find(({ name }) => name === token.name);
    if (spec === undefined) throw unknownOption(token.rawName, specs);
    if (spec.value === undefined) {
      if (token.value !== undefined) throw new UsageError(`--${spec.name} takes no value.`);
      flags.add(spec.name);
    } else values.set(spec.name, valueOf(spec, token.value, token.inlineValue === true));
  }
  return { values, flags, positionals };
}

function typeOf({ value, short }: OptionSpec) {
  const type = value === undefined ? ('boolean' as const) : ('string' as const);
  return short === undefined ? { type } : { type, short };
}

function valueOf(spec: OptionSpec, value: string | undefined, inline: boolean): string {
  const example = `--${spec.name} ${spec.value ?? ''}`;
  if (value === undefined || value === '') throw new UsageError(`--${spec.name} needs a value: ${example}.`);
  // What looks like the next option is one, unless it is written with an equals sign.
  if (!inline && value.startsWith('-') && value !== '-') {
    throw new UsageError(
      `--${spec.name} needs a value, and '${value}' looks like an option. Write --${spec.name}=${value} if it is the value.`,
    );
  }
  return value;
}

function unknownOption(rawName: string, specs: readonly OptionSpec[]): UsageError {
  const names = specs.map(({ name }) => `--${name}`);
  return new UsageError(`There is no option '${rawName}'.${didYouMean(rawName, names)}`);
}

/** A word of a command line as a shell takes it. */
export function shellWord(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The folder that `--out` names. Throws a {@link UsageError} if nothing can be written there: before the work is done,
 * not after it. The folder that is used without the option is not looked at: mostly there is nothing to write.
 */
export function outFolder({ values }: Arguments, otherwise: string): string {
  const folder = values.get('out');
  if (folder === undefined) return otherwise;
  let there = resolve(folder);
  while (!existsSync(there)) there = dirname(there);
  if (!statSync(there).isDirectory()) throw new UsageError(`--out: '${escaped(there)}' is not a folder.`);
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
  } catch {
    throw new UsageError(`--out: nothing can be written to '${escaped(there)}'.`);
  }
  return folder;
}

/**
 * Writes what a command has found, and returns the path. Null where that fails, which is said on standard error: what was
 * found is still to be printed.
 */
export function writeFound(folder: string, name: string, text: string): string | null {
  const file = join(folder, name);
  const draft = `${file}.new`;
  try {
    makeFolder(folder);
    writeFileSync(draft, text, { mode: 0o600 });
    moveOver(draft, file);
    return file;
  } catch (error) {
    console.error(`signalbox: '${escaped(file)}' could not be written: ${escaped(describeThrown(error).message)}`);
    if (existsSync(draft)) rmSync(draft);
    return null;
  }
}

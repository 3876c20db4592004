import { parseArgs } from 'node:util';
import { type Arguments, type OptionSpec, UsageError } from './command.ts';
import { didYouMean } from '../../json/nearest-name.ts';

/** Every command takes these. */
export const COMMON_OPTIONS: readonly OptionSpec[] = [{ name: 'help', short: 'h', help: 'Show this help.' }];

/** Where runs are that are named by their ids. */
export const IN_OPTION: OptionSpec = {
  name: 'in',
  value: '<place>',
  help: 'Where to look up run ids: a folder of recordings or a SQLite file. Default: .signalbox/runs.',
};

/**
 * Sorts a command's arguments. Throws a {@link UsageError} for an unknown option, for a value that is missing and for one
 * that was not asked for. Of an option that is given twice the last one counts.
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

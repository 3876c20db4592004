import { type Arguments, type Command, type OptionSpec, UsageError } from './command.ts';
import { didYouMean } from '../json/nearest-name.ts';

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
  readonly name: string;
  readonly summary: string;
  /** What stands in the help before and after the list of actions. */
  readonly about: readonly [before: string, after: string];
  readonly options: readonly OptionSpec[];
  readonly actions: readonly Action[];
}

/** A command whose first argument says what to do. Each action gets the arguments that follow. */
export function actionCommand({ name, summary, about: [before, after], options, actions }: ActionCommand): Command {
  const names = actions.map((action) => action.name);
  const width = Math.max(...actions.map((action) => usageOf(action).length)) + 2;
  return {
    name,
    summary,
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
  if (extra !== undefined) throw new UsageError(`'${extra}' is one argument too many.`);
}

function checkOptions({ name, options = [] }: Action, given: readonly string[]): void {
  const wrong = given.find((option) => !options.includes(option));
  if (wrong !== undefined) throw new UsageError(`--${wrong} does not go with '${name}'.`);
}

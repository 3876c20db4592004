/** An option that a command takes: a flag, or with `value` one that is followed by a value. */
export interface OptionSpec {
  /** Without dashes. */
  readonly name: string;
  /** One letter that stands for it. */
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
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** What follows the name, as the help shows it. */
  readonly synopsis: string;
  /** What a user should know beyond the options. */
  readonly about: string;
  readonly options: readonly OptionSpec[];
  /** Does the work and gives the exit code. Throws a {@link UsageError} for arguments that are wrong. */
  run(args: Arguments): Promise<number>;
}

/** The user asked for something that cannot be done as asked: shown with a hint at the help, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

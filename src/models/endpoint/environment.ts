/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The process's environment, and an empty one where there is no process (browsers, edge). */
export function processEnvironment(): Environment {
  return typeof process === 'undefined' ? {} : process.env;
}

/** A variable's value; a blank one counts as not set. */
export function readVariable(env: Environment, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : env[name]?.trim();
  return value === '' ? undefined : value;
}

/** True where Node's own modules can be had: on Node and what is compatible with it. */
export function runsOnNode(): boolean {
  // Next's Edge Runtime has a `process.getBuiltinModule` too, which throws.
  const { versions } = typeof process === 'undefined' ? {} : process;
  return versions?.node !== undefined;
}

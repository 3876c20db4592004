import { didYouMean } from './nearest-name.ts';

/** `unknown-option`: there is no option with that name · `wrong-option`: an option, argument or definition is invalid. */
export type OptionErrorCode = 'unknown-option' | 'wrong-option';

/** What was given wrongly: a `TypeError` with a code. The message names what it was given to, and each wrong option. */
export class OptionError extends TypeError {
  readonly code: OptionErrorCode;

  constructor(code: OptionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The error for an option, an argument or a definition that is not what it must be. */
export function wrongOption(message: string, options?: ErrorOptions): OptionError {
  return new OptionError('wrong-option', message, options);
}

/** Something for each member of `T`, and for no other: the compiler refuses a table that lacks one or has one too many. */
export type NamesAs<T, Entry> = { readonly [Name in keyof T]-?: Entry };

/** `T` with all of its options given, none of them as undefined. */
export type AllGiven<T> = { readonly [Name in keyof T]-?: Exclude<T[Name], undefined> };

/**
 * Throws an {@link OptionError} unless what was given is an object of known options, or undefined. `what` names what it was
 * given to, where a fixed name does not say enough.
 */
type OptionsCheck = (given: unknown, what?: string) => void;

/** More names than these are not listed in an error: `docs` has them. */
const MOST_LISTED = 16;

/**
 * Makes the check of one factory's or method's options: an unknown name is rejected, with the nearest known one. Checks
 * names only, never values: any table with these names will do. Symbols pass, and so does what is undefined.
 *
 * @example
 * const checkOptions = optionsOf<MemoryJournalOptions>('memoryJournal', 'docs/recording.md', { maxRuns: true });
 * checkOptions({ maxRun: 5 }); // TypeError: memoryJournal: there is no option 'maxRun'. Did you mean 'maxRuns'? See …
 */
export function optionsOf<T extends object>(what: string, docs: string, known: NamesAs<T, unknown>): OptionsCheck {
  const names = Object.keys(known);
  return (given, called = what) => {
    if (given === undefined) return;
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw wrongOption(`${called}: the options must be an object, and are ${described(given)}.`);
    const unknown = givenIn(given).flatMap(([name]) => (Object.hasOwn(known, name) ? [] : [name]));
    if (unknown.length === 0) return;
    throw new OptionError('unknown-option', `${called}: ${unknownOptions(unknown, names)} See ${docs}.`);
  };
}

/** Throws an {@link OptionError} for one of these options that is given and is not a function. */
export function checkFunctions<T extends object>(what: string, options: T, names: readonly (keyof T & string)[]): void {
  for (const name of names) {
    const given: unknown = options[name];
    if (given === undefined || typeof given === 'function') continue;
    throw wrongOption(`${what}: option '${name}' must be a function, and is ${described(given)}.`);
  }
}

/** The word that was given. Throws an {@link OptionError} unless it is one of these; `what` names what takes them. */
export function oneOf<T extends string>(what: string, given: unknown, words: readonly T[]): T {
  const word = words.find((known) => known === given);
  if (word === undefined) throw wrongOption(`${what} is '${String(given)}', and must be one of: ${words.join(', ')}.`);
  return word;
}

/** Throws an {@link OptionError} unless a place, such as a path, is a text that is not empty. `must`: what it must be. */
export function checkPlace(must: string, place: unknown): void {
  if (typeof place === 'string' && place !== '') return;
  const is = place === '' ? 'empty' : place === undefined ? 'undefined' : described(place);
  throw wrongOption(`${must}, and is ${is}.`);
}

/** Says of each option that there is none of that name, as {@link hint} does; those that there are come once, at the end. */
export function unknownOptions(
  written: readonly string[],
  names: readonly string[],
  {
    path = [],
    meant = didYouMean,
  }: { readonly path?: readonly PropertyKey[]; readonly meant?: typeof didYouMean } = {},
): string {
  const hints = written.map((name) => meant(name, names));
  const problems = written.map((name, i) => `there is no option '${[...path, name].join('.')}'.${hints[i]}`);
  return problems.join(' ') + (hints.includes('') ? listed(names) : '');
}

/** What to say of a name that is not among those that are known: the nearest, else all of them where they are few. */
export function hint(written: string, names: readonly string[]): string {
  return didYouMean(written, names) || listed(names);
}

function listed(names: readonly string[]): string {
  if (names.length > MOST_LISTED) return '';
  return names.length === 0 ? ' It takes none.' : ` There are: ${names.join(', ')}.`;
}

/**
 * The members that options have, but for those that are undefined. Inherited ones count: options may be made of others by
 * `Object.create`. What every object inherits does not, nor do a class's methods.
 */
export function givenIn(options: object): readonly (readonly [name: string, value: unknown])[] {
  const given: [string, unknown][] = [];
  for (const name in options) {
    if (name in Object.prototype) continue;
    const value: unknown = Reflect.get(options, name);
    if (value !== undefined) given.push([name, value]);
  }
  return given;
}

/** How a definition is called in an error: by its name, where it has one. */
export function named(kind: string, definition: unknown): string | undefined {
  const name: unknown = Reflect.get(Object(definition), 'name');
  return typeof name === 'string' && name !== '' ? `${kind} '${name}'` : undefined;
}

/** What was given in the place of an object. */
export function described(given: unknown): string {
  if (given === null) return 'null';
  if (Array.isArray(given)) return 'a list';
  return typeof given === 'object' ? 'an object' : `a ${typeof given}`;
}

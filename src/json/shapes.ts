import {
  type Checked,
  OptionalShape,
  type Path,
  Shape,
  type ShapeIssue,
  type ShapeOf,
  type Test,
  invalid,
  refused,
  tested,
  unless,
  wrongType,
} from './shape.ts';

/** The shape of a text. */
export class TextShape extends Shape<string> {
  readonly #tests: readonly Test<string>[];

  constructor(tests: readonly Test<string>[] = []) {
    super((value) => (typeof value === 'string' ? tested(value, tests) : wrongType('string', value)));
    this.#tests = tests;
  }

  min(least: number, message = `Too small: expected string to have >=${least} characters`): TextShape {
    return this.#and((text) => unless(text.length >= least, message));
  }

  max(most: number): TextShape {
    return this.#and((text) => unless(text.length <= most, `Too big: expected string to have <=${most} characters`));
  }

  regex(pattern: RegExp, message: string): TextShape {
    return this.#and((text) => unless(pattern.test(text), message));
  }

  #and(test: Test<string>): TextShape {
    return new TextShape([...this.#tests, test]);
  }
}

/** The shape of a number. */
export class NumberShape extends Shape<number> {
  readonly #tests: readonly Test<number>[];

  constructor(tests: readonly Test<number>[] = []) {
    super((value) =>
      typeof value === 'number' && Number.isFinite(value) ? tested(value, tests) : wrongType('number', value),
    );
    this.#tests = tests;
  }

  min(least: number): NumberShape {
    return this.#and((value) => unless(value >= least, `Too small: expected number to be >=${least}`));
  }

  max(most: number): NumberShape {
    return this.#and((value) => unless(value <= most, `Too big: expected number to be <=${most}`));
  }

  positive(message = 'Too small: expected number to be >0'): NumberShape {
    return this.#and((value) => unless(value > 0, message));
  }

  #and(test: Test<number>): NumberShape {
    return new NumberShape([...this.#tests, test]);
  }
}

/** Of what has been looked through member by member, which the compiler does not follow. */
// oxlint-disable-next-line no-unnecessary-type-parameters -- it is the one place that says what the compiler cannot see
function is<T>(_value: unknown, holds: boolean): _value is T {
  return holds;
}

/** Shapes by the names of the members of an object. */
interface Members {
  readonly [name: string]: Shape<unknown>;
}

type Flat<T> = { [Name in keyof T]: T[Name] };

type ObjectOf<M extends Members> = Flat<
  { -readonly [Name in keyof M as undefined extends ShapeOf<M[Name]> ? never : Name]: ShapeOf<M[Name]> } & {
    -readonly [Name in keyof M as undefined extends ShapeOf<M[Name]> ? Name : never]?: ShapeOf<M[Name]>;
  }
>;

type Partly<M extends Members> = { readonly [Name in keyof M]: Shape<ShapeOf<M[Name]> | undefined> };

/** The shape of an object that has known members: no others, unless it is loose. */
export class ObjectShape<M extends Members> extends Shape<ObjectOf<M>> {
  readonly shape: M;
  readonly #isLoose: boolean;

  constructor(shape: M, isLoose = false) {
    super((value) => readObject<M>(shape, isLoose, value));
    this.shape = shape;
    this.#isLoose = isLoose;
  }

  /** The same with members that may all be left out. */
  partial(): ObjectShape<Partly<M>> {
    const members: unknown = Object.fromEntries(
      Object.entries(this.shape).map(([name, member]) => [name, member.optional()]),
    );
    if (is<Partly<M>>(members, true)) return new ObjectShape(members, this.#isLoose);
    throw new Error('unreachable');
  }
}

function readObject<M extends Members>(shape: M, isLoose: boolean, value: unknown): Checked<ObjectOf<M>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrongType('object', value);
  const data: Record<string, unknown> = {};
  const issues: ShapeIssue[] = [];
  for (const [name, member] of Object.entries(shape)) {
    const given: unknown = Reflect.get(value, name);
    const checked = member.safeParse(given);
    if (!checked.success) issues.push(...within(name, checked.error.issues));
    else if (checked.data !== undefined || name in value) data[name] = checked.data;
  }
  const others = keysIn(value).filter((name) => !Object.hasOwn(shape, name));
  if (isLoose) for (const name of others) data[name] = Reflect.get(value, name);
  else if (others.length > 0) issues.push(unknownKeys(others));
  return is<ObjectOf<M>>(data, issues.length === 0) ? { success: true, data } : refused(issues);
}

/** Inherited names too, as zod reads them. */
function keysIn(value: object): readonly string[] {
  const names: string[] = [];
  for (const name in value) names.push(name);
  return names;
}

function unknownKeys(keys: readonly string[]): ShapeIssue {
  const message = `Unrecognized key${keys.length > 1 ? 's' : ''}: ${keys.map((key) => `"${key}"`).join(', ')}`;
  return invalid(message, { kind: 'unrecognized_keys', keys, aborts: false });
}

const within = (key: PropertyKey, issues: readonly ShapeIssue[]): readonly ShapeIssue[] =>
  issues.map((issue) => ({ ...issue, path: [key, ...issue.path] }));

/** The names that a shape knows at a path: those of the object there. */
export function namesAt(shape: Shape<unknown> | undefined, path: Path): readonly string[] {
  const inner = shape instanceof OptionalShape ? shape.inner : shape;
  if (!(inner instanceof ObjectShape)) return [];
  const [first, ...rest] = path;
  return first === undefined ? Object.keys(inner.shape) : namesAt(inner.shape[String(first)], rest);
}

const string = (): TextShape => new TextShape();

const number = (): NumberShape => new NumberShape();

const int = (): NumberShape =>
  new NumberShape([
    (value) => (Number.isInteger(value) ? null : invalid('Invalid input: expected int, received number')),
    (value) => unless(value <= Number.MAX_SAFE_INTEGER, `Too big: expected int to be <=${Number.MAX_SAFE_INTEGER}`),
    (value) => unless(value >= Number.MIN_SAFE_INTEGER, `Too small: expected int to be >=${Number.MIN_SAFE_INTEGER}`),
  ]);

const boolean = (): Shape<boolean> =>
  new Shape((value) => (typeof value === 'boolean' ? { success: true, data: value } : wrongType('boolean', value)));

const unknown = (): Shape<unknown> => new Shape((value) => ({ success: true, data: value }));

/** A text that is one of these. */
const oneOf = <const T extends string>(values: readonly T[]): Shape<T> => {
  const expected = values.map((value) => JSON.stringify(value)).join('|');
  const message =
    values.length === 1 ? `Invalid input: expected ${expected}` : `Invalid option: expected one of ${expected}`;
  return new Shape((value) => {
    const data = values.find((one) => one === value);
    return data === undefined ? refused([invalid(message)]) : { success: true, data };
  });
};

/** What `holds` says it is. */
const custom = <T>(holds: (value: unknown) => boolean, message = 'Invalid input'): Shape<T> =>
  new Shape((value) => (is<T>(value, holds(value)) ? { success: true, data: value } : refused([invalid(message)])));

/** The address of a protocol. */
const url = ({ protocol, error }: { readonly protocol: RegExp; readonly error: string }): Shape<string> =>
  new Shape((value) => {
    if (typeof value !== 'string') return refused([invalid(error)]);
    const data = value.trim().replace(/[\t\n\r]/g, '');
    const holds = URL.canParse(data) && protocol.test(new URL(data).protocol.slice(0, -1));
    return holds ? { success: true, data } : refused([invalid(error, { aborts: false })]);
  });

const array = <T>(item: Shape<T>): Shape<T[]> =>
  new Shape((value) => {
    if (!Array.isArray(value)) return wrongType('array', value);
    const [data, issues]: [T[], ShapeIssue[]] = [[], []];
    for (const [index, one] of value.entries()) {
      const checked = item.safeParse(one);
      if (checked.success) data.push(checked.data);
      else issues.push(...within(index, checked.error.issues));
    }
    return issues.length === 0 ? { success: true, data } : refused(issues);
  });

/** A plain object of any names. */
const record = <T>(member: Shape<T>): Shape<Record<string, T>> =>
  new Shape((value) => {
    if (!isPlain(value)) return wrongType('record', value);
    const [data, issues]: [Record<string, T>, ShapeIssue[]] = [{}, []];
    for (const [name, one] of Object.entries(value)) {
      if (name === '__proto__') continue;
      const checked = member.safeParse(one);
      if (checked.success) data[name] = checked.data;
      else issues.push(...within(name, checked.error.issues));
    }
    return issues.length === 0 ? { success: true, data } : refused(issues);
  });

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.hasOwn(Object(prototype), 'isPrototypeOf');
}

/** The first of these that it is. The error comes from the only one whose type it has, else it is `message`. */
const union = <const S extends readonly Shape<unknown>[]>(
  shapes: S,
  message = 'Invalid input',
): Shape<ShapeOf<S[number]>> => {
  return new Shape((value) => {
    const failed: (readonly ShapeIssue[])[] = [];
    for (const option of shapes) {
      const checked = option.safeParse(value);
      if (!checked.success) {
        failed.push(checked.error.issues);
        continue;
      }
      const { data } = checked;
      if (is<ShapeOf<S[number]>>(data, true)) return { success: true, data };
    }
    const [nearest, ...others] = failed.filter((issues) => !issues.some(({ aborts }) => aborts));
    return refused(nearest !== undefined && others.length === 0 ? nearest : [invalid(message)]);
  });
};

/** It, or null. */
const nullable = <T>(inner: Shape<T>): Shape<T | null> =>
  new Shape<T | null>((value) => (value === null ? { success: true, data: null } : inner.safeParse(value)));

const strictObject = <M extends Members>(members: M): ObjectShape<M> => new ObjectShape(members);

const looseObject = <M extends Members>(members: M): ObjectShape<M> => new ObjectShape(members, true);

/** Makes shapes, by the names that zod has for them. */
export const z = {
  array,
  boolean,
  custom,
  enum: oneOf,
  int,
  literal: <const T extends string>(value: T): Shape<T> => oneOf([value]),
  looseObject,
  nullable,
  number,
  record,
  strictObject,
  string,
  union,
  unknown,
  url,
};

/**
 * Shapes of values from outside, for the checks that every program with an agent loads: what zod costs to load is more than
 * all they do. Names, behaviour and messages are those of zod 4, as far as they go.
 */

/** The names and indexes that lead to a part of a value. */
export type Path = readonly PropertyKey[];

/** What is wrong with a value. One that `aborts` is not a value of that type at all. */
export interface ShapeIssue {
  readonly kind: 'unrecognized_keys' | 'invalid';
  readonly path: Path;
  readonly message: string;
  /** Of `unrecognized_keys`: which. */
  readonly keys: readonly string[];
  readonly aborts: boolean;
}

/** What came of a check. */
export type Checked<T> = { readonly success: true; readonly data: T } | Refused;

interface Refused {
  readonly success: false;
  readonly error: { readonly issues: readonly ShapeIssue[] };
}

/** The type of the values of a shape. */
export type ShapeOf<S> = S extends Shape<infer T> ? T : never;

/** What values must look like. */
export class Shape<T> {
  readonly #read: (value: unknown) => Checked<T>;

  constructor(read: (value: unknown) => Checked<T>) {
    this.#read = read;
  }

  safeParse(value: unknown): Checked<T> {
    return this.#read(value);
  }

  /** The value. Throws a `TypeError` where it has another shape. */
  parse(value: unknown): T {
    const checked = this.#read(value);
    if (checked.success) return checked.data;
    throw new TypeError(
      checked.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': ')).join('; '),
    );
  }

  optional(): Shape<T | undefined> {
    return new OptionalShape(this);
  }

  /** Another value made of it. `make` may throw a {@link Refusal}. */
  transform<U>(make: (value: T) => U): Shape<U> {
    return new Shape((value) => {
      const checked = this.#read(value);
      if (!checked.success) return checked;
      try {
        return { success: true, data: make(checked.data) };
      } catch (error) {
        if (error instanceof Refusal) return refused([invalid(error.message, { path: error.path, aborts: false })]);
        throw error;
      }
    });
  }
}

/** Why a value with the right shape is still rejected. */
export class Refusal extends Error {
  readonly path: Path;

  constructor(message: string, path: Path = []) {
    super(message);
    this.path = path;
  }
}

/** A shape that may be left out. */
export class OptionalShape<T> extends Shape<T | undefined> {
  readonly inner: Shape<T>;

  constructor(inner: Shape<T>) {
    super((value) => (value === undefined ? { success: true, data: undefined } : inner.safeParse(value)));
    this.inner = inner;
  }
}

/** A value of another shape. */
export function refused(issues: readonly ShapeIssue[]): Refused {
  return { success: false, error: { issues } };
}

/** One thing that is wrong with a value; with its type, unless it says otherwise. */
export function invalid(message: string, more: Partial<ShapeIssue> = {}): ShapeIssue {
  return { kind: 'invalid', path: [], message, keys: [], aborts: true, ...more };
}

/** Reports the expected type and the actual one. */
export const wrongType = (expected: string, value: unknown): Refused =>
  refused([invalid(`Invalid input: expected ${expected}, received ${typeNameOf(value)}`)]);

function typeNameOf(value: unknown): string {
  if (typeof value === 'number') return Number.isFinite(value) ? 'number' : String(value);
  if (typeof value !== 'object') return typeof value;
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const { constructor }: { readonly constructor?: unknown } = value;
  const isPlain = Object.getPrototypeOf(value) === Object.prototype || typeof constructor !== 'function';
  return isPlain ? 'object' : constructor.name;
}

/** Checks of a value that has its type already. All failures are reported, up to one that aborts. */
export type Test<T> = (value: T) => ShapeIssue | null;

/** A value with its tests. */
export const tested = <T>(value: T, tests: readonly Test<T>[]): Checked<T> => {
  const issues: ShapeIssue[] = [];
  for (const test of tests) {
    const issue = test(value);
    if (issue !== null) issues.push(issue);
    if (issue?.aborts === true) break;
  }
  return issues.length === 0 ? { success: true, data: value } : refused(issues);
};

/** What a test says where something does not hold. */
export const unless = (holds: boolean, message: string): ShapeIssue | null =>
  holds ? null : invalid(message, { aborts: false });

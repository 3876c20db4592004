import { lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { validatePath } from '../../src/tools/security.ts';

const NAMES = ['a', 'b', 'data', 'data2', 'A', '.x', 'b.', 'e\u0301'];
const part = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...NAMES) }, { weight: 2, arbitrary: fc.constantFrom('..', '.', '') });
const relative = fc.array(part, { minLength: 1, maxLength: 7 }).map((parts) => parts.join('/'));

/** What stands in the world: folders, files, and links to anywhere, themselves and nothing included. */
const entry = fc.record({
  at: fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
  is: fc.oneof(
    fc.constant({ kind: 'folder' } as const),
    fc.constant({ kind: 'file' } as const),
    fc.record({ kind: fc.constant('link' as const), target: relative, absolute: fc.boolean() }),
  ),
});
type Entry = typeof entry extends fc.Arbitrary<infer Value> ? Value : never;

/** So deep below the folder that is cleared away that no `..` of a failing check leaves it. */
const DEPTH = '1/2/3/4/5/6/7/8/9/10/11/12';

/** Builds the world in a new folder, hands it over, and clears it away. The base is `world/data`. */
function inWorld<Result>(entries: readonly Entry[], use: (world: string, base: string) => Result): Result {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-law-')));
  const world = join(folder, DEPTH);
  try {
    mkdirSync(join(world, 'data'), { recursive: true });
    for (const one of entries) attempt(() => make(world, one));
    return use(world, join(world, 'data'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function make(world: string, { at, is }: Entry): void {
  const path = join(world, at);
  if (is.kind === 'folder') mkdirSync(path, { recursive: true });
  if (is.kind === 'file') writeFileSync(path, '', { flag: 'wx' });
  if (is.kind === 'link') symlinkSync(is.absolute ? join(world, is.target) : is.target || '.', path);
}

function attempt<Result>(act: () => Result): Result | null {
  try {
    return act();
  } catch {
    return null;
  }
}

const isWithin = (base: string, path: string) => path === base || path.startsWith(base + sep);

/** Where something written to this path really ends up; `null` when nothing can be written there. */
function landing(path: string): string | null {
  if (attempt(() => lstatSync(path).isDirectory()) === true) return realpathSync(path);
  return attempt(() => {
    writeFileSync(path, 'marker', { flag: 'a' });
    return realpathSync(path);
  });
}

const worlds = fc.array(entry, { maxLength: 10 });

test('whatever is written to an allowed path ends up inside, however the path is opened', () => {
  fc.assert(
    fc.property(worlds, relative, fc.boolean(), (entries, requested, absolute) =>
      inWorld(entries, (world, base) => {
        const path = absolute ? `${world}/${requested}` : requested;
        if (!validatePath(base, path)) return;
        const asWritten = absolute ? path : `${base}/${path}`;
        for (const spelling of [asWritten, resolve(base, path)]) {
          const landed = landing(spelling);
          if (landed !== null && !isWithin(base, landed)) expect.fail(`${path} landed at ${landed}`);
        }
      }),
    ),
    { numRuns: 400 },
  );
});

test('a path that exists and is inside both as written and shortened is never refused', () => {
  fc.assert(
    fc.property(worlds, relative, (entries, requested) =>
      inWorld(entries, (_, base) => {
        const spellings = [`${base}/${requested}`, resolve(base, requested)];
        const real = spellings.map((path) => attempt(() => realpathSync(path)));
        if (requested === '' || requested.startsWith('/')) return;
        if (real.every((path) => path !== null && isWithin(base, path))) expect(validatePath(base, requested)).toBe(true);
      }),
    ),
    { numRuns: 300 },
  );
});

test('without links, inside is what the shortened path says', () => {
  const plain = worlds.map((entries) => entries.filter(({ is }) => is.kind === 'folder'));
  fc.assert(
    fc.property(plain, relative, (entries, requested) =>
      inWorld(entries, (_, base) => {
        const expected = requested !== '' && isWithin(base, resolve(base, requested));
        expect(validatePath(base, requested)).toBe(expected);
      }),
    ),
    { numRuns: 200 },
  );
});

test('any two values give a boolean, quickly', () => {
  const anything = fc.oneof(fc.anything(), fc.string({ unit: 'binary' }), relative);
  fc.assert(fc.property(anything, anything, (base, requested) => typeof validatePath(base, requested) === 'boolean'), { numRuns: 500 });
});

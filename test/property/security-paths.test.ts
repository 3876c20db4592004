import { lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { validatePath } from '../../src/security/index.ts';
import { cases, seedOr } from '../support/soak.ts';

/** Few names, so that paths and folders meet often. */
const name = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('a', 'b', 'data', 'data2') },
  { weight: 1, arbitrary: fc.constantFrom('A', '.x', 'b.', 'e\u0301') },
);
const part = fc.oneof(
  { weight: 4, arbitrary: name },
  { weight: 3, arbitrary: fc.constant('..') },
  { weight: 1, arbitrary: fc.constantFrom('.', '') },
);
const relative = fc
  .array(part, { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join('/'))
  .filter((path) => path !== '' && !path.startsWith('/'));

/** A few steps up, then a name: where a link that leads out of the base would lead. */
const upwards = fc.tuple(fc.nat(3), name).map(([steps, last]) => `${'../'.repeat(steps)}${last}`);

/** What stands in the world: folders, files, and links to anywhere, themselves and nothing included. */
const entry = fc.record({
  at: fc
    .tuple(fc.oneof(fc.constant('data'), name), fc.array(name, { maxLength: 2 }))
    .map(([first, rest]) => [first, ...rest].join('/')),
  is: fc.oneof(
    fc.constant({ kind: 'folder' } as const),
    fc.constant({ kind: 'file' } as const),
    fc.record({ kind: fc.constant('link' as const), target: fc.oneof(relative, upwards), absolute: fc.boolean() }),
  ),
});
type Entry = typeof entry extends fc.Arbitrary<infer Value> ? Value : never;

/** So deep below the folder that is cleared away that no `..` of a failing check leaves it. */
const DEPTH = '1/2/3/4/5/6/7/8';

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
  if (is.kind === 'link') symlinkSync(is.absolute ? join(world, is.target) : is.target, path);
}

function attempt<Result>(act: () => Result): Result | null {
  try {
    return act();
  } catch {
    return null;
  }
}

const isWithin = (base: string, path: string) => path === base || path.startsWith(base + sep);

/**
 * Where something written to this path really ends up; `null` when nothing can be written there. Only the native `realpath`
 * reads a path as the system does; the other one shortens it first.
 */
function landing(path: string): string | null {
  if (attempt(() => lstatSync(path).isDirectory()) === true) return realpathSync.native(path);
  return attempt(() => {
    writeFileSync(path, 'marker', { flag: 'a' });
    return realpathSync.native(path);
  });
}

const worlds = fc.array(entry, { minLength: 4, maxLength: 24 });
const paths = fc.array(fc.oneof(relative, name), { minLength: 8, maxLength: 40 });

test('whatever is written to an allowed path ends up inside, however the path is opened', () => {
  fc.assert(
    fc.property(worlds, paths, fc.boolean(), (entries, requests, absolute) =>
      inWorld(entries, (world, base) => {
        for (const request of requests) {
          const path = absolute ? `${world}/${request}` : request;
          const spellings = [absolute ? path : `${base}/${path}`, resolve(base, path)];
          const landed = validatePath(base, path) ? spellings.map(landing) : [];
          expect(landed.filter((place) => place !== null && !isWithin(base, place))).toEqual([]);
        }
      }),
    ),
    { numRuns: cases(60, 2000), seed: seedOr(1) },
  );
});

test('a path that exists and is inside both as written and shortened is never refused', () => {
  fc.assert(
    fc.property(worlds, paths, (entries, requests) =>
      inWorld(entries, (_, base) => {
        const isThere = (path: string) => isWithin(base, attempt(() => realpathSync.native(path)) ?? '');
        const inside = requests.filter((path) => isThere(`${base}/${path}`) && isThere(resolve(base, path)));
        expect(inside.filter((path) => !validatePath(base, path))).toEqual([]);
      }),
    ),
    { numRuns: cases(60, 2000), seed: seedOr(1) },
  );
});

test('without links, inside is what the shortened path says', () => {
  const plain = worlds.map((entries) => entries.filter(({ is }) => is.kind === 'folder'));
  fc.assert(
    fc.property(plain, paths, (entries, requests) =>
      inWorld(entries, (_, base) => {
        const inside = requests.filter((path) => isWithin(base, resolve(base, path)));
        expect(requests.filter((path) => validatePath(base, path))).toEqual(inside);
      }),
    ),
    { numRuns: cases(30, 2000), seed: seedOr(1) },
  );
});

test('any two values give a boolean', () => {
  const anything = fc.oneof(fc.anything(), fc.string({ unit: 'binary' }), relative);
  fc.assert(
    fc.property(anything, anything, (base, requested) => {
      expect(typeof validatePath(base, requested)).toBe('boolean');
    }),
    { numRuns: cases(300, 6000), seed: seedOr(1) },
  );
});

import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSources } from '../../scripts/build-library.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache');
const PREFIX = 'signalbox-bundled-';
/** Where the library finds its name, version and schema: the package that it is part of. */
const OF_PACKAGE = ['package.json', 'schema/recording.schema.json'];

/** Resolves a file of `src/` to its chunk. */
const USE = `const { existsSync } = require('node:fs');
const { registerHooks } = require('node:module');
const { pathToFileURL } = require('node:url');
const SOURCES = ${JSON.stringify(pathToFileURL(join(ROOT, 'src/')).href)};
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    if (!found.url.startsWith(SOURCES) || !found.url.endsWith('.ts')) return found;
    const chunk = __dirname + '/package/dist/' + found.url.slice(SOURCES.length, -3) + '.js';
    return existsSync(chunk) ? { url: pathToFileURL(chunk).href, format: 'module', shortCircuit: true } : found;
  },
});
`;

/**
 * What Node is told before a script of the tests that imports `src/`: it loads the sources in chunks, as the package has
 * them, which halves what a short process costs. Scripts that are about single files of `src/` go without it.
 */
export const BUNDLED: readonly string[] = ['--require', join(await bundled(), 'use.cjs')];

/** The sources as they are, in chunks: once for all test files, again when one has changed. */
async function bundled(): Promise<string> {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .map((file) => `src/${file.replaceAll('\\', '/')}`)
    .filter((file) => file.endsWith('.ts') && !file.startsWith('src/inspector/page/'))
    .toSorted();
  const hash = createHash('sha256').update(USE);
  for (const file of [...sources, ...OF_PACKAGE, 'scripts/build-library.ts'])
    hash.update(file).update(readFileSync(join(ROOT, file)));
  const folder = join(CACHE, PREFIX + hash.digest('hex').slice(0, 16));
  if (existsSync(folder)) return folder;
  const making = `${folder}.${process.pid}`;
  await buildSources(join(making, 'package/dist'), sources);
  mkdirSync(join(making, 'package/schema'));
  for (const file of OF_PACKAGE) copyFileSync(join(ROOT, file), join(making, 'package', file));
  // From there the inspector's page is bundled where one is opened.
  symlinkSync(join(ROOT, 'scripts'), join(making, 'scripts'));
  writeFileSync(join(making, 'use.cjs'), USE);
  try {
    renameSync(making, folder);
  } catch {
    // Another worker was faster; its chunks are the same.
    rmSync(making, { recursive: true, force: true });
  }
  const anHourAgo = Date.now() - 3_600_000;
  for (const other of readdirSync(CACHE).filter((name) => name.startsWith(PREFIX)))
    // Another worker may have removed it, or given it its last name.
    if ((statSync(join(CACHE, other), { throwIfNoEntry: false })?.mtimeMs ?? anHourAgo) < anHourAgo)
      rmSync(join(CACHE, other), { recursive: true, force: true });
  return folder;
}

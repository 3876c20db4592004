import { existsSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

/** One file of the page. */
export interface PageFile {
  readonly body: Buffer<ArrayBuffer>;
  readonly type: string;
}

/** Reads the page's files. */
export interface PageFiles {
  /** Null: there is no such file. `name` is a path below the page's folder. */
  read(name: string): Promise<PageFile | null>;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  json: 'application/json; charset=utf-8',
  woff2: 'font/woff2',
};

/** The folder of this file. No `new URL(…, import.meta.url)`, which bundlers read as a file to be found and taken along. */
const here = (): string => import.meta.dirname ?? process.cwd();

/** Only plain names, one folder deep: nothing above the page's folder is ever read. */
const NAME = /^(?:assets\/)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+$/;

/** The page in a folder. */
export function pageFiles(folder: string): PageFiles {
  const known = new Map<string, PageFile>();
  return {
    read: async (name) => {
      const type = TYPES[name.split('.').at(-1) ?? ''];
      if (type === undefined || !NAME.test(name)) return null;
      const before = known.get(name);
      if (before !== undefined) return before;
      try {
        const file = { body: await readMaybeCompressed(join(folder, name)), type };
        known.set(name, file);
        return file;
      } catch {
        return null;
      }
    },
  };
}

/** A large file of the package is there with the ending `.br` alone: a third of its size. */
async function readMaybeCompressed(path: string): Promise<Buffer<ArrayBuffer>> {
  return readFile(path).catch(async (missing: unknown) => {
    const compressed = await readFile(`${path}.br`).catch(() => Promise.reject(missing));
    return promisify(brotliDecompress)(compressed);
  });
}

/** Where the page's files are: built with the package, or, in a clone that was not built, the script that bundles them. */
export interface PagePlace {
  readonly built: string | null;
  readonly script: string;
}

/** Finds the page of this package. Throws an error with the code `page-missing` where a bundler has left it behind. */
export function ownPlace(): PagePlace {
  const script = join(here(), '../../../scripts/build-page.ts');
  // From a chunk of the package, from the sources of a clone that was built, from a bundle.
  const places = [join(here(), '../inspector/page'), join(here(), '../../../dist/inspector/page'), ...installed()];
  const built = places.find((place) => existsSync(join(place, 'index.html'))) ?? null;
  if (built !== null || existsSync(script)) return { built, script };
  const message =
    "The inspector's page is not beside this code, which was bundled. Keep the package 'signalbox' external (esbuild, Bun: " +
    '--external signalbox; rolldown, Vite, webpack: external, externals; Next: serverExternalPackages), or copy its folder ' +
    'dist/inspector/page and name it: createInspector({ page }).';
  throw Object.assign(new Error(message), { code: 'page-missing' });
}

let found: Promise<PageFiles> | undefined;

/** The page at that place; in a clone that was not built it is bundled on first use, into the temporary folder. */
export function ownPage({ built, script }: PagePlace): Promise<PageFiles> {
  found ??= built === null ? bundledPage(script) : Promise.resolve(pageFiles(built));
  return found;
}

async function bundledPage(script: string): Promise<PageFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-page-'));
  const module: unknown = await import(
    /* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ pathToFileURL(script).href
  );
  const build: unknown = Reflect.get(Object(module), 'buildPage');
  if (typeof build !== 'function') throw new Error(`${script} exports no buildPage.`);
  await Reflect.apply(build, undefined, [folder]);
  return pageFiles(folder);
}

/** The page of the package as it stands in node_modules, for code that was taken out of there into a bundle. */
function installed(): readonly string[] {
  // Not imported: bundlers follow createRequire, and would look for the file themselves.
  const { createRequire } = process.getBuiltinModule('node:module');
  return [here(), process.cwd()].flatMap((folder) => {
    try {
      return [
        join(
          dirname(createRequire(join(folder, 'bundle.js')).resolve('signalbox/package.json')),
          'dist/inspector/page',
        ),
      ];
    } catch {
      return [];
    }
  });
}

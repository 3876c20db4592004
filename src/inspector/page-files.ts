import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

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
        const file = { body: await readFile(join(folder, name)), type };
        known.set(name, file);
        return file;
      } catch {
        return null;
      }
    },
  };
}

let found: Promise<PageFiles> | undefined;

/**
 * The page as it was built with the package. In a clone that was not built it is bundled on first use, into the temporary
 * folder. Rejects when neither is possible.
 */
export function ownPage(): Promise<PageFiles> {
  found ??= findPage();
  return found;
}

async function findPage(): Promise<PageFiles> {
  const places = ['./page/', '../../dist/inspector/page/'].map((place) =>
    fileURLToPath(new URL(place, import.meta.url)),
  );
  const built = places.find((place) => existsSync(join(place, 'assets', 'main.js')));
  if (built !== undefined) return pageFiles(built);
  const script = fileURLToPath(new URL('../../scripts/build-page.ts', import.meta.url));
  if (!existsSync(script))
    throw new Error(`The inspector's page is not there: neither built in ${places[0]} nor buildable.`);
  const folder = join(tmpdir(), `signalbox-page-${process.pid}`);
  const module: unknown = await import(pathToFileURL(script).href);
  const build: unknown = Reflect.get(Object(module), 'buildPage');
  if (typeof build !== 'function') throw new Error(`${script} exports no buildPage.`);
  await Reflect.apply(build, undefined, [folder]);
  return pageFiles(folder);
}

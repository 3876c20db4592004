import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { buildLibrary } from './build-library.ts';
import { buildPage } from './build-page.ts';
import { keepPublicDeclarations } from './public-declarations.ts';

// Builds dist/ afresh: the library in few chunks, the declarations that its entries need, and the inspector's page.
const PAGE = 'dist/inspector/page';
const ASSETS = join(PAGE, 'assets');
/** What is large: the inspector reads it compressed as well. */
const LARGE = /^(?:main\.js|styles\.css|player\.js|layout-engine\.js|SchemaForm\.js|layouts-\w+\.json)$/;

// npm builds before it packs; who has just built says so with SIGNALBOX_BUILT=1, and what is there is packed.
const isBuilt = process.env['SIGNALBOX_BUILT'] === '1' && existsSync('dist/cli/main.js');
if (isBuilt && process.env['npm_lifecycle_event'] === 'prepack') process.exit(0);

rmSync('dist', { recursive: true, force: true });
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
await keepPublicDeclarations('dist');
await buildLibrary('dist');
chmodSync('dist/cli/main.js', 0o755);
await buildPage(PAGE);
for (const name of readdirSync(ASSETS).filter((each) => LARGE.test(each))) compress(join(ASSETS, name));

/** Replaces a file by `<file>.br`: six seconds for all of them, at the quality that takes longest. */
function compress(file: string): void {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 };
  writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file), { params }));
  rmSync(file);
}

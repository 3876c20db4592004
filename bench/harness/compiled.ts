import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildLibrary } from '../../scripts/build-library.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Compiles the benchmarks to JavaScript in a folder of their own and bundles the library beside them, as a user's install has
 * it: stripping the types of two hundred files would be most of a cold start. The folder is gone when the work is done.
 */
export async function withCompiled<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-compiled-'));
  try {
    const config = join(dir, 'tsconfig.json');
    const compilerOptions = { noEmit: false, noCheck: true, rootDir: ROOT, outDir: dir, types: [] };
    const files = [join(ROOT, 'bench/children/first-request.ts'), join(ROOT, 'src/models/http/node-fetch.ts')];
    writeFileSync(
      config,
      JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: [], files }),
    );
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ type: 'module' }));
    symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'), 'junction');
    mkdirSync(join(dir, 'bench'));
    symlinkSync(join(ROOT, 'bench/peers'), join(dir, 'bench/peers'), 'junction');
    execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', config], { stdio: 'inherit' });
    await buildLibrary(join(dir, 'dist'));
    for (const entry of ['index', 'models/index', 'journal/index'])
      writeFileSync(
        join(dir, `src/${entry}.js`),
        `export * from '${pathToFileURL(join(dir, `dist/${entry}.js`)).href}';`,
      );
    return await work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

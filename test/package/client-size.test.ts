import { gzipSync } from 'node:zlib';
import { build } from 'rolldown';
import { expect, test } from 'vitest';
import { exportedSources } from './export-table.ts';

/** What a page loads of a subpath, React aside, as its bundler makes it. */
async function bundled(subpath: string): Promise<{ readonly code: string; readonly files: readonly string[] }> {
  const { output } = await build({
    input: exportedSources().get(subpath)?.pathname ?? '',
    platform: 'browser',
    external: ['react'],
    tsconfig: false,
    logLevel: 'warn',
    write: false,
    output: { format: 'esm', minify: true },
  });
  const [chunk, ...others] = output;
  expect(others).toEqual([]);
  return { code: chunk.code, files: chunk.moduleIds };
}

test.each([
  ['./react', 3275],
  ['./store', 3010],
])('%s is at most %i bytes on a page, gzipped', async (subpath, limit) => {
  const { code, files } = await bundled(subpath);
  expect(files.filter((file) => !/\/src\/(?:store|react)\//.test(file))).toEqual([]);
  expect(gzipSync(code).length).toBeLessThan(limit);
});

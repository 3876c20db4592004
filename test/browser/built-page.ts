import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPage } from '../../scripts/build-page.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CACHE = join(ROOT, 'node_modules', '.cache');

/** The page, built from the sources as they are: once for all test files, again when a source has changed. */
export async function builtPage(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['src/inspector', 'src/machines', 'src/parsing', 'src/journal', 'scripts'])
    for (const file of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).sort())
      if (/\.(?:tsx?|css|html)$/.test(file)) hash.update(file).update(readFileSync(join(ROOT, folder, file)));
  const folder = join(CACHE, `signalbox-page-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  const making = `${folder}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  await buildPage(making);
  try {
    renameSync(making, folder);
  } catch {
    // Another test file was faster; its page is the same.
    rmSync(making, { recursive: true, force: true });
  }
  return folder;
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { BUNDLED } from '../support/bundled.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Runs an example as a reader would, with the settings of a machine that has no model, no key and an empty home. */
export async function runExample(file: string) {
  const home = await mkdtemp(join(tmpdir(), 'signalbox-home-'));
  const args = [
    ...BUNDLED,
    '--conditions=@signalbox/source',
    '--disable-warning=ExperimentalWarning',
    '--unhandled-rejections=strict',
    join(root, 'examples', file),
  ];
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { PATH, NODE_COMPILE_CACHE, HOME: home, USERPROFILE: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, closed] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  await rm(home, { recursive: true, force: true });
  const exitCode: unknown = closed[0];
  return { stdout, stderr, exitCode };
}

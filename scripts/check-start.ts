import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// `npm start` as a newcomer without a model meets it, in a folder of their own: one run with real tools, a result, the
// path of a recording, exit code 0.
const folder = mkdtempSync(join(tmpdir(), 'signalbox-start-'));
try {
  writeFileSync(join(folder, 'small.txt'), 'small');
  writeFileSync(join(folder, 'largest.bin'), Buffer.alloc(54_321));
  const { LEMONADE_BASE_URL: _l, OPENAI_BASE_URL: _b, OPENAI_API_KEY: _o, ANTHROPIC_API_KEY: _a, ...env } = process.env;
  const main = join(process.cwd(), 'src/cli/main.ts');
  const ran = spawnSync(process.execPath, [main, 'chat'], {
    cwd: folder,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  console.log(ran.stdout, ran.stderr);
  if (ran.status !== 0) throw new Error(`npm start ended with ${ran.status ?? ran.signal}`);
  if (!ran.stdout.includes('largest.bin')) throw new Error('the answer does not name the largest file');
  const recording = /\S+\.jsonl/.exec(ran.stdout + ran.stderr)?.[0];
  if (recording === undefined || !existsSync(join(folder, recording)))
    throw new Error('no recording was named, or it is not there');
  if (!readFileSync(join(folder, recording), 'utf8').includes('"t":"end"')) throw new Error('the recording has no end');
} finally {
  rmSync(folder, { recursive: true, force: true });
}

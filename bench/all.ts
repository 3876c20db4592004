// The comparison with the peers, in under ten minutes. Run with: npm run bench
// All contenders and calls, and everything else that is measured: npm run bench -- --all
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const isAll = process.argv.includes('--all');
const all = isAll ? ['--all'] : [];

run('turns', all);
if (isAll) run('turns', ['--warm', '3']);
for (const script of ['concurrent', 'cold-start', 'idle-agents', 'replay']) run(script, all);
if (isAll) for (const script of ['journal-stores', 'inspector', 'session']) run(script, []);

function run(script: string, args: readonly string[]): void {
  const file = fileURLToPath(new URL(`${script}.ts`, import.meta.url));
  const { status } = spawnSync(process.execPath, [file, ...args], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

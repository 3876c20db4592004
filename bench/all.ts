// The comparison with the peers, in under ten minutes. Run with: npm run bench
// All contenders and calls, and everything else that is measured: npm run bench -- --all
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const isAll = process.argv.includes('--all');
const own = isAll ? ['journal-stores', 'inspector', 'session'] : [];

for (const script of ['turns', 'concurrent', 'cold-start', 'idle-agents', 'replay', ...own]) {
  const takesAll = isAll && !own.includes(script);
  const file = fileURLToPath(new URL(`${script}.ts`, import.meta.url));
  const { status } = spawnSync(process.execPath, [file, ...(takesAll ? ['--all'] : [])], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

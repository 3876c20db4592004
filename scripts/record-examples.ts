import { spawnSync } from 'node:child_process';

// Makes test/recordings anew: runs their tests on scripted models, real tools and a real MCP server. The files come out the
// same each time; what `git diff` shows afterwards is what changed in Signalbox.
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', 'test/recordings'], {
  stdio: 'inherit',
  env: { ...process.env, SIGNALBOX_RECORD: 'all', CI: '' },
});
process.exitCode = status ?? 1;

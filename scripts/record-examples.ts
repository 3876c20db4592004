import { spawnSync } from 'node:child_process';
import { delimiter, dirname } from 'node:path';

// Makes test/recordings anew: runs their tests on scripted models, real tools and a real MCP server. The files come out the
// same each time; what `git diff` shows afterwards is what changed in Signalbox.
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', 'test/recordings'], {
  stdio: 'inherit',
  // The server is called by the name `node`, so that no path of this machine gets into a recording: it must be this Node.
  env: {
    ...process.env,
    PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
    SIGNALBOX_RECORD: 'all',
    CI: '',
  },
});
process.exitCode = status ?? 1;

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync } from 'node:fs';

// Builds dist/ afresh: JavaScript and declarations by the compiler, nothing bundled.
rmSync('dist', { recursive: true, force: true });
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
if (existsSync('dist/cli/main.js')) chmodSync('dist/cli/main.js', 0o755);

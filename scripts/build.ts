import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync } from 'node:fs';
import { buildPage } from './build-page.ts';

// Builds dist/ afresh: JavaScript and declarations by the compiler, nothing bundled but the inspector's page.
rmSync('dist', { recursive: true, force: true });
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
if (existsSync('dist/cli/main.js')) chmodSync('dist/cli/main.js', 0o755);
await buildPage('dist/inspector/page');

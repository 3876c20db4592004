import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync } from 'node:fs';
import { buildPage } from './build-page.ts';

// npm builds before it packs; who has just built says so with SIGNALBOX_BUILT=1, and what is there is packed.
const isBuilt = process.env['SIGNALBOX_BUILT'] === '1' && existsSync('dist/cli/main.js');
if (isBuilt && process.env['npm_lifecycle_event'] === 'prepack') process.exit(0);

// Builds dist/ afresh: JavaScript and declarations by the compiler, nothing bundled but the inspector's page.
rmSync('dist', { recursive: true, force: true });
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
if (existsSync('dist/cli/main.js')) chmodSync('dist/cli/main.js', 0o755);
await buildPage('dist/inspector/page');

#!/usr/bin/env node
import { nodeVersionProblem } from '../node-version.ts';

// Everything else is loaded only once this Node is known to be new enough to read it.
const problem = nodeVersionProblem(process.version);
if (problem === null) {
  // What was compiled is kept for the next start, at home: in a shared temporary folder, another user could put other code there.
  const home = process.env['HOME'] ?? process.env['USERPROFILE'];
  if (home) keepCompiled(`${home}/.cache`);
  void import('./start.ts').then((cli) => cli.start(process.argv.slice(2)));
} else {
  console.error(problem);
  process.exitCode = 1;
}

/**
 * The folders are made here, one by one and for this user alone: Node hangs where one cannot be made, as in /proc, and lets
 * others write into them under some umasks.
 */
function keepCompiled(folder: string): void {
  const { existsSync, mkdirSync } = process.getBuiltinModule('node:fs');
  const { enableCompileCache, getCompileCacheDir } = process.getBuiltinModule('node:module');
  // Whoever starts the command may have said where, or that nothing is kept.
  if (getCompileCacheDir() !== undefined || process.env['NODE_DISABLE_COMPILE_CACHE']) return;
  try {
    for (const made of [folder, `${folder}/signalbox`]) if (!existsSync(made)) mkdirSync(made, 0o700);
    enableCompileCache(`${folder}/signalbox`);
  } catch {
    // Without it, the command only starts more slowly.
  }
}

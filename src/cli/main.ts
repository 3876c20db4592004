#!/usr/bin/env node
import { nodeVersionProblem } from '../node-version.ts';

// Everything else is loaded only once this Node is known to be new enough to read it.
const problem = nodeVersionProblem(process.version);
if (problem === null) {
  // What was compiled is kept for the next start, in the temporary folder; NODE_DISABLE_COMPILE_CACHE=1 forbids it.
  process.getBuiltinModule('node:module').enableCompileCache();
  void import('./start.ts').then((cli) => cli.start(process.argv.slice(2)));
} else {
  console.error(problem);
  process.exitCode = 1;
}

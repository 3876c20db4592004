#!/usr/bin/env node
import { nodeVersionProblem } from '../node-version.ts';

// Everything else is loaded only once this Node is known to be new enough to read it.
const problem = nodeVersionProblem(process.version);
if (problem === null) {
  // What was compiled is kept for the next start, at home: in a shared temporary folder, another user could put other code there.
  const home = process.env['HOME'] ?? process.env['USERPROFILE'];
  if (home) process.getBuiltinModule('node:module').enableCompileCache(`${home}/.cache/signalbox`);
  void import('./start.ts').then((cli) => cli.start(process.argv.slice(2)));
} else {
  console.error(problem);
  process.exitCode = 1;
}

#!/usr/bin/env node
import { nodeVersionProblem } from '../node-version.ts';

// Everything else is loaded only once this Node is known to be new enough to read it.
const problem = nodeVersionProblem(process.version);
if (problem === null) {
  void import('./start.ts').then((cli) => cli.start(process.argv.slice(2)));
} else {
  console.error(problem);
  process.exitCode = 1;
}

/**
 * The setup file that the coverage reporter puts before each test file: it notes what machines do in this worker, and
 * hands it over when the file is done. Without the reporter it is not loaded, and nothing is noted.
 */
// Before anything that makes a machine.
import { watchMachines } from './watch-machines.ts';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { COVERAGE_FOLDER, noteState, takenSoFar, watchSystem } from './edges.ts';

watchMachines({ before: watchSystem, after: noteState });

afterAll(() => {
  const folder = process.env[COVERAGE_FOLDER];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${randomUUID()}.json`), JSON.stringify(takenSoFar()));
});

// Time from the start of the process to the arrival of its first model request. Run with: node bench/cold-start.ts [starts] [--all]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { startModelServer } from '../test/support/model-server.ts';
import { CONTENDERS, type ContenderName, NAMES } from './contenders/index.ts';
import { withCompiled } from './harness/compiled.ts';
import { median, numberGiven, printTable, spread } from './harness/figures.ts';
import { ANSWER } from './harness/job.ts';

const STARTS = numberGiven(7);

let arrived = 0;
await using server = await startModelServer(
  () => {
    arrived = performance.now();
    return ANSWER;
  },
  { forget: true },
);

const found = new Map<ContenderName, number[]>();
await withCompiled(async (dir) => {
  // The first round reads the files from the disk and is thrown away.
  for (let round = 0; round <= STARTS; round += 1) {
    for (const name of NAMES) {
      // Side by side they would disturb each other.
      const ms = await timeToRequest(join(dir, 'bench/children/first-request.js'), name);
      if (round > 0) found.set(name, [...(found.get(name) ?? []), ms]);
    }
  }
});

async function timeToRequest(script: string, name: ContenderName): Promise<number> {
  arrived = 0;
  const begun = performance.now();
  const child = spawn(process.execPath, [script, name, server.baseURL], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code]: readonly unknown[] = await once(child, 'close');
  if (code !== 0 || arrived === 0) throw new Error(`${name} ended with code ${String(code)}`);
  return arrived - begun;
}

const msOf = (name: ContenderName): number => median(found.get(name) ?? []);

console.log(`\nProcess start to first request (median of ${String(STARTS)} processes)\n`);
printTable(
  ['', 'ms', 'lowest–highest', '× f)'],
  NAMES.map((name) => [
    CONTENDERS[name].title,
    msOf(name).toFixed(0),
    spread(found.get(name) ?? [], 0),
    (msOf(name) / msOf('ai-sdk')).toFixed(2),
  ]),
);

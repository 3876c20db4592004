// How long a client that comes back to a run of about 1,000 events waits: to the process that served it, to a fresh one, and again
// to the same one.
// Run with: node bench/reconnect.ts [passes]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { numberOf, runChild } from './harness/child.ts';
import { median, numberGiven, printTable, spread } from './harness/figures.ts';

const PASSES = numberGiven(5);

const rows: (readonly string[])[] = [];
for (const store of ['file', 'sqlite']) {
  const place = mkdtempSync(join(tmpdir(), 'reconnect-'));
  const made = await runChild('reconnect', ['make', store, place]);
  const runId = String(Reflect.get(Object(made), 'runId'));
  const line = String(numberOf(made, 'lines') - 6);
  for (const protocol of ['own', 'ui', 'ag']) {
    const own: number[] = [];
    const cold: number[] = [];
    const warm: number[] = [];
    for (let pass = 0; pass < PASSES; pass += 1) {
      const ownPlace = mkdtempSync(join(tmpdir(), 'reconnect-'));
      // Side by side they would disturb each other.
      own.push(numberOf(await runChild('reconnect', ['serve', store, ownPlace, protocol]), 'cold'));
      rmSync(ownPlace, { recursive: true, force: true });
      // Side by side they would disturb each other.
      const printed = await runChild('reconnect', ['read', store, place, protocol, runId, line]);
      cold.push(numberOf(printed, 'cold'));
      warm.push(numberOf(printed, 'warm'));
    }
    const served = [median(own).toFixed(1), spread(own, 1)];
    rows.push([
      store,
      protocol,
      ...served,
      median(cold).toFixed(0),
      spread(cold, 0),
      median(warm).toFixed(1),
      spread(warm, 1),
    ]);
  }
  rmSync(place, { recursive: true, force: true });
}
console.log(
  `\nReconnecting six records before the end of a run of 1,002 events, in milliseconds (${String(PASSES)} processes)\n`,
);
printTable(['journal', 'protocol', 'served it', 'spread', 'fresh process', 'spread', 'again', 'spread'], rows);

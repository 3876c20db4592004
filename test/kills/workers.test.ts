import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RunRecord } from '../../src/journal/format/record.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { postgresJournal } from '../../src/journal/postgres/index.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { handOver } from '../journal/hand-over.ts';
import { BUNDLED } from '../support/bundled.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { cases, SOAKING } from '../support/soak.ts';
import { workerAgent } from './worker-agent.ts';

const WORKERS = cases(2, 4);
const IN_FLIGHT = cases(6, 200);
/** How long processes are killed. Runs are begun meanwhile, so that there are always so many. */
const KILLING_MS = cases(2500, Number(process.env['SIGNALBOX_SOAK_MS'] ?? 600_000));

/** The first record of a run of these workers. */
async function headOf(): Promise<RunRecord> {
  const run = workerAgent(memoryJournal(), () => undefined).run('Work.');
  await run;
  return readRecording(run.recording()).head;
}

test.skipIf(NO_POSTGRES !== '')(
  'runs whose workers are killed at random are finished by others: nothing twice, nothing lost',
  { timeout: cases(60_000, 3_600_000) },
  async () => {
    await using server = await startPostgres();
    const folder = mkdtempSync(join(tmpdir(), 'signalbox-workers-'));
    const log = join(folder, 'log');
    const store = postgresJournal(server.url, { migrate: true });
    const head = await headOf();
    let begun = 0;
    const begin = async (): Promise<void> => {
      begun += 1;
      await handOver(store, { ...head, runId: `run-${begun}`, at: new Date().toISOString() }, []);
    };
    const unended = async (): Promise<number> => begun - (await store.list({ state: 'ended' })).length;
    await Promise.all(Array.from({ length: IN_FLIGHT }, begin));

    const job = JSON.stringify({ url: server.url, log, atOnce: Math.ceil((2 * IN_FLIGHT) / WORKERS) });
    const start = (): ChildProcess =>
      spawn(process.execPath, [...BUNDLED, join(import.meta.dirname, 'children/worker.ts'), job], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    const workers = Array.from({ length: WORKERS }, start);
    let kills = 0;
    const until = performance.now() + KILLING_MS;
    while (performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, cases(400, 800) + Math.random() * cases(800, 3000)));
      const at = Math.floor(Math.random() * WORKERS);
      workers[at]?.kill('SIGKILL');
      workers[at] = start();
      kills += 1;
      for (let missing = IN_FLIGHT - (await unended()); missing > 0; missing -= 1) await begin();
    }
    await expect.poll(unended, { timeout: cases(40_000, 600_000), interval: 200 }).toBe(0);
    for (const worker of workers) {
      const ended = once(worker, 'exit');
      worker.kill('SIGKILL');
      await ended;
    }

    const ended = await store.list({ state: 'ended' });
    expect(ended).toHaveLength(begun);
    expect(ended.filter(({ status, steps }) => status !== 'answered' || steps !== 7)).toEqual([]);
    const deeds = readFileSync(log, 'utf8').trimEnd().split('\n');
    expect(deeds.filter((line) => line.includes(' refused '))).toEqual([]);
    const keys = deeds.flatMap((line) => (line.includes(' pay ') ? [line.split(' ').at(-1)] : []));
    expect(new Set(keys).size).toBe(keys.length);
    let restarts = 0;
    let unknown = 0;
    for (const { runId } of ended) {
      const lines = (await store.read(runId))?.lines ?? [];
      const outcomes = lines.flatMap((line) => (line.t === 'outcome' ? [line.id] : []));
      expect(new Set(outcomes).size, runId).toBe(outcomes.length);
      restarts += lines.filter(({ t }) => t === 'restart').length;
      unknown += lines.filter(
        (line) => line.t === 'outcome' && !line.ok && line.error.code === 'unknown-outcome',
      ).length;
    }
    // Each payment was made, or the model was told that nobody knows.
    expect(keys.length).toBeLessThanOrEqual(begun * 6);
    expect(keys.length).toBeGreaterThanOrEqual(begun * 6 - unknown);
    expect(restarts).toBeGreaterThanOrEqual(begun);
    if (SOAKING) console.log(JSON.stringify({ runs: begun, kills, restarts, unknown }));
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  },
);

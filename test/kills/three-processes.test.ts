import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { postgresJournal } from '../../src/journal/postgres/index.ts';
import { openStore } from '../journal/open-store.ts';
import { recordsOf } from '../journal/stored-runs.ts';
import { BUNDLED } from '../support/bundled.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { SOAKING } from '../support/soak.ts';

/** One process; what it printed, and the signal that ended it. */
function process(job: object) {
  return new Promise<{ readonly said: string; readonly signal: string | null }>((resolve, reject) => {
    const script = join(import.meta.dirname, 'children/stage.ts');
    execFile(globalThis.process.execPath, [...BUNDLED, script, JSON.stringify(job)], (error, stdout, stderr) => {
      if (error !== null && error.signal !== 'SIGKILL') reject(new Error(stderr));
      else resolve({ said: stdout, signal: error?.signal ?? null });
    });
  });
}

/** In the suite the one that takes the most: leases that run out. */
const KINDS = SOAKING ? ['file', 'sqlite', 'postgres'] : [NO_POSTGRES === '' ? 'postgres' : 'file'];

test.each(KINDS)(
  'a run in %s is answered by one process, resumed by the next, and finished by a third, all but the last of them killed',
  async (kind) => {
    if (kind === 'postgres' && NO_POSTGRES !== '') return;
    const folder = mkdtempSync(join(tmpdir(), 'signalbox-stages-'));
    await using server = kind === 'postgres' ? await startPostgres() : null;
    const place = server?.url ?? join(folder, kind);
    const job = { kind, place, log: join(folder, 'log') };
    for (const stage of ['begin', 'approve', 'resume'])
      expect(await process({ ...job, stage }), stage).toEqual({ said: '', signal: 'SIGKILL' });
    const { said, signal } = await process({ ...job, stage: 'finish' });
    expect(signal).toBeNull();
    expect(JSON.parse(said)).toEqual({ status: 'answered', result: 'Sent.', stepsTaken: 3 });

    const [, key = ''] = /resume mark (\S+)/.exec(readFileSync(job.log, 'utf8')) ?? [];
    const noted = [
      'approve approved true',
      'approve approved false',
      'resume mail',
      `resume mark ${key}`,
      `finish mark ${key}`,
    ];
    expect(readFileSync(job.log, 'utf8').trimEnd().split('\n')).toEqual(noted);
    const database = server === null ? null : postgresJournal(server.url);
    const store = database ?? openStore(kind, place);
    const records = await recordsOf(store, 'run');
    const count = (what: string): number => records.filter((record) => JSON.stringify(record).includes(what)).length;
    expect([count('"approval.given"'), count('"t":"restart"'), count('"t":"end"')]).toEqual([1, 2, 1]);
    await database?.close();
    rmSync(folder, { recursive: true, force: true });
  },
);

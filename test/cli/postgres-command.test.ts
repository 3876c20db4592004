import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRecording } from '../../src/journal/format/recording.ts';
import { postgresJournal } from '../../src/journal/postgres/index.ts';
import { freePort } from '../support/free-port.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { handOver } from '../journal/hand-over.ts';
import { keptRuns } from './kept-runs.ts';
import { runCli, temporaryFolder } from './spawn-cli.ts';

const PRACTICE = ['--model', 'practice', '--silent'];

if (NO_POSTGRES !== '') console.warn(`postgres-command.test.ts is skipped: ${NO_POSTGRES}.`);

describe.skipIf(NO_POSTGRES !== '')('the command line on a Postgres database', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => server[Symbol.asyncDispose]());

  /** A database of its own, without tables. */
  async function database(name: string): Promise<string> {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query(`create database ${name} template postgres`);
    await client.end();
    return server.url.replace(/postgres$/, name);
  }

  test('journal migrate makes the tables once, and runs are refused before', async () => {
    await using folder = await temporaryFolder();
    const url = await database('made');
    const signalbox = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
    const early = await signalbox('runs', 'list', '--in', url);
    expect(early.code).not.toBe(0);
    expect(early.stderr).toContain('signalbox journal migrate');
    expect(await signalbox('journal', 'migrate', url)).toEqual({
      code: 0,
      stdout: 'The schema signalbox was brought from version 0 to version 2.\n',
      stderr: '',
    });
    expect((await signalbox('journal', 'migrate', url)).stdout).toBe('The schema signalbox is at version 2 already.\n');
    const other = await signalbox('journal', 'migrate', url, '--schema', 'other', '--json');
    expect(JSON.parse(other.stdout)).toEqual({ schema: 'other', from: 0, to: 2 });
    expect((await signalbox('runs', 'list', '--in', url)).code).toBe(0);
  });

  test('journal migrate refuses what is no database, and says where none answers', async () => {
    await using folder = await temporaryFolder();
    const signalbox = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
    expect(await signalbox('journal', 'migrate', 'runs.sqlite')).toMatchObject({ code: 2, stdout: '' });
    expect(await signalbox('journal', 'migrate', server.url, '--schema', 'No Name')).not.toMatchObject({ code: 0 });
    const nobody = `postgres://someone:a-password@127.0.0.1:${await freePort()}/none`;
    for (const args of [
      ['journal', 'migrate', nobody],
      ['runs', 'list', '--in', nobody],
    ]) {
      const { code, stderr } = await signalbox(...args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/could not be reached .*ECONNREFUSED/);
      expect(stderr).not.toContain('a-password');
    }
  });

  test('runs list, show, prune and repair take a URL, and find what they find in files', async () => {
    const url = await database('kept');
    const store = postgresJournal(url, { migrate: true });
    await using user = await keptRuns(() => store);
    const { stdout } = await user.signalbox('runs', 'list', '--json', '--in', url);
    const runs: readonly { readonly runId: string; readonly state: string }[] = JSON.parse(stdout);
    expect(runs.map(({ runId, state }) => `${runId} ${state}`)).toEqual([
      'c-cut waiting',
      'b-bad ended',
      'a-good ended',
    ]);
    const waiting = await user.signalbox('runs', 'list', '--state', 'waiting', '--in', url);
    expect(waiting.stdout).toContain('Mail Ada');
    expect(waiting.stdout).not.toContain('Austin');
    const shown = await user.signalbox('runs', 'show', 'a-g', '--in', url);
    expect(shown.stdout).toContain('Asked       How warm is it in Austin?');
    const json = await user.signalbox('runs', 'show', 'a-good', '--json', '--in', url);
    expect(readRecording(json.stdout)).toMatchObject({ head: { runId: 'a-good' }, lines: { length: 7 } });
    expect((await user.signalbox('recording', 'show', 'a-good', '--in', url)).stdout).toContain('get_weather');
    expect((await user.signalbox('runs', 'repair', 'a-good', '--in', url)).stdout).toContain('is not damaged');
    expect((await user.signalbox('runs', 'show', 'none', '--in', url)).code).toBe(1);
    const pruned = await user.signalbox('runs', 'prune', '--max-runs', '1', '--in', url);
    expect(pruned.stdout).toBe('removed a-good\n');
    expect((await store.list()).map(({ runId }) => runId)).toEqual(['c-cut', 'b-bad']);
    await store.close();
  });

  test('runs recover finishes a run in a database whose process is gone', async () => {
    await using folder = await temporaryFolder();
    const here = { cwd: folder.path };
    const url = await database('orphans');
    await runCli(['run', 'Which file is the largest?', ...PRACTICE], here);
    const kept = await readdir(join(folder.path, '.signalbox/runs'));
    const file = kept.find((name) => name.endsWith('.jsonl'));
    const { head, lines } = readRecording(await readFile(join(folder.path, '.signalbox/runs', file ?? ''), 'utf8'));
    const store = postgresJournal(url, { migrate: true });
    await handOver(store, head, lines.slice(0, 5));
    const recovered = await runCli(['runs', 'recover', '--json', '--in', url, ...PRACTICE], here);
    expect(JSON.parse(recovered.stdout)).toEqual([{ runId: head.runId, status: 'answered' }]);
    expect(await store.list()).toMatchObject([{ runId: head.runId, state: 'ended', status: 'answered' }]);
    const again = await runCli(['runs', 'recover', '--in', url, ...PRACTICE], here);
    expect(again.stdout).toContain('needs to be recovered');
    await store.close();
  });
});

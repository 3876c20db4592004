import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { readRecording, type Recording } from '../../src/journal/format/recording.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { postgresJournal } from '../../src/journal/postgres/index.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { calls } from '../support/replies.ts';
import { openStore } from './open-store.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** An agent as one process has it; `pay` needs an approval. */
function payer(journal: JournalStore, replies: Parameters<typeof scriptedModel>[0]) {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  return { pay, agent: createAgent({ model: scriptedModel(replies), tools: [pay], silent: true, journal }) };
}

/** A parked run as another version would have recorded it, and where its effects have other names. */
async function ofOtherVersion(): Promise<Recording> {
  const { agent } = payer(memoryJournal(), [calls(['pay', { note: 'x'.repeat(20_000) }])]);
  const { runId } = await agent.run('Pay.', { runId: 'one', park: true });
  const text = ((await agent.recording(runId)) ?? '').replace(/"hash":"[^"]+"/, '"hash":"another"');
  return readRecording(text.replaceAll('agent/llmCall/callLlm#1', 'agent/model#1'));
}

/** What was recorded there comes into the store as it is. */
async function put(store: JournalStore, { head, lines }: Recording): Promise<void> {
  const carried = { at: 0, records: [head, ...lines], write: () => null, open: [], overdue: [] };
  const run = store.open({ head, accepts: () => false, carried });
  run.release?.();
  await run.abandon?.();
}

const migrate = (past: Recording): Recording =>
  JSON.parse(JSON.stringify(past).replaceAll('agent/model#1', 'agent/llmCall/callLlm#1'));

const KINDS = ['memory', 'file', 'sqlite', ...(NO_POSTGRES === '' ? ['postgres'] : [])];

const never = (): never => {
  throw new Error('A run that is migrated is never removed.');
};

describe.each(KINDS)('a run that is migrated in a journal of the kind %s', (kind) => {
  test('is replaced in one step, with its secrets, and is continued and resumed as any other', async () => {
    await using folder = await temporaryFolder();
    await using server = kind === 'postgres' ? await startPostgres() : null;
    const place = join(folder.path, kind === 'file' ? 'runs' : 'runs.sqlite');
    const memory = memoryJournal();
    const shared = server === null ? memory : openStore(kind, `${server.url} runs`);
    const open = (): JournalStore => (kind === 'memory' || server !== null ? shared : openStore(kind, place));
    await put(open(), await ofOtherVersion());
    open().secrets?.keep('one', { '«secret:1»': 'a-key' });
    await expect(payer(open(), []).agent.resume('one', { park: true })).rejects.toMatchObject({
      code: 'machine-changed',
    });
    const careful = { ...open(), remove: never, open: never };
    const { agent } = payer(careful, []);
    expect(await agent.resume('one', { park: true, migrate })).toMatchObject({ reason: 'parked' });
    expect(open().secrets?.read('one')).toEqual({ '«secret:1»': 'a-key' });
    const kept = await open().read?.('one');
    expect(JSON.stringify(kept)).not.toContain('agent/model#1');
    expect(kept?.lines.filter(({ t }) => t === 'restart')).toHaveLength(1);

    expect(await payer(open(), []).agent.approve('one', 'c1')).toBe(true);
    const later = payer(open(), ['Done.']);
    expect(await later.agent.resume('one')).toMatchObject({ result: 'Done.' });
    expect(later.pay.calls).toHaveLength(1);
    expect(await open().list?.()).toMatchObject([{ runId: 'one', state: 'ended', status: 'answered' }]);
    const text = (await later.agent.recording('one')) ?? '';
    expect(await replay(text, payer(memory, []).agent)).toMatchObject({ result: 'Done.' });
  });
});

test('a run in a journal that can replace none is removed and begun again, with its secrets', async () => {
  const store = memoryJournal();
  await put(store, await ofOtherVersion());
  store.secrets?.keep('one', { '«secret:1»': 'a-key' });
  const take: JournalStore['take'] = async (runId) => {
    const taken = (await store.take?.(runId)) ?? null;
    if (taken === null) return null;
    const { replace: _replace, ...sink } = taken.sink;
    return { ...taken, sink };
  };
  const { agent } = payer({ ...store, take }, []);
  expect(await agent.resume('one', { park: true, migrate })).toMatchObject({ reason: 'parked' });
  expect(store.secrets?.read('one')).toEqual({ '«secret:1»': 'a-key' });
  expect(JSON.stringify(await store.read?.('one'))).not.toContain('agent/model#1');
  expect(await payer(store, []).agent.approve('one', 'c1')).toBe(true);
  const later = payer(store, ['Done.']);
  expect(await later.agent.resume('one')).toMatchObject({ result: 'Done.' });
  expect(later.pay.calls).toHaveLength(1);
});

test('a run that cannot be written in its new form stays as it was', async () => {
  await using folder = await temporaryFolder();
  await put(openStore('file', folder.path), await ofOtherVersion());
  const file = join(folder.path, 'one.jsonl');
  const before = readFileSync(file, 'utf8');
  mkdirSync(`${file}.new`);
  const failed = await payer(openStore('file', folder.path), []).agent.resume('one', { park: true, migrate });
  expect(failed).toMatchObject({ status: 'failed' });
  expect(readFileSync(file, 'utf8')).toBe(before);
  rmdirSync(`${file}.new`);
  // What a process that was killed meanwhile has left is in no one's way.
  writeFileSync(`${file}.new`, before.slice(0, 99));
  const { agent } = payer(openStore('file', folder.path), []);
  expect(await agent.resume('one', { park: true, migrate })).toMatchObject({ reason: 'parked' });
});

/** Holds the lines of all runs until its client ends, and says who waits to write them. */
async function holdingLines({ url }: PostgresServer) {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin; lock table runs.lines in share mode');
  const waiting = async (): Promise<readonly number[]> => {
    const { rows } = await client.query("select pid from pg_stat_activity where wait_event_type = 'Lock'");
    return rows.map(({ pid }) => Number(pid));
  };
  return { client, waiting };
}

describe.skipIf(NO_POSTGRES !== '')('a run that is migrated in Postgres', () => {
  test('is as it was where the server is killed meanwhile, and is migrated when it is there again', async () => {
    await using server = await startPostgres(['fsync=on']);
    const open = () => postgresJournal(server.url, { schema: 'runs', migrate: true, leaseMs: 1000, patienceMs: 500 });
    const [first, second] = [open(), open()];
    await put(first, await ofOtherVersion());
    const before = await second.read('one');
    const { waiting } = await holdingLines(server);
    const resumed = payer(first, []).agent.resume('one', { park: true, migrate });
    await expect.poll(waiting).toHaveLength(1);
    await server.kill();
    expect(await resumed).toMatchObject({ status: 'failed', error: { code: 'store-unreachable' } });
    await server.start();
    expect(await second.read('one')).toEqual(before);
    const again = async () => payer(second, []).agent.resume('one', { park: true, migrate });
    await expect.poll(() => again().catch(String), { timeout: 20_000 }).toMatchObject({ reason: 'parked' });
    expect(JSON.stringify(await second.read('one'))).not.toContain('agent/model#1');
    await Promise.all([first.close(), second.close()]);
  });

  test('is migrated once where a connection is cut meanwhile, and what is written behind it stays', async () => {
    await using server = await startPostgres();
    const store = postgresJournal(server.url, { schema: 'runs', migrate: true });
    await put(store, await ofOtherVersion());
    const { client, waiting } = await holdingLines(server);
    const resumed = payer(store, []).agent.resume('one', { park: true, migrate });
    await expect.poll(waiting).toHaveLength(1);
    const [cut] = await waiting();
    await client.query('select pg_terminate_backend($1)', [cut]);
    await expect.poll(waiting).not.toContain(cut);
    await client.end();
    expect(await resumed).toMatchObject({ reason: 'parked' });
    await payer(store, []).agent.approve('one', 'c1');
    const { agent, pay } = payer(store, ['Done.']);
    expect(await agent.resume('one')).toMatchObject({ result: 'Done.' });
    expect(pay.calls).toHaveLength(1);
    const kept = await store.read('one');
    expect(kept?.lines.map(({ t }) => t).filter((t) => t === 'restart')).toHaveLength(2);
    expect(kept?.lines.at(-1)).toMatchObject({ t: 'end' });
    await store.close();
  });

  test('is migrated where the answer is lost that it was, and what is written behind it stays if that comes again', async () => {
    await using server = await startPostgres();
    const pool = new pg.Pool({ connectionString: server.url });
    const sent: pg.QueryConfig[] = [];
    const query = async (statement: pg.QueryConfig) => {
      const done = await pool.query(statement);
      const isReplacing = statement.text.includes('delete from "runs".lines using owned');
      if (isReplacing && sent.push(statement) === 1) throw new Error('Connection terminated unexpectedly');
      return done;
    };
    const store = postgresJournal({ query }, { schema: 'runs', migrate: true });
    await put(store, await ofOtherVersion());
    expect(await payer(store, []).agent.resume('one', { park: true, migrate })).toMatchObject({ reason: 'parked' });
    expect(sent).toHaveLength(2);
    const held = await store.take('one');
    const { head, lines = [] } = held?.recording ?? { head: undefined };
    const all = head === undefined ? [] : [head, ...lines];
    await held?.sink.replace?.(all);
    await held?.sink.append([{ t: 'note', at: 1, note: {} }]);
    for (const statement of sent) expect((await pool.query(statement)).rows).toEqual([]);
    await held?.sink.close();
    expect((await store.read('one'))?.lines).toHaveLength(lines.length + 1);
    await store.close();
    await pool.end();
  });

  test('is not written by a process that another has taken it from', async () => {
    await using server = await startPostgres();
    const open = () => postgresJournal(server.url, { schema: 'runs', migrate: true });
    const [late, soon] = [open(), open()];
    await put(late, await ofOtherVersion());
    const held = await late.take('one');
    const pool = new pg.Pool({ connectionString: server.url });
    await pool.query('delete from runs.writers');
    const taken = await soon.take('one');
    const { head, lines = [] } = taken?.recording ?? { head: undefined };
    const all = head === undefined ? [] : [head, ...lines];
    await expect(held?.sink.replace?.(all.slice(0, 2))).rejects.toMatchObject({ code: 'run-lost' });
    await taken?.sink.append([{ t: 'note', at: 1, note: {} }]);
    await taken?.sink.close();
    expect((await soon.read('one'))?.lines).toHaveLength(lines.length + 1);
    await Promise.all([late.close(), soon.close(), pool.end()]);
  });
});

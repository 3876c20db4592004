import { randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { assertJournalConformance } from '../../src/journal/index.ts';
import type { JournalStore } from '../../src/journal/index.ts';
import { followRun } from '../../src/journal/run/follow-run.ts';
import { migratePostgres, postgresJournal } from '../../src/journal/postgres/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { besideEachOther, poll } from '../support/beside.ts';
import { BUNDLED } from '../support/bundled.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { calls } from '../support/replies.ts';
import { cases } from '../support/soak.ts';
import { driving } from '../agent/requests/driving.ts';
import { storeContract } from './store-contract.ts';
import { start } from './store-processes.ts';
import { answered, interrupted, recordsOf, taken } from './stored-runs.ts';

const LARGE_RESULTS = cases(10, 200);

if (NO_POSTGRES !== '') console.warn(`postgres.test.ts is skipped: ${NO_POSTGRES}.`);

besideEachOther();

describe.skipIf(NO_POSTGRES !== '')('postgresJournal', () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let count = 0;
  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool({ connectionString: server.url });
    pool.on('error', () => undefined);
  });
  afterAll(async () => {
    await pool.end();
    await server[Symbol.asyncDispose]();
  });

  const newSchema = (): string => `test_${count++}`;

  storeContract('postgresJournal', () => {
    const store = postgresJournal(pool, { schema: newSchema(), migrate: true });
    return { store, [Symbol.asyncDispose]: () => store.close() };
  });

  test('keeps all rules but that of torn tails, which it cannot have', async () => {
    const places = new Map<JournalStore, string>();
    const open = (schema: string): JournalStore => {
      const store = postgresJournal(pool, { schema, migrate: true });
      places.set(store, schema);
      return store;
    };
    const schemaOf = (store: JournalStore): string => places.get(store) ?? '';
    const { skipped } = await assertJournalConformance(() => open(newSchema()), {
      reopen: (store) => open(schemaOf(store)),
      loseLock: async (store) => void (await pool.query(`delete from ${schemaOf(store)}.writers`)),
    });
    expect(skipped).toEqual(['torn-tail']);
  });

  test('how a program reads the types of its own columns changes nothing', async () => {
    const types = { getTypeParser: () => (text: string | Buffer) => ({ raw: String(text) }) };
    const own = new pg.Pool({ connectionString: server.url, types });
    const schema = newSchema();
    const store = postgresJournal(own, { schema, migrate: true });
    const tools = [fakeTool('look', [{ seen: 'x'.repeat(20_000) }]), fakeTool('mail', ['sent'], { policy: 'confirm' })];
    const model = scriptedModel([calls(['look']), 'Seen.', calls(['mail'])]);
    const timeouts = { approvalMs: 3_600_000 };
    const agent = createAgent({ tools, silent: true, confirm: 'wait', timeouts, journal: store, model });
    const { runId } = await agent.run('Look');
    await agent.run('Mail', { park: true });
    const listed = await store.list({});
    expect(listed).toMatchObject([
      { state: 'waiting', due: expect.any(String) },
      { state: 'ended', toolsUsed: ['look'] },
    ]);
    expect(listed).toEqual(await postgresJournal(pool, { schema }).list({}));
    expect(await store.list({ tool: 'look' })).toHaveLength(1);
    expect((await recordsOf(store, runId)).at(-1)).toMatchObject({ t: 'end' });
    expect(await store.remove(runId)).toBe(true);
    expect((await pool.query(`select 1 from ${schema}.blobs`)).rows).toEqual([]);
    await own.end();
  });

  test('a run of an id that Postgres cannot hold is not there', async () => {
    const journal = postgresJournal(pool, { schema: newSchema(), migrate: true });
    const agent = createAgent({ model: scriptedModel([]), journal, silent: true });
    for (const id of ['nul \0 in it', 'half \ud800 of a sign']) {
      expect(await journal.read(id)).toBeNull();
      expect(await journal.take(id)).toBeNull();
      expect(await journal.remove(id)).toBe(false);
      expect(await agent.cancel(id)).toBe(false);
      expect(await agent.approve(id, 'c1')).toBe(false);
    }
    await journal.close();
  });

  test('a secret that Postgres cannot hold harms neither its run nor those that are written beside it', async () => {
    const journal = postgresJournal(pool, { schema: newSchema(), migrate: true });
    const sent: unknown[] = [];
    const send = tool({
      name: 'send',
      description: 'Sends a key.',
      inputSchema: { type: 'object', properties: { key: { type: 'string' } } },
      execute: ({ key }: { key?: unknown }) => sent.push(key),
    });
    const agentOf = (key: string) => {
      const model = scriptedModel([calls(['send', { key }]), 'Done.']);
      return createAgent({ name: 'sender', model, tools: [send], secrets: [key], journal, silent: true });
    };
    const odd = ['the key \0 of Ada', 'the key \ud800 of Bob'];
    const results = await Promise.all([...odd, 'the key of Cid'].map((key) => agentOf(key).run(`Send ${key}.`)));
    expect(results.map(({ status }) => status)).toEqual(['answered', 'answered', 'answered']);
    expect(new Set(sent)).toEqual(new Set([...odd, 'the key of Cid']));
    for (const { runId } of results) expect(JSON.stringify(await journal.read(runId))).not.toContain('the key');
    await journal.close();
  });

  const SECONDS = 1000;

  /**
   * An agent that calls a tool three times, one after the other, each a few milliseconds long, and counts what was done. The
   * second call ends when `second` has.
   */
  function counting(store: JournalStore, second?: Promise<unknown>) {
    const done = new Map<string, number>();
    const agentOf = () =>
      createAgent({
        name: 'counter',
        model: scriptedModel([
          calls(['step', { n: 1 }]),
          calls(['step', { n: 2 }]),
          calls(['step', { n: 3 }]),
          'Done.',
        ]),
        tools: [
          tool({
            name: 'step',
            description: 'Counts.',
            effects: 'once',
            inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
            execute: async ({ n }: { n?: unknown }, { context: runId }) => {
              const key = `${String(runId)} ${String(n)}`;
              done.set(key, (done.get(key) ?? 0) + 1);
              await (n === 2 ? second : undefined);
              await new Promise((resolve) => setTimeout(resolve, 20));
              return `step ${String(n)}`;
            },
          }),
        ],
        journal: store,
        silent: true,
        maxSteps: 10,
      });
    return { done, agentOf };
  }

  for (const [what, disturb] of Object.entries({
    'is killed and started again': async (one: PostgresServer) => {
      await one.kill();
      await new Promise((resolve) => setTimeout(resolve, 100));
      await one.start();
    },
    'is restarted': async (one: PostgresServer) => {
      process.kill(one.pid(), 'SIGINT');
      await new Promise((resolve) => setTimeout(resolve, 400));
      await one.start();
    },
    'does not answer for longer than a statement may take': async (one: PostgresServer) => {
      one.pause();
      await new Promise((resolve) => setTimeout(resolve, 1500));
      one.goOn();
    },
    'writes nothing for a while, as one that is not the primary any more': async ({ url }: PostgresServer) => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query('alter system set default_transaction_read_only = on');
      await client.query('select pg_reload_conf()');
      await new Promise((resolve) => setTimeout(resolve, 1500));
      await client.query('set default_transaction_read_only = off');
      await client.query('alter system reset default_transaction_read_only');
      await client.query('select pg_reload_conf()');
      await client.end();
    },
  }))
    test(`twenty runs go on where the server ${what}, and nothing is lost or done twice`, async () => {
      await using own = await startPostgres();
      const store = postgresJournal(own.url, { migrate: true, leaseMs: 3000, patienceMs: 20_000 });
      const { done, agentOf } = counting(store);
      const ids = Array.from({ length: 20 }, (_, index) => `run-${index}`);
      const running = Promise.all(ids.map(async (runId) => agentOf().run('Count', { runId, context: runId })));
      while (done.size < 25) await new Promise((resolve) => setTimeout(resolve, 1));
      await disturb(own);
      const results = await running;
      expect(results.map(({ status, error }) => error?.code ?? status)).toEqual(ids.map(() => 'answered'));
      expect([...done.values()]).toEqual(Array.from({ length: 60 }, () => 1));
      const recordings = await Promise.all(ids.map(async (runId) => recordsOf(store, runId)));
      expect(recordings.map((records) => records.length)).toEqual(ids.map(() => 16));
      expect(recordings.every((records) => records.at(-1)?.t === 'end')).toBe(true);
      await store.close();
    });

  test('what is tried again is given up when the journal is closed', async () => {
    const store = postgresJournal('postgres://127.0.0.1:1/none', { patienceMs: 600_000 });
    const listed = store.list().catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await store.close();
    expect(await listed).toMatchObject({ code: 'store-unreachable' });
  });

  for (const [what, disturb] of Object.entries({
    'does not answer': (one: PostgresServer) => one.pause(),
    'is gone': (one: PostgresServer) => one.kill(),
    'is reached through a pool that has ended': async (_: PostgresServer, used: pg.Pool) => used.end(),
  }))
    test(`a journal is closed soon where the server ${what}`, async () => {
      await using own = await startPostgres();
      const used = new pg.Pool({ connectionString: own.url });
      used.on('error', () => undefined);
      const stores = [own.url, used].map((at) => postgresJournal(at, { migrate: true, leaseMs: 900 }));
      for (const store of stores) await answered(store, crypto.randomUUID());
      await disturb(own, used);
      const began = performance.now();
      for (const store of stores) await store.close();
      expect(performance.now() - began).toBeLessThan(10_000);
      own.goOn();
      if (!used.ended) await used.end();
    });

  test('tables that are not there are named, are made by the command, and newer ones are refused', async () => {
    const schema = newSchema();
    const missing = postgresJournal(pool, { schema });
    await expect(missing.list()).rejects.toMatchObject({ code: 'store-not-migrated' });
    const made = await Promise.all([1, 2, 3].map(async () => migratePostgres(pool, { schema })));
    expect(made.every(({ to }) => to === 2)).toBe(true);
    expect(await missing.list()).toEqual([]);
    await pool.query(`update ${schema}.version set version = 99`);
    await expect(postgresJournal(pool, { schema }).list()).rejects.toMatchObject({ code: 'store-newer' });
  });

  test('large results of a run stand once, whoever has them, and go with the last run that had them', async () => {
    const schema = newSchema();
    const store = postgresJournal(pool, { schema, migrate: true });
    const large = 'x'.repeat(600_000);
    const more = { tools: [fakeTool('clock', [{ text: large }])] };
    await answered(store, 'one', more);
    await answered(store, 'two', more);
    const blobs = async () =>
      (await pool.query(`select length(value) as n from ${schema}.blobs`)).rows.map(({ n }) => Number(n) > 600_000);
    expect(await blobs()).toEqual([true]);
    await store.remove('one');
    expect(await blobs()).toEqual([true]);
    expect(JSON.stringify(await recordsOf(store, 'two'))).toContain(large);
    await store.remove('two');
    expect(await blobs()).toEqual([]);
    await store.close();
  });

  test('large results that are replaced or cut off by a repair go too, but those that another run has', async () => {
    const schema = newSchema();
    const store = postgresJournal(pool, { schema, migrate: true });
    const large = (letter: string) => ({ tools: [fakeTool('clock', [{ text: letter.repeat(600_000) }])] });
    await answered(store, 'shared', large('x'));
    await answered(store, 'replaced', large('x'));
    await answered(store, 'alone', large('y'));
    await answered(store, 'cut', large('z'));
    const blobs = async () =>
      (await pool.query(`select substr(value, length(value) - 9, 1) as at from ${schema}.blobs`)).rows
        .map(({ at }) => String(at))
        .toSorted();
    expect(await blobs()).toEqual(['x', 'y', 'z']);
    for (const runId of ['replaced', 'alone']) {
      const { recording, sink } = await taken(store, runId);
      await sink.replace?.([recording.head, ...recording.lines.slice(0, 1)]);
      await sink.close();
    }
    expect(await blobs()).toEqual(['x', 'z']);
    await pool.query(
      `update ${schema}.lines set line = 'damaged' where n = 3 and run = (select id from ${schema}.runs where run_id = 'cut')`,
    );
    expect(await store.repair('cut')).toMatchObject({ kept: 2 });
    expect(await blobs()).toEqual(['x']);
    expect(JSON.stringify(await recordsOf(store, 'shared'))).toContain('x'.repeat(600_000));
    await store.close();
  });

  test('a run that is lost to another process while it is repaired stays as it was', async () => {
    const schema = newSchema();
    const store = postgresJournal(pool, { schema, migrate: true });
    await answered(store, 'run');
    await pool.query(`update ${schema}.lines set line = 'damaged' where n = 3`);
    const kept = async () => (await pool.query(`select n, line from ${schema}.lines order by n`)).rows;
    const before = await kept();
    await pool.query(
      `create function ${schema}.lose() returns trigger language plpgsql as $$ begin new.token = 'another'; return new; end $$;
       create trigger odd before update on ${schema}.runs for each row when (new.token is not null and old.token is null)
       execute function ${schema}.lose()`,
    );
    await expect(store.repair('run')).rejects.toMatchObject({ code: 'run-lost' });
    expect(await kept()).toEqual(before);
    await pool.query(`drop trigger odd on ${schema}.runs; update ${schema}.runs set token = null`);
    expect(await store.repair('run')).toMatchObject({ kept: 2 });
    await store.close();
  });

  test('a run whose lines are those of another is refused, with whose they are', async () => {
    const schema = newSchema();
    const store = postgresJournal(pool, { schema, migrate: true });
    for (const runId of ['a', 'b']) await answered(store, runId);
    await pool.query(`update ${schema}.lines set run = -run`);
    await pool.query(`update ${schema}.lines set run = (select sum(id) from ${schema}.runs) + run`);
    const refused = { code: 'bad-recording', message: expect.stringContaining('is that of b, not of a') };
    await expect(store.read('a')).rejects.toMatchObject(refused);
    await expect(store.take('a')).rejects.toMatchObject(refused);
    await store.close();
  });

  test('pruning leaves the newest that have ended, and all that have not', async () => {
    const schema = newSchema();
    const store = postgresJournal(pool, { schema, migrate: true });
    await interrupted(store, 'cut');
    for (const runId of ['a', 'b', 'c']) await answered(store, runId);
    expect(await store.prune({ maxRuns: 2 })).toBe(1);
    expect((await store.list()).map(({ runId }) => runId).toSorted()).toEqual(['b', 'c', 'cut']);
    await pool.query(`update ${schema}.runs set written_at = now() - interval '9 days' where run_id in ('cut', 'b')`);
    expect(await store.prune({ maxAgeDays: 8 })).toBe(2);
    expect((await store.list()).map(({ runId }) => runId)).toEqual(['c']);
    await store.close();
  });

  test('a run that another process drives is approved and steered from here, also where no notification comes', async () => {
    const schema = newSchema();
    const store = postgresJournal(pool, { schema, migrate: true });
    await store.list();
    const agent = createAgent({ name: 'here', model: scriptedModel([]), silent: true, journal: store });
    const place = `${server.url} ${schema}`;
    const paying = driving({ kind: 'postgres', place, runId: 'pay', task: 'pay' });
    await paying.said(({ type }) => type === 'approval.requested');
    const [pending] = await agent.pending('pay');
    expect(await agent.approve('pay', 'no such call')).toBe(false);
    expect(await agent.approve('pay', pending?.callId ?? '', { args: { euros: 7 } })).toBe(true);
    expect(await paying.said(({ status }) => status !== undefined)).toEqual({
      status: 'answered',
      result: 'Heard: pay',
    });
    expect(paying.lines.filter(({ paid }) => paid !== undefined)).toEqual([{ paid: { euros: 7 } }]);

    const listening = driving({ kind: 'postgres', place, runId: 'listen', task: 'listen' });
    await listening.said(({ type }) => type === 'tool.started');
    // From here on nobody is woken: rows are looked for.
    await pool.query("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'");
    expect(await agent.steer('listen', 'stop')).toMatchObject({ delivered: true });
    expect(await listening.said(({ status }) => status !== undefined)).toMatchObject({ status: 'answered' });
    expect((await pool.query(`select 1 from ${schema}.requests`)).rows).toEqual([]);
    await Promise.all([paying.kill(), listening.kill(), store.close()]);
  });

  const listening = async (): Promise<number> => {
    const found = await pool.query("select 1 from pg_stat_activity where query like 'listen %'");
    return found.rows.length;
  };

  test('a pool of one connection is enough, is never held, and ends at once', async () => {
    const own = new pg.Pool({ connectionString: server.url, max: 1 });
    const journal = postgresJournal(own, { schema: newSchema(), migrate: true });
    const free: number[] = [];
    const look = tool({
      name: 'look',
      description: 'Looks.',
      execute: async () => {
        await expect.poll(listening).toBeGreaterThan(0);
        free.push(own.idleCount - own.totalCount);
        return 'seen';
      },
    });
    const agent = createAgent({
      model: scriptedModel([calls(['look']), 'Done.']),
      tools: [look],
      journal,
      silent: true,
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered' });
    expect(free).toEqual([0]);
    const began = performance.now();
    await own.end();
    expect(performance.now() - began).toBeLessThan(900);
    await expect.poll(listening).toBe(0);
    await journal.close();
  });

  test('a process that closes nothing ends by itself', async () => {
    const { line, child } = start('postgres-pool', server.url, newSchema());
    const ended = once(child, 'exit');
    expect(await line()).toBe('answered');
    expect(await ended).toEqual([0, null]);
  });

  test('a run of another process is followed by notifications, and not looked at meanwhile', async () => {
    const schema = newSchema();
    const store = postgresJournal(pool, { schema, migrate: true });
    await store.list();
    const there = driving({ kind: 'postgres', place: `${server.url} ${schema}`, runId: 'pay', task: 'pay' });
    await there.said(({ type }) => type === 'approval.requested');
    const agent = createAgent({ name: 'here', model: scriptedModel([]), silent: true, journal: store });
    let looks = 0;
    const counted: Pick<JournalStore, 'read' | 'revision' | 'changes'> = {
      ...store,
      revision: async (runId) => {
        looks += 1;
        return store.revision(runId);
      },
    };
    const { signal } = new AbortController();
    const seen: number[] = [];
    // It would be looked at once a minute.
    for await (const lines of followRun(counted, 'pay', { signal, everyMs: 60_000 })) {
      if (seen.length === 0) {
        void (async () => {
          await new Promise((resolve) => setTimeout(resolve, 1500));
          expect(looks).toBeLessThan(5);
          const [pending] = await agent.pending('pay');
          await agent.approve('pay', pending?.callId ?? '');
        })();
      }
      seen.push(...lines.map(({ number }) => number));
    }
    expect(seen.length).toBe((await recordsOf(store, 'pay')).length);
    await expect.poll(listening).toBe(0);
    await there.kill();
    await store.close();
  });

  test(
    `${LARGE_RESULTS} results of 512 KB each come back whole, and a run goes on behind them`,
    { timeout: cases(40, 300) * SECONDS },
    async () => {
      const store = postgresJournal(pool, { schema: newSchema(), migrate: true });
      const texts = Array.from(
        { length: LARGE_RESULTS },
        (_, index) => randomBytes(384 * 1024).toString('base64') + String(index),
      );
      const replies = texts.map((_, index) => calls(['clock', { index }]));
      const more = {
        tools: [
          fakeTool(
            'clock',
            texts.map((text) => ({ text })),
          ),
        ],
        maxSteps: LARGE_RESULTS + 10,
      } as const;
      const { result } = await answered(store, 'large', { ...more, model: scriptedModel([...replies, 'Done.']) });
      expect(result).toMatchObject({ status: 'answered' });
      const { recording, sink } = await taken(store, 'large');
      const found = recording.lines.filter((record) => record.t === 'outcome' && record.id.includes('callTool'));
      expect(found.map((record) => JSON.stringify(record).length > 524_288)).toEqual(texts.map(() => true));
      await sink.append([{ t: 'note', at: 1, note: {} }]);
      await sink.close();
      expect((await recordsOf(store, 'large')).length).toBe(recording.lines.length + 2);
      await store.close();
    },
  );

  describe.concurrent('that is not reached for a while, or whose process is not,', () => {
    test('where the server stays away, the run ends here as failed, and is resumed when it is there again', async () => {
      await using own = await startPostgres();
      const store = postgresJournal(own.url, { migrate: true, leaseMs: 2000, patienceMs: 1500 });
      const away = Promise.withResolvers();
      const { agentOf } = counting(store, away.promise);
      const run = agentOf().run('Count', { runId: 'run' });
      for await (const event of run) if (event.type === 'tool.finished') break;
      await own.kill();
      away.resolve(null);
      expect(await run).toMatchObject({ status: 'failed', error: { code: 'store-unreachable' } });
      await own.start();
      // The time that it may stay away is short for this test, and too short for a busy machine.
      await using patient = postgresJournal(own.url);
      await poll(async () => (await patient.list())[0]?.state).toBe('interrupted');
      expect(await counting(patient).agentOf().resume('run')).toMatchObject({ status: 'answered' });
      await store.close();
    });

    test('where the server stays away, a conversation is free when it is there again', async () => {
      await using own = await startPostgres();
      const store = postgresJournal(own.url, { migrate: true, leaseMs: 2000, patienceMs: 1500 });
      const away = Promise.withResolvers();
      const { agentOf } = counting(store, away.promise);
      const run = agentOf().conversation('c').run('Count');
      for await (const event of run) if (event.type === 'tool.finished') break;
      await own.kill();
      away.resolve(null);
      expect(await run).toMatchObject({ status: 'failed', error: { code: 'store-unreachable' } });
      await own.start();
      const resumed = () => agentOf().conversation('c').resume();
      await poll(() => resumed().catch(String), { timeout: 20_000 }).toMatchObject({ status: 'answered' });
      await store.close();
    });

    test('a process that was stopped for longer than its lease writes nothing more: its run ended elsewhere', async () => {
      const schema = newSchema();
      await migratePostgres(server.url, { schema });
      const zombie = start('postgres-run', server.url, schema, 'run', '3000');
      expect(await zombie.line()).toBe('holding');
      const store = postgresJournal(server.url, { schema });
      await expect(store.take('run')).rejects.toMatchObject({ code: 'run-locked' });
      expect(await store.list()).toMatchObject([{ state: 'running' }]);
      zombie.child.kill('SIGSTOP');
      await poll(async () => (await store.list())[0]?.state).toBe('interrupted');
      const { recording, sink } = await taken(store, 'run');
      await sink.append([{ t: 'end', at: 5, output: { status: 'stopped', reason: 'timeout' } }]);
      zombie.child.kill('SIGCONT');
      zombie.child.stdin.write('now\n');
      expect(JSON.parse(await zombie.line())).toEqual({ status: 'failed', code: 'run-lost' });
      await sink.close();
      expect((await recordsOf(store, 'run')).length).toBe(recording.lines.length + 2);
      await store.close();
    });

    test('a process that was stopped, and whose run was approved and ended elsewhere, does not wait for that forever', async () => {
      const schema = newSchema();
      await migratePostgres(server.url, { schema });
      const zombie = start('postgres-run', server.url, schema, 'run', '2000', 'confirm');
      expect(await zombie.line()).toBe('holding');
      const store = postgresJournal(server.url, { schema });
      // It has nothing more to write.
      await poll(() => recordsOf(store, 'run')).toContainEqual(expect.objectContaining({ name: 'askApproval' }));
      zombie.child.kill('SIGSTOP');
      const hold = fakeTool('hold', ['held'], { effects: 'idempotent', policy: 'confirm' });
      const model = scriptedModel(['Done.']);
      const agent = createAgent({ name: 'holder', model, tools: [hold], journal: store, silent: true });
      await poll(() => agent.approve('run', 'c1').catch(() => false), { timeout: 20_000 }).toBe(true);
      expect(await agent.resume('run')).toMatchObject({ status: 'answered' });
      zombie.child.kill('SIGCONT');
      expect(JSON.parse(await zombie.line())).toEqual({ status: 'failed', code: 'run-lost' });
      await store.close();
    });

    test('the run of a process that was killed is resumed by another when its lease is over, and not before', async () => {
      const schema = newSchema();
      await migratePostgres(server.url, { schema });
      const first = start('postgres-run', server.url, schema, 'run', '4000');
      expect(await first.line()).toBe('holding');
      await first.kill();
      const store = postgresJournal(server.url, { schema });
      await expect(store.take('run')).rejects.toMatchObject({ code: 'run-locked' });
      await poll(async () => (await store.list())[0]?.state).toBe('interrupted');
      const agent = createAgent({
        name: 'holder',
        model: scriptedModel(['Done.']),
        tools: [fakeTool('hold', ['held'], { effects: 'idempotent' })],
        journal: store,
        silent: true,
      });
      expect(await agent.resume('run')).toMatchObject({ status: 'answered' });
      await store.close();
    });

    test('workers finish their own runs and those of workers that are killed', async () => {
      await using own = await startPostgres();
      const store = postgresJournal(own.url, { migrate: true });
      await store.list();
      const script = join(import.meta.dirname, '../../examples/21-workers.ts');
      const workers = [1, 2, 3].map(() =>
        spawn(process.execPath, [...BUNDLED, '--conditions=@signalbox/source', script, own.url, '5'], {
          stdio: 'ignore',
        }),
      );
      await poll(async () => (await store.list()).length, { timeout: 40_000 }).toBe(15);
      for (const one of workers.slice(0, 2)) one.kill('SIGKILL');
      await poll(async () => (await store.list({ status: 'answered' })).length, { timeout: 40_000 }).toBe(15);
      expect(await store.list({ state: 'ended' })).toHaveLength(15);
      for (const one of workers) one.kill('SIGKILL');
      await store.close();
    });
  });
});

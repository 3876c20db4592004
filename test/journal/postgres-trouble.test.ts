import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { JournalStore } from '../../src/journal/index.ts';
import { migratePostgres, postgresJournal } from '../../src/journal/postgres/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { calls } from '../support/replies.ts';
import { driving } from '../agent/requests/driving.ts';
import { recordsOf } from './stored-runs.ts';

/** An agent that calls `pay` once and then answers; `replies` are those that are left. */
function payer(journal: JournalStore, replies: Parameters<typeof scriptedModel>[0] = [calls(['pay']), 'Paid.']) {
  const pay = fakeTool('pay', ['paid'], { effects: 'once' });
  return {
    pay,
    agent: createAgent({ name: 'payer', model: scriptedModel(replies), tools: [pay], journal, silent: true }),
  };
}

describe.skipIf(NO_POSTGRES !== '')('postgresJournal on a server that is in its way', () => {
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

  const migrated = async (): Promise<string> => {
    const schema = `trouble_${count++}`;
    await migratePostgres(pool, { schema });
    return schema;
  };

  /** Refuses what a condition says of a run's row, with a code, until the returned function is called. */
  const refusing = async (schema: string, condition: string, code: string): Promise<() => Promise<unknown>> => {
    await pool.query(`
      create function ${schema}.refuse() returns trigger language plpgsql as $$ begin
        if ${condition} then raise exception 'No space left on device' using errcode = '${code}'; end if;
        return new;
      end $$;
      create trigger refuse before insert or update on ${schema}.runs for each row execute function ${schema}.refuse()`);
    return () => pool.query(`drop trigger refuse on ${schema}.runs`);
  };

  for (const reset of ['deallocate all', 'discard all'])
    test(`runs end, and are done once, where connections are reset between statements (${reset})`, async () => {
      const own = new pg.Pool({ connectionString: server.url, max: 2 });
      const resetting = {
        query: async (statement: pg.QueryConfig) => {
          const client = await own.connect();
          try {
            return await client.query(statement);
          } finally {
            await client.query(reset);
            client.release();
          }
        },
      };
      const store = postgresJournal(resetting, { schema: await migrated() });
      const payers = [1, 2, 3, 4].map(() => payer(store));
      const results = await Promise.all(payers.map(async ({ agent }) => agent.run('Pay')));
      expect(results.map(({ status, error }) => error?.code ?? status)).toEqual(payers.map(() => 'answered'));
      expect(payers.map(({ pay }) => pay.calls.length)).toEqual([1, 1, 1, 1]);
      const found = await Promise.all(results.map(async ({ runId }) => recordsOf(store, runId)));
      expect(found.map((records) => records.at(-1)?.t)).toEqual(payers.map(() => 'end'));
      await store.close();
      await own.end();
    });

  test.each(['sign', 'append', 'take', 'release', 'leave', 'secrets'])(
    'a statement that is never answered (%s) is sent again, or left, and holds nothing up',
    async (name) => {
      let unanswered = 0;
      const silent = {
        query: (statement: pg.QueryConfig & { readonly query_timeout?: number }) => {
          if (statement.name?.startsWith(`signalbox ${name} `) !== true || unanswered++ > 0)
            return pool.query(statement);
          // As `pg` does it: without a limit of its own, it waits for ever.
          return new Promise<never>((_resolve, reject) => {
            if (statement.query_timeout === undefined) return;
            setTimeout(() => reject(new Error('Query read timeout')), statement.query_timeout);
          });
        },
      };
      const store = postgresJournal(silent, { schema: await migrated(), leaseMs: 1000 });
      const { agent, pay } = payer(store);
      const run = agent.conversation('ann').run('Pay');
      store.secrets?.keep(run.runId, { '«secret:1»': 'sesame' });
      const { status, runId } = await run;
      expect([status, pay.calls.length]).toEqual(['answered', 1]);
      expect(await store.repair(runId)).toMatchObject({ damage: null });
      await store.close();
      expect(unanswered).toBeGreaterThan(0);
    },
  );

  test('what was sent again, and comes late, takes no run that was given back and keeps no secret of one that has ended', async () => {
    const schema = await migrated();
    const late = new Map<string, () => Promise<unknown>>();
    const query = (statement: pg.QueryConfig & { readonly query_timeout?: number }) => {
      const [name] = /(?<=^signalbox )(?:take|secrets)(?= )/.exec(statement.name ?? '') ?? [];
      if (name === undefined || late.has(name)) return pool.query(statement);
      late.set(name, () => pool.query({ text: statement.text, values: statement.values ?? [] }));
      return Promise.reject(new Error('Query read timeout'));
    };
    const [store, other] = [postgresJournal({ query }, { schema }), postgresJournal(pool, { schema })];
    // Its process lives on.
    const leave = await store.claim('another name');
    const asks = fakeTool('ask', ['asked'], { policy: 'confirm' });
    const agent = (journal: JournalStore, replies: readonly ScriptedReply[]) =>
      createAgent({ model: scriptedModel(replies), tools: [asks], journal, secrets: ['sesame'], silent: true });
    const parked = await agent(store, [calls(['ask'])]).run('Say sesame.', { runId: 'run', park: true });
    expect(parked.status).toBe('waiting');
    expect((await agent(store, []).resume('run', { park: true })).status).toBe('waiting');
    await late.get('take')?.();
    expect(await agent(other, []).approve('run', 'c1')).toBe(true);
    expect(await agent(other, ['Done.']).resume('run')).toMatchObject({ status: 'answered' });
    await late.get('secrets')?.();
    expect((await pool.query(`select mark from ${schema}.secrets`)).rows).toEqual([]);
    expect(late.size).toBe(2);
    await leave?.();
    await Promise.all([store.close(), other.close()]);
  });

  /** A pool that gives one statement up, which comes when `late` is called. */
  const lateOnce = (lost: RegExp) => {
    let first: pg.QueryConfig | null = null;
    const query = async (statement: pg.QueryConfig) => {
      if (first !== null || !lost.test(`${statement.name} ${statement.text}`)) return pool.query(statement);
      first = { text: statement.text, values: statement.values ?? [] };
      throw new Error('Query read timeout');
    };
    return { query, late: async () => (first === null ? null : pool.query(first)) };
  };

  test.each<[what: string, lost: RegExp]>([
    ['the beginning of a run that was removed', /^signalbox append /],
    ['a claim of a conversation that is free', /insert into .*names/],
  ])('%s, sent again and coming late, does not last while its process lives', async (_what, lost) => {
    const schema = await migrated();
    const { query, late } = lateOnce(lost);
    const [store, other] = [postgresJournal({ query }, { schema, leaseMs: 600 }), postgresJournal(pool, { schema })];
    const { agent } = payer(store);
    const { status, runId } = await agent.conversation('ann').run('Pay');
    expect([status, await other.remove(runId)]).toEqual(['answered', true]);
    // A run of its own, as many are: a claim would have kept it from beginning.
    const alone = lateOnce(/^signalbox append /);
    const third = postgresJournal(alone, { schema, leaseMs: 600 });
    await payer(third).agent.run('Pay', { runId: 'alone' });
    expect(await other.remove('alone')).toBe(true);
    await Promise.all([late(), alone.late()]);
    const left = async () => [
      (await other.list()).map((run) => run.runId),
      (await pool.query(`select name from ${schema}.names where name like '%ann'`)).rows,
      (await pool.query(`select n from ${schema}.lines`)).rows,
    ];
    await expect.poll(left, { timeout: 10_000 }).toEqual([[], [], []]);
    expect((await payer(other).agent.conversation('ann').run('Pay')).status).toBe('answered');
    await Promise.all([store.close(), other.close(), third.close()]);
  });

  test('a run that was taken late, after its process had given up, is free again, and nothing of it is removed', async () => {
    const schema = await migrated();
    const asks = fakeTool('ask', ['asked'], { policy: 'confirm' });
    const agent = (journal: JournalStore, replies: readonly ScriptedReply[]) =>
      createAgent({ model: scriptedModel(replies), tools: [asks], journal, silent: true });
    const { query, late } = lateOnce(/^signalbox take /);
    const [store, other] = [
      postgresJournal({ query }, { schema, leaseMs: 600, patienceMs: 1 }),
      postgresJournal(pool, { schema }),
    ];
    expect((await agent(other, [calls(['ask'])]).run('Ask', { runId: 'run', park: true })).status).toBe('waiting');
    const leave = await store.claim('another name');
    await expect(agent(store, []).resume('run')).rejects.toMatchObject({ code: 'store-unreachable' });
    // It is given back with a sign of life.
    const signs = `select until::text from ${schema}.writers order by until limit 1`;
    const before = String((await pool.query(signs)).rows[0]?.until);
    await expect.poll(async () => String((await pool.query(signs)).rows[0]?.until)).not.toBe(before);
    await late();
    await expect.poll(async () => (await other.list())[0]?.state, { timeout: 10_000 }).toBe('waiting');
    expect(await agent(other, []).approve('run', 'c1')).toBe(true);
    expect(await agent(other, ['Done.']).resume('run')).toMatchObject({ status: 'answered' });
    await leave?.();
    await Promise.all([store.close(), other.close()]);
  });

  test('a beginning that is refused leaves nothing of what was said before it', async () => {
    const schema = await migrated();
    const store = postgresJournal(pool, { schema });
    await payer(store).agent.run('Pay', { runId: 'run' });
    const history = [{ role: 'user', content: 'word '.repeat(3000) }] as const;
    const agent = createAgent({ model: scriptedModel([]), journal: store, silent: true, history });
    expect(await agent.run('Pay', { runId: 'run' })).toMatchObject({ error: { code: 'run-exists' } });
    const kept = `select id from ${schema}.histories union all select history from ${schema}.messages`;
    expect((await pool.query(kept)).rows).toEqual([]);
    await store.close();
  });

  test('a request that was answered was, though the server is away by then', async () => {
    const schema = await migrated();
    const query = async (statement: pg.QueryConfig) => {
      if (!/^delete from .*requests/.test(statement.text)) return pool.query(statement);
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    const [store, other] = [postgresJournal({ query }, { schema, patienceMs: 300 }), postgresJournal(pool, { schema })];
    const stop = other.requests.serve('run', async () => ({ heard: true }));
    expect(await store.requests.ask('run', {}, 10_000)).toEqual({ heard: true });
    stop();
    await Promise.all([store.close(), other.close()]);
  });

  test.each<[what: string, settings: readonly string[], isDeafened: boolean]>([
    ['ends what is idle or long', ['idle_session_timeout=500ms', 'statement_timeout=1s'], false],
    ['has five connections', ['max_connections=5'], false],
    ['ends each connection for notifications', [], true],
  ])('runs end, and are approved from elsewhere, where the server %s', async (_what, settings, isDeafened) => {
    await using own = await startPostgres(['fsync=off', ...settings]);
    await migratePostgres(own.url);
    const other = postgresJournal(own.url);
    const stores = [1, 2].map(() => postgresJournal(own.url));
    const [done, steps] = [new Array<string>(), [1, 2, 3, 4]];
    const agents = [0, 1, 2, 3].map((n) => {
      const input = { type: 'object', properties: { step: { type: 'number' } } };
      const execute = async ({ step }: { readonly step?: unknown }) => {
        done.push(`${n} ${String(step)}`);
        await new Promise((resolve) => setTimeout(resolve, 300));
        return 'done';
      };
      const policy = n === 0 ? 'confirm' : 'allow';
      const work = tool({ name: 'work', description: 'Works.', effects: 'once', policy, inputSchema: input, execute });
      const model = scriptedModel([...steps.map((step) => calls(['work', { step }])), 'Done.']);
      const journal = stores[n % 2];
      return createAgent({ name: 'worker', model, tools: [work], journal, confirm: 'wait', silent: true });
    });
    const isOver = { yet: false };
    const deafen = async () => {
      using ended = new DisposableStack();
      const client = new pg.Client({ connectionString: own.url });
      ended.defer(() => void client.end());
      await client.connect();
      for (; !isOver.yet; await new Promise((resolve) => setTimeout(resolve, 30)))
        await client.query("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%'");
    };
    const deafening = isDeafened ? deafen() : null;
    const running = Promise.all(agents.map(async (agent, n) => agent.run('Work', { runId: `run-${n}` })));
    const there = createAgent({ name: 'worker', model: scriptedModel([]), journal: other, silent: true });
    for (const _step of steps) {
      await expect.poll(async () => (await there.pending('run-0')).length).toBe(1);
      const [asked] = await there.pending('run-0');
      expect(await there.approve('run-0', asked?.callId ?? '')).toBe(true);
    }
    expect((await running).map(({ status, error }) => error?.code ?? status)).toEqual(agents.map(() => 'answered'));
    isOver.yet = true;
    await deafening;
    expect(done.toSorted()).toEqual([0, 1, 2, 3].flatMap((n) => steps.map((step) => `${n} ${step}`)));
    for (const store of [other, ...stores]) await store.close();
  });

  test('much is written over a connection that is slow', async () => {
    const sizeOf = (values: readonly unknown[]): number => JSON.stringify(values).length;
    const slow = {
      query: async (statement: pg.QueryConfig & { readonly query_timeout?: number }) => {
        // A megabyte in ten seconds.
        if ((statement.query_timeout ?? Infinity) < sizeOf(statement.values ?? []) / 100)
          throw new Error('Query read timeout');
        return pool.query(statement);
      },
    };
    const store = postgresJournal(slow, { schema: await migrated(), patienceMs: 300 });
    const look = fakeTool('look', ['x'.repeat(5_000_000)]);
    const model = scriptedModel([calls(['look']), 'Seen.']);
    const agent = createAgent({ model, tools: [look], journal: store, silent: true });
    expect(await agent.run('Look')).toMatchObject({ status: 'answered' });
    await store.close();
  });

  test('runs are forgotten by their age, though all that are too many are being written', async () => {
    const schema = await migrated();
    const store = postgresJournal(pool, { schema });
    for (const runId of ['held', 'old']) await payer(store).agent.run('Pay', { runId });
    const held = await store.take('held');
    await pool.query(`update ${schema}.runs set written_at = now() - interval '9 days'`);
    expect(await store.prune({ maxRuns: 1, maxAgeDays: 8 })).toBe(1);
    expect((await store.list()).map(({ runId }) => runId)).toEqual(['held']);
    await held?.sink.close();
    await store.close();
  });

  test.each([
    { maxAgeDays: 0 },
    { maxAgeDays: -1 },
    { maxAgeDays: Number.NaN },
    { maxAgeDays: '9' },
    { maxAgeDays: null },
    { maxRuns: null },
    { maxRuns: -1 },
    { maxRuns: Number.POSITIVE_INFINITY },
    { maxAge: 9 },
  ])('no run is removed for the limits %j, which are refused', async (limits) => {
    const store = postgresJournal(pool, { schema: await migrated() });
    await payer(store).agent.run('Pay');
    await expect(store.prune(Object(limits))).rejects.toThrow(
      /^prune: (?:the option max\w+ must be|there is no option 'maxAge')/,
    );
    expect(await store.list()).toHaveLength(1);
    await store.close();
  });

  test('runs of no age that a server can reckon with are kept', async () => {
    const store = postgresJournal(pool, { schema: await migrated() });
    await payer(store).agent.run('Pay');
    for (const maxAgeDays of [1e7, Number.POSITIVE_INFINITY]) expect(await store.prune({ maxAgeDays })).toBe(0);
    expect(await store.prune({ maxAgeDays: 1e-9 })).toBe(1);
    await store.close();
  });

  test('tables are made in a schema of its own by a role that may make no schema', async () => {
    await pool.query('create role tenant login; create schema tenant authorization tenant');
    const url = server.url.replace('postgres@', 'tenant@');
    const store = postgresJournal(url, { schema: 'tenant', migrate: true });
    expect(await payer(store).agent.run('Pay')).toMatchObject({ status: 'answered' });
    expect(await migratePostgres(url, { schema: 'tenant' })).toEqual({ from: 2, to: 2 });
    await store.close();
  });

  test('two schemas whose names are as long as they may be, and almost the same, share a connection', async () => {
    const own = new pg.Pool({ connectionString: server.url, max: 1 });
    const stores = ['x', 'y'].map((end) => postgresJournal(own, { schema: 'a'.repeat(62) + end, migrate: true }));
    for (const [index, store] of stores.entries()) {
      expect(await payer(store).agent.run('Pay', { runId: `run-${index}` })).toMatchObject({ status: 'answered' });
    }
    const lists = await Promise.all(stores.map(async (store) => store.list()));
    expect(lists.map((runs) => runs.map(({ runId }) => runId))).toEqual([['run-0'], ['run-1']]);
    for (const store of stores) await store.close();
    await own.end();
  });

  test('tables of this version are used by a role that may make none, also with the option migrate', async () => {
    const schema = await migrated();
    await pool.query(`
      create role worker login; grant usage on schema ${schema} to worker;
      grant select, insert, update, delete on all tables in schema ${schema} to worker`);
    const url = server.url.replace('postgres@', 'worker@');
    const store = postgresJournal(url, { schema, migrate: true });
    expect(await payer(store).agent.run('Pay')).toMatchObject({ status: 'answered' });
    await store.close();
    const other = postgresJournal(url, { schema: 'not_there', migrate: true });
    await expect(other.list()).rejects.toMatchObject({ code: '42501' });
    await other.close();
  });

  test('runs are listed and read where nothing can be written, also with the option migrate', async () => {
    const schema = await migrated();
    const writing = postgresJournal(pool, { schema });
    const { runId } = await payer(writing).agent.run('Pay');
    const url = `${server.url}?options=-c%20default_transaction_read_only%3Don`;
    const store = postgresJournal(url, { schema, migrate: true, patienceMs: 200 });
    expect(await store.list()).toMatchObject([{ runId, status: 'answered' }]);
    expect(await recordsOf(store, runId)).toEqual(await recordsOf(writing, runId));
    expect(await payer(store).agent.run('Pay')).toMatchObject({
      status: 'failed',
      error: { code: 'store-unreachable' },
    });
    await store.close();
    await writing.close();
  });

  test('an answer of another process is taken that came before notifications could be heard', async () => {
    const schema = await migrated();
    const there = driving({ kind: 'postgres', place: `${server.url} ${schema}`, runId: 'pay', task: 'pay' });
    await there.said(({ type }) => type === 'approval.requested');
    const isAnswered = Promise.withResolvers<undefined>();
    class LateClient extends pg.Client {
      override async connect() {
        await isAnswered.promise;
        return super.connect();
      }
    }
    const { options } = pool;
    // It is not there yet when it is looked for first.
    const isEarly = [true];
    const query = async (statement: pg.QueryConfig) =>
      statement.text.startsWith('select answer') && isEarly.pop() === true ? { rows: [] } : pool.query(statement);
    const store = postgresJournal({ options, Client: LateClient, query }, { schema });
    const agent = createAgent({ name: 'here', model: scriptedModel([]), silent: true, journal: store });
    const [pending] = await agent.pending('pay');
    // Rows are looked for again by a timer.
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const approved = agent.approve('pay', pending?.callId ?? '');
    const answers = `select 1 from ${schema}.requests where answer is not null`;
    while ((await pool.query(answers)).rows.length === 0) await there.said(({ type }) => type === 'tool.started');
    isAnswered.resolve(undefined);
    expect(await approved).toBe(true);
    await Promise.all([there.kill(), store.close()]);
  });

  test('a list ends, and shows each run once, where rows say that they began at another time', async () => {
    const schema = await migrated();
    await payer(postgresJournal(pool, { schema })).agent.run('Pay', { runId: 'first' });
    const columns = 'at, agent, head, metadata, ended, waiting, tools, steps, records';
    await pool.query(`
      insert into ${schema}.runs (run_id, ${columns}) select 'copy-' || n, ${columns} from ${schema}.runs, generate_series(1, 1200) n;
      update ${schema}.runs set head = jsonb_set(head::jsonb, '{at}', '"9999-12-31T00:00:00.000Z"')::text`);
    let pages = 0;
    const counting = {
      query: (statement: pg.QueryConfig) => {
        if (statement.text.includes('order by at desc') && ++pages > 10) throw new Error('too many pages');
        return pool.query(statement);
      },
    };
    const store = postgresJournal(counting, { schema });
    const ids = (await store.list()).map(({ runId }) => runId);
    expect([ids.length, new Set(ids).size, pages]).toEqual([1201, 1201, 3]);
    // Nor does one who turns the pages see a run twice.
    const [first] = await store.list({ limit: 1 });
    expect((await store.list({ after: first, limit: 1 }))[0]?.runId).toBe(ids[1]);
  });

  test('a row that is damaged hides no other run, and is listed as its lines say', async () => {
    const schema = await migrated();
    const store = postgresJournal(pool, { schema });
    for (const runId of ['first', 'second', 'third'])
      await payer(store).agent.run('Pay', { runId, metadata: { runId } });
    const before = await store.list();
    await pool.query(`
      update ${schema}.runs set head = case run_id when 'first' then left(head, 20) else 'null' end where run_id <> 'second'`);
    expect(await store.list()).toEqual(before);
    expect(await store.list({ limit: 1, after: before[0] })).toEqual(before.slice(1, 2));
    expect(await store.list({ metadata: { runId: 'first' } })).toEqual(before.slice(2));
    await pool.query(`
      update ${schema}.lines set line = '{' where n = 1 and run = (select id from ${schema}.runs where run_id = 'first')`);
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    onTestFinished(() => warned.mockRestore());
    expect(await store.list()).toEqual(before.slice(0, 2));
    expect(warned.mock.calls.map(([text]) => String(text))).toEqual([
      expect.stringMatching(/^first in .* is left out of the list of runs\. Line 1 /),
    ]);
  });

  test('a conversation may have a long name, and is one of its own', async () => {
    const store = postgresJournal(pool, { schema: await migrated() });
    const text = Array.from({ length: 3000 }, () => String.fromCodePoint(Math.floor(0x4e00 + Math.random() * 5000)));
    const [name, other] = ['a', 'b'].map((end) => text.join('') + end);
    const model = scriptedModel(['One.', 'Two.', 'Three.']);
    const say = (id = '') => createAgent({ model, journal: store, silent: true }).conversation(id);
    expect(await say(name).run('First?')).toMatchObject({ status: 'answered' });
    expect(await say(other).run('Another?')).toMatchObject({ status: 'answered' });
    const free = await store.claim(name ?? '');
    expect([await store.claim(name ?? ''), await store.claim(other ?? '')]).toEqual([null, expect.any(Function)]);
    await free?.();
    expect(await say(name).run('Second?')).toMatchObject({ status: 'answered' });
    const sent = model.requests.at(-1)?.messages.map(({ content }) => content);
    expect(sent?.slice(1)).toEqual(['First?', 'One.', 'Second?']);
    await store.close();
  });

  test('a run whose last records are lost with a server is not answered, and is continued from those that are left', async () => {
    const schema = await migrated();
    const store = postgresJournal(pool, { schema });
    let looks = 0;
    const look = tool({
      name: 'look',
      description: 'Looks.',
      effects: 'idempotent',
      execute: async () => {
        looks += 1;
        // What the server that takes over has not received yet.
        if (looks === 3)
          await pool.query(`
            delete from ${schema}.lines where n > 8;
            update ${schema}.runs set records = 8`);
        return 'seen';
      },
    });
    const agent = (replies: readonly ScriptedReply[]) =>
      createAgent({ model: scriptedModel(replies), tools: [look], journal: store, silent: true });
    expect(
      await agent([...[1, 2, 3].map((n) => calls(['look', { n }])), 'Seen.']).run('Look', { runId: 'run' }),
    ).toMatchObject({
      status: 'failed',
      error: { code: 'run-lost' },
    });
    await expect.poll(async () => (await store.list())[0]?.state).toBe('interrupted');
    expect((await recordsOf(store, 'run')).length).toBe(8);
    expect(await agent(['Seen.']).resume('run')).toMatchObject({ status: 'answered' });
    expect((await recordsOf(store, 'run')).at(-1)).toMatchObject({ t: 'end' });
    await store.close();
  });

  test('a conversation goes on whose last messages are lost with a server', async () => {
    const schema = await migrated();
    const store = postgresJournal(pool, { schema });
    const model = scriptedModel(['One.', 'Two.', 'Three.', 'Four.', 'Five.']);
    const { run } = createAgent({ model, journal: store, silent: true }).conversation('ann');
    const long = 'word '.repeat(2000);
    for (const text of ['1', '2', '3']) expect(await run(text + long)).toMatchObject({ status: 'answered' });
    // What the server that takes over has not received.
    await pool.query(`
      delete from ${schema}.runs where id = (select max(id) from ${schema}.runs);
      delete from ${schema}.messages where n > 1`);
    for (const text of ['4', '5']) {
      const { status, runId } = await run(text + long);
      expect([status, (await recordsOf(store, runId)).at(-1)?.t]).toEqual(['answered', 'end']);
    }
    const sent = model.requests.at(-1)?.messages.flatMap(({ role, content }) => (role === 'user' ? [content[0]] : []));
    expect(sent).toEqual(['1', '2', '4', '5']);
    // The conversation is stored once again from here on.
    await run('6');
    const [row] = (await pool.query(`select head, history from ${schema}.runs order by id desc limit 1`)).rows;
    expect(row).toMatchObject({ history: expect.any(String) });
    await store.close();
  });

  test('where the disk is full, a run is not answered whose end could not be written, and is when it is resumed', async () => {
    const schema = await migrated();
    const allow = await refusing(schema, 'new.ended', '53100');
    const store = postgresJournal(pool, { schema, patienceMs: 300 });
    const first = payer(store);
    const refused = await first.agent.run('Pay', { runId: 'run' });
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'store-unreachable' } });
    expect(refused.error?.message).toContain('No space left on device');
    await allow();
    await expect.poll(async () => (await store.list())[0]?.state).toBe('interrupted');
    const again = payer(store, ['Paid.']);
    expect(await again.agent.resume('run')).toMatchObject({ status: 'answered' });
    expect([first, again].map(({ pay }) => pay.calls.length)).toEqual([1, 0]);
    await store.close();
  });

  test('a secret of a run is kept that waited while the server was away too long for another, and is asked for once', async () => {
    const sent: string[] = [];
    let isAway = false;
    const leaving = {
      query: async (statement: pg.QueryConfig) => {
        sent.push(`${statement.text} ${JSON.stringify(statement.values)}`);
        if (isAway) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
        return pool.query(statement);
      },
    };
    const store = postgresJournal(leaving, { schema: await migrated(), patienceMs: 1 });
    const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const hold = tool({ name: 'hold', description: 'Holds.', execute: () => (begun.resolve(), held.promise) });
    const model = scriptedModel([calls(['hold']), 'Held.']);
    const run = createAgent({ name: 'holder', model, tools: [hold], journal: store, silent: true }).run('Hold');
    await begun.promise;
    isAway = true;
    store.secrets?.keep(run.runId, { '«secret:1»': 'sesame' });
    store.secrets?.keep('lost', { '«secret:1»': 'poppy' });
    const lost = await payer(store).agent.run('Pay', { runId: 'lost' });
    expect(lost).toMatchObject({ status: 'failed', error: { code: 'store-unreachable' } });
    const before = sent.length;
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(sent.slice(before)).toEqual([]);
    isAway = false;
    held.resolve('yes');
    expect(await run).toMatchObject({ status: 'answered' });
    const after = sent.slice(before);
    expect(after.findIndex((text) => text.includes('sesame'))).toBeGreaterThan(-1);
    expect(after.findIndex((text) => text.includes('sesame'))).toBeLessThan(
      after.findIndex((text) => text.includes('hold')),
    );
    expect(after.filter((text) => text.includes('poppy'))).toEqual([]);
    await store.close();
  });

  test('each of many requests to a run is answered once, although each wakes its process', async () => {
    const schema = await migrated();
    const [here, there] = [postgresJournal(pool, { schema }), postgresJournal(pool, { schema })];
    const answered: unknown[] = [];
    here.requests.serve('run', async (asked) => {
      answered.push(asked['n']);
      return { heard: asked['n'] ?? null };
    });
    const numbers = Array.from({ length: 12 }, (_, n) => n);
    const answers = await Promise.all(numbers.map(async (n) => there.requests.ask('run', { n }, 10_000)));
    expect(answers).toEqual(numbers.map((heard) => ({ heard })));
    expect(answered.toSorted((a, b) => Number(a) - Number(b))).toEqual(numbers);
    expect((await pool.query(`select id from ${schema}.requests`)).rows).toEqual([]);
    await Promise.all([here.close(), there.close()]);
  });

  test('a connection for notifications that is lost is replaced, and what came meanwhile is looked for', async () => {
    const schema = await migrated();
    const store = postgresJournal(pool, { schema });
    let heard = 0;
    const stop = store.changes('run', () => (heard += 1));
    await expect.poll(() => heard, { timeout: 10_000 }).toBe(1);
    await pool.query("select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen signalbox'");
    await expect.poll(() => heard, { timeout: 10_000 }).toBe(2);
    expect(await payer(store).agent.run('Pay', { runId: 'run' })).toMatchObject({ status: 'answered' });
    await expect.poll(() => heard).toBeGreaterThan(2);
    stop();
    await store.close();
  });

  test('a journal that was closed hears notifications when it is used again, until it is closed again', async () => {
    const schema = await migrated();
    const [store, other] = [postgresJournal(server.url, { schema }), postgresJournal(pool, { schema })];
    await store.list();
    await store.close();
    const changed = vi.fn<() => void>();
    store.changes('run', changed);
    // It is called once when it listens, and would be looked for every second without that.
    await expect.poll(() => changed.mock.calls.length).toBe(1);
    await payer(other).agent.run('Pay', { runId: 'run' });
    await expect.poll(() => changed.mock.calls.length).toBeGreaterThan(1);
    await store.close();
    const listening = `select count(*)::int as n from pg_stat_activity where query = 'listen signalbox' and application_name = 'signalbox'`;
    await expect.poll(async () => (await pool.query<{ n: number }>(listening)).rows[0]?.n).toBe(0);
    await other.close();
  });

  test('what a process asked that has died is not done when the run is driven again much later', async () => {
    const schema = await migrated();
    const [store, other] = [postgresJournal(pool, { schema }), postgresJournal(pool, { schema })];
    const served: unknown[] = [];
    for (const [id, age] of [
      ['old', '61 seconds'],
      ['young', '50 seconds'],
    ])
      await pool.query(`insert into ${schema}.requests (id, run_id, request, at)
        values ('${id}', 'run', '{"of":"${id}"}', now() - interval '${age}')`);
    const stop = store.requests.serve('run', async (request) => ({ n: served.push(request) }));
    expect(await other.requests.ask('run', { of: 'a living process' }, 60_000)).not.toBeNull();
    await expect.poll(() => served).toContainEqual({ of: 'young' });
    expect(served).toHaveLength(2);
    stop();
    for (const one of [store, other]) await one.close();
  });

  test('an answer that the server refuses ends no process', async () => {
    const schema = await migrated();
    const refused = Promise.withResolvers<void>();
    const query = async (statement: pg.QueryConfig) => {
      if (!statement.text.includes('set answer')) return pool.query(statement);
      refused.resolve();
      throw Object.assign(new Error('permission denied'), { code: '42501', severity: 'ERROR' });
    };
    const store = postgresJournal({ query }, { schema });
    const stop = store.requests.serve('run', async () => ({ heard: true }));
    await pool.query(`insert into ${schema}.requests (id, run_id, request) values ('q', 'run', '{}')`);
    await refused.promise;
    // A rejection that nobody handles is told by now.
    await new Promise((resolve) => setTimeout(resolve, 0));
    stop();
    expect((await pool.query(`select answer from ${schema}.requests`)).rows).toEqual([{ answer: null }]);
    await store.close();
  });

  /** A pool that loses the answer to a statement that was done, with the server, until the returned function is called. */
  const losing = (lost: RegExp) => {
    let [isAway, isOver] = [false, false];
    const query = async (statement: pg.QueryConfig) => {
      const gone = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      if (isAway) throw gone;
      const answer = await pool.query(statement);
      isAway = !isOver && lost.test(`${statement.name} ${statement.text}`);
      if (isAway) throw gone;
      return answer;
    };
    const back = (): void => void ([isAway, isOver] = [false, true]);
    return { query, back };
  };

  test('a run is free when the server is there again that went away as soon as the run was taken', async () => {
    const schema = await migrated();
    const allow = await refusing(schema, 'new.ended', '53100');
    const first = payer(postgresJournal(pool, { schema, patienceMs: 300 }));
    expect(await first.agent.run('Pay', { runId: 'run' })).toMatchObject({ status: 'failed' });
    await allow();
    await expect.poll(async () => (await postgresJournal(pool, { schema }).list())[0]?.state).toBe('interrupted');
    const away = losing(/^signalbox take /);
    const store = postgresJournal(away, { schema, patienceMs: 1 });
    const again = payer(store, ['Paid.']);
    await expect(again.agent.resume('run')).rejects.toMatchObject({ code: 'store-unreachable' });
    away.back();
    expect(await again.agent.resume('run')).toMatchObject({ status: 'answered' });
    await store.close();
  });

  test('a conversation is free when the server is there again that went away as soon as it was claimed', async () => {
    const away = losing(/insert into .*names/);
    const store = postgresJournal(away, { schema: await migrated(), patienceMs: 1 });
    const { agent } = payer(store);
    const said = async () => agent.conversation('ann').run('Pay');
    expect(await said().catch((error: unknown) => ({ error }))).toMatchObject({ error: { code: 'store-unreachable' } });
    away.back();
    expect(await said()).toMatchObject({ status: 'answered' });
    await store.close();
  });

  test('a run that has ended can be removed where the server went away before its secrets were forgotten', async () => {
    const schema = await migrated();
    const away = losing(/delete from .*secrets where/);
    const store = postgresJournal(away, { schema, patienceMs: 1, leaseMs: 600 });
    // The process gives signs of life all the time.
    const release = await store.claim('other');
    const { agent } = payer(store, [calls(['pay', { key: 'open sesame' }]), 'Paid.']);
    const run = agent.run('Pay', { runId: 'run' });
    store.secrets?.keep('run', { '«secret:1»': 'open sesame' });
    expect(await run).toMatchObject({ status: 'answered' });
    away.back();
    await expect.poll(() => store.remove('run').catch(String), { timeout: 10_000 }).toBe(true);
    await release?.();
    await store.close();
  });

  test.each(['P0001', '23503'])(
    'what the server refuses of one run (%s) fails no other that is written beside it',
    async (code) => {
      const schema = await migrated();
      await refusing(schema, "new.run_id = 'run-3' and new.ended", code);
      const store = postgresJournal(pool, { schema });
      const ids = [1, 2, 3, 4, 5].map((n) => `run-${n}`);
      const results = await Promise.all(ids.map(async (runId) => payer(store).agent.run('Pay', { runId })));
      expect(results.map(({ status, error }) => error?.code ?? status)).toEqual(
        ids.map((id) => (id === 'run-3' ? code : 'answered')),
      );
      expect(await store.list({ status: 'answered' })).toHaveLength(4);
      await store.close();
    },
  );
});

import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lineWriter } from '../../src/journal/format/blobs.ts';
import type { RecordLine, RunRecord } from '../../src/journal/format/record.ts';
import { liveJournal, memoryJournal, replay } from '../../src/journal/index.ts';
import type { JournalStore, Recording } from '../../src/journal/index.ts';
import { postgresJournal } from '../../src/journal/postgres/index.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { handOver } from '../journal/hand-over.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { cases, seedOr, SOAKING } from '../support/soak.ts';
import {
  agentOf,
  attend,
  endServer,
  type KilledRun,
  type Life,
  noteIn,
  RUNS,
  SAID,
  type World,
} from './killed-runs.ts';

const RUN_ID = 'run';

/** What is left of a run where its process died: its records, and the world as it was then. */
interface Left {
  readonly head: RunRecord;
  readonly lines: readonly RecordLine[];
  /** The record that was being written. */
  readonly next: RecordLine | null;
  readonly world: World;
}

/** Lives until it has written so many records, or until it is about to write the next: to its end, without a number. */
async function firstLife(run: KilledRun, at: number, when: 'before' | 'after'): Promise<Left & { result: unknown }> {
  const life: Life = { number: 1, world: { done: [], replies: [], failed: [] }, isDead: false };
  const written: RecordLine[] = [];
  const death = Promise.withResolvers<RecordLine | null>();
  const die = async (record: RecordLine | null): Promise<never> => {
    life.isDead = true;
    death.resolve(record);
    return new Promise(() => undefined);
  };
  const store: JournalStore = {
    open: (opened) =>
      liveJournal(opened, {
        append: async (records) => {
          if (life.isDead) await die(null);
          for (const record of records) {
            if (when === 'before' && written.length === at) await die(record);
            written.push(record);
            if (when === 'after' && written.length === at) await die(null);
          }
        },
        close: () => undefined,
      }),
  };
  const agent = agentOf(run, life, store);
  const going = agent.run('Do it.', { runId: RUN_ID });
  void attend(run, going);
  const result = await Promise.race([going, death.promise.then(() => null)]);
  const next = result === null ? await death.promise : null;
  const [head, ...lines] = structuredClone(written);
  if (head?.t !== 'run') throw new Error('The first record is the head.');
  // What has failed where nobody knows of it fails again.
  const knowsFailure = lines.some((record) => record.t === 'outcome' && !record.ok);
  const { done, replies, failed } = structuredClone(life.world);
  return { head, lines, next, world: { done, replies, failed: knowsFailure ? failed : [] }, result };
}

/** What is compared of two recordings: how often each kind of thing stands there. */
function contents({ head, lines }: Recording) {
  const all = [head, ...lines];
  const events = all.flatMap((record) => (record.t === 'event' ? [record.event.type] : []));
  const outcomes = all.flatMap((record) => (record.t === 'outcome' ? [record.id] : []));
  const good = (leaf: string): number =>
    all.filter((record) => record.t === 'outcome' && record.ok && record.id.includes(`/${leaf}#`)).length;
  const end = all.flatMap((record) => (record.t === 'end' ? [record.output] : []));
  const isUnknown = JSON.stringify(all).includes('"unknown-outcome"');
  return { events: events.toSorted(), outcomes: outcomes.toSorted(), good, end, isUnknown };
}

/** Continues what was left, from a store, and holds it against the run that nobody disturbed. */
async function expectUnharmed(run: KilledRun, whole: Left, left: Left, store: () => JournalStore): Promise<void> {
  const world = structuredClone(left.world);
  const life: Life = { number: 2, world, isDead: false };
  const agent = agentOf(run, life, store());
  const again = agent.resume(RUN_ID);
  void attend(run, again);
  const result = await again;
  const recording = (await store().read?.(RUN_ID)) ?? null;
  if (recording === null) throw new Error('The run is gone.');
  const [found, expected, before] = [contents(recording), contents(whole), contents(left)];

  // The same result. Where nobody knows an outcome, the model is told so, and a plan ends there: it takes fewer steps.
  const same = ({ status, result: said, reason }: Record<string, unknown>) => ({ status, said, reason });
  const ending = Object(expected.end[0]);
  expect(found.end).toHaveLength(1);
  expect(same(Object(result))).toEqual(same(ending));
  expect(same(Object(found.end[0]))).toEqual(same(ending));
  // Each effect finishes once, and what had finished is not done again.
  expect(new Set(found.outcomes).size).toBe(found.outcomes.length);
  if (found.isUnknown) expect(expected.outcomes).toEqual(expect.arrayContaining([...found.outcomes]));
  else expect([found.end, found.outcomes]).toEqual([expected.end, expected.outcomes]);
  expect(Object(found.end[0])['stepsTaken']).toBeLessThanOrEqual(ending['stepsTaken']);
  const replies = world.replies.filter((one) => one.life === 2).length;
  expect(replies).toBe(found.good('callLlm') - before.good('callLlm'));
  const known = new Set(left.lines.flatMap((record) => (record.t === 'outcome' && record.ok ? [record.id] : [])));
  const keys = left.lines.flatMap((record) =>
    record.t === 'start' && known.has(record.id) ? [`${RUN_ID}:${record.key}`] : [],
  );
  expect(world.done.filter(({ key, life: number }) => number === 2 && keys.includes(key))).toEqual([]);
  // What must run once never runs twice.
  for (const tool of ['pay', 'mail', 'dig']) {
    const done = world.done.filter((deed) => deed.tool === tool).map(({ key }) => key);
    expect(new Set(done).size, `${tool} runs once`).toBe(done.length);
    const calls = whole.world.done.filter((deed) => deed.tool === tool).length;
    if (!found.isUnknown) expect(done.length, `${tool} runs`).toBe(calls);
    else expect(done.length, `${tool} runs no more`).toBeLessThanOrEqual(calls);
  }
  // Nothing that was said is lost or doubled.
  expect(found.events).toEqual(expected.events);
  expect(JSON.stringify(found.end).split(SAID).length).toBe(JSON.stringify(expected.end).split(SAID).length);
  // One history, which replays on the agent.
  const write = lineWriter();
  const text = [recording.head, ...recording.lines].map((record) => write(record)).join('');
  expect(same(Object(await replay(text, agentOf(run, life, memoryJournal()))))).toEqual(same(Object(result)));
  await agent.close();
}

/** Of all boundaries those that are tried: all in a soak. */
const EVERY = cases(61, 1);
const SEED = seedOr(22);

describe('a run that is killed at any record', () => {
  let folder: string;
  let server: PostgresServer | null = null;
  let pool: pg.Pool | null = null;
  let places = 0;
  const tried = new Map<string, number>();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'signalbox-kills-'));
    noteIn(join(folder, 'notes'));
    if (NO_POSTGRES !== '') return;
    server = await startPostgres();
    pool = new pg.Pool({ connectionString: server.url });
    await postgresJournal(pool, { migrate: true }).list();
  });
  afterAll(async () => {
    if (SOAKING) console.log(JSON.stringify(Object.fromEntries(tried)));
    await endServer();
    await pool?.end();
    await server?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const newPlace = (): string => join(folder, String(places++));

  /** Each gives what makes a store at one place, as another process would. */
  const stores: Readonly<Record<string, (left: Left) => Promise<(() => JournalStore) | null>>> = {
    memory: async () => {
      const store = memoryJournal();
      return () => store;
    },
    file: async () => {
      const place = newPlace();
      return () => fileJournal(place);
    },
    'file, torn': async () => {
      const place = newPlace();
      return () => fileJournal(place);
    },
    sqlite: async () => {
      const place = newPlace();
      return () => sqliteJournal(place);
    },
    postgres: async () => {
      const at = pool;
      if (at === null) return null;
      await postgresJournal(at).remove(RUN_ID);
      return () => postgresJournal(at);
    },
  };

  test.each(Object.entries(RUNS))('%s', { timeout: cases(30_000, 3_600_000) }, async (name, run) => {
    const whole = await firstLife(run, Number.POSITIVE_INFINITY, 'before');
    const count = whole.lines.length + 1;
    // Without the head there is no run yet; behind the end it is over.
    const boundaries = Array.from({ length: count - 1 }, (_, index) => index + 1).flatMap((at) =>
      (['before', 'after'] as const).map((when) => ({ at, when })),
    );
    const kinds = Object.entries(stores);
    for (const [index, { at, when }] of boundaries.entries()) {
      const chosen = kinds.filter((_kind, kind) => (index * kinds.length + kind + SEED + name.length) % EVERY === 0);
      if (chosen.length === 0) continue;
      const left = await firstLife(run, at, when);
      for (const [kind, make] of chosen) {
        // Only what was being written can be torn.
        if (kind === 'file, torn' && left.next === null) continue;
        const store = await make(left);
        if (store === null) continue;
        await handOver(store(), left.head, left.lines);
        if (kind === 'file, torn') {
          const line = lineWriter()(left.next ?? left.head);
          appendFileSync(join(folder, String(places - 1), `${RUN_ID}.jsonl`), line.slice(0, line.length / 2));
        }
        try {
          await expectUnharmed(run, whole, left, store);
        } catch (error) {
          throw new Error(`${name}: killed ${when} record ${at} of ${count}, in ${kind}`, { cause: error });
        }
        tried.set(kind, (tried.get(kind) ?? 0) + 1);
      }
    }
    expect(count).toBeGreaterThan(3);
  });
});

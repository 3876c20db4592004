import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assertJournalConformance } from '../../src/journal/index.ts';
import type { JournalStore } from '../../src/journal/index.ts';
import { postgresJournal } from '../../src/journal/postgres/index.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { storeContract } from './store-contract.ts';

if (NO_POSTGRES !== '') console.warn(`postgres.test.ts is skipped: ${NO_POSTGRES}.`);

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
});

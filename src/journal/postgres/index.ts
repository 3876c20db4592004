import '../../platform.ts';
export { migratePostgres, postgresJournal } from './postgres-journal.ts';
export type { PostgresJournal, PostgresJournalOptions } from './postgres-journal.ts';
export type { PostgresClient, PostgresPool } from './postgres-database.ts';

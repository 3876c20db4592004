import { postgresJournal } from '../../src/journal/postgres/index.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { whole } from './stored-runs.ts';

/** The store of a kind, at a place: a folder for `file`, a file for `sqlite`, URL and schema for `postgres`. */
export function openStore(kind: string, place: string) {
  const [url = '', schema = ''] = place.split(' ');
  if (kind === 'postgres') return whole(postgresJournal(url, { schema, migrate: true }));
  return whole(kind === 'file' ? fileJournal(place) : sqliteJournal(place));
}

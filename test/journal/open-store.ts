import { fileJournal } from '../../src/journal/stores/file.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { whole } from './stored-runs.ts';

/** The store of a kind, at a place: a folder for `file`, a file for `sqlite`. */
export function openStore(kind: string, place: string) {
  return whole(kind === 'file' ? fileJournal(place) : sqliteJournal(place));
}

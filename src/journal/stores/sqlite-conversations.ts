/**
 * Owns: how the runs of one conversation are found among many without looking at all of them, and that a damaged database
 * hides none of them.
 *
 * I1 A conversation's number of runs stands apart from the index that finds them. Where the two disagree, or a row that was
 *    found is damaged or another conversation's, all rows are looked at.
 * I2 Its latest runs are found without reading the others, however many it has.
 */
import type { DatabaseSync } from 'node:sqlite';
import { conversationIn } from '../format/tally.ts';
import { type Row, isIntact, metadataIn } from './sqlite-rows.ts';

const NAMED = "json_valid(metadata) and json_type(metadata, '$.conversation') = 'text'";

/** The index, and the numbers of runs, which the database keeps by itself whatever adds or removes a run, also an older version. */
export const CONVERSATION_TABLES = `
  create index if not exists runs_by_conversation on runs (conversation) where conversation is not null;
  create table if not exists conversations (id text primary key, runs integer not null) strict, without rowid;
  create trigger if not exists conversation_begun after insert on runs when new.conversation is not null begin
    insert into conversations values (new.conversation, 1) on conflict (id) do update set runs = runs + 1;
  end;
  create trigger if not exists conversation_named after insert on runs
  when new.conversation is null and ${NAMED.replaceAll('metadata', 'new.metadata')} begin
    update runs set conversation = json_extract(metadata, '$.conversation') where id = new.id;
  end;
  create trigger if not exists conversation_left after delete on runs when old.conversation is not null begin
    update conversations set runs = runs - 1 where id = old.conversation;
    delete from conversations where id = old.conversation and runs = 0;
  end;
  create trigger if not exists conversation_changed after update of conversation on runs
  when old.conversation is not new.conversation begin
    update conversations set runs = runs - 1 where id = old.conversation;
    delete from conversations where id = old.conversation and runs = 0;
    insert into conversations select new.conversation, 1 where new.conversation is not null
      on conflict (id) do update set runs = runs + 1;
  end;
`;

/** Adds the column to a database that was made before it, within the transaction that makes the tables. */
export function addConversations(database: DatabaseSync): void {
  database.exec(`
    alter table runs add column conversation text;
    update runs set conversation = json_extract(metadata, '$.conversation') where ${NAMED};
  `);
}

/** Counts the runs that were there before the triggers. */
export function countConversations(database: DatabaseSync): void {
  database.exec(`insert into conversations
    select conversation, count(*) from runs where conversation is not null group by conversation`);
}

/** Reads the latest rows of a conversation, newest first; null where only all rows can tell which they are. */
export function conversationRows(database: DatabaseSync): (id: string, limit?: number) => readonly Row[] | null {
  // Which they are is told by the index and the times alone: only the rows that are wanted are read as a whole.
  const found = database.prepare(
    `select * from runs left join progress on progress.run = runs.id where runs.id in (
       select id from runs indexed by runs_by_conversation where conversation = ? order by at desc, run_id desc limit ?
     ) order by at desc, run_id desc`,
  );
  found.setReadBigInts(true);
  const inIndex = database.prepare(
    'select count(*) as runs from runs indexed by runs_by_conversation where conversation = ?',
  );
  const counted = database.prepare('select runs from conversations where id = ?');
  return (id, limit = Number.MAX_SAFE_INTEGER) => {
    const runs = Number(counted.get(id)?.['runs'] ?? 0);
    const rows: readonly Row[] = found.all(id, limit);
    if (Number(inIndex.get(id)?.['runs']) !== runs || rows.length < Math.min(limit, runs)) return null;
    return rows.every((row) => isIntact(row) && conversationIn(metadataIn(row['metadata'])) === id) ? rows : null;
  };
}

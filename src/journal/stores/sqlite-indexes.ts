/**
 * Owns: how the runs of one conversation, and those that have not ended, are found among many without looking at all of them,
 * and that a damaged database hides none of them.
 *
 * I1 A conversation's number of runs stands apart from the index that finds them. Where the two disagree, or a row that was
 *    found is damaged or another conversation's, all rows are looked at.
 * I2 Its latest runs are found without reading the others, however many it has.
 * I3 Runs that have not ended, and those that may continue, are counted in the table, which SQLite does in a fiftieth of the
 *    time that rows take here. Where the index leads to other rows than so many of these, all are looked at.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type RunQuery, conversationIn } from '../format/tally.ts';
import { ALL, type Row, isIntact, metadataIn } from './sqlite-rows.ts';

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

/** Its runs that have not ended are few among those that are kept. It holds all that is asked of it, so that it is read without the table. */
export const UNENDED_INDEX = 'create index if not exists progress_unended on progress (due, ended) where ended = 0';

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

/** Where more than this part of all runs have not ended, a list of some of them meets these soon among all. */
const FEW = 0.1;

/**
 * Reads the rows among which a query finds its runs if it asks for those that have not ended, newest first; null where so many
 * as are wanted are found sooner among all rows, and where only all rows can tell which they are.
 */
export function unendedRows(database: DatabaseSync): (query: RunQuery, limit: number) => Iterable<Row> | null {
  return ({ state = 'ended', due }, limit) => {
    if (state === 'ended' && due === undefined) return null;
    const asked = (progress: string): string =>
      `${progress}.ended = 0${due === undefined ? '' : ` and (${progress}.due is null or ${progress}.due >= 0)`}`;
    const counted = database
      .prepare(
        `select count(*) as all_of_them, count(*) filter (where ${asked('p')}) as found,
         (select count(*) from runs not indexed) as runs from progress p not indexed`,
      )
      .get();
    const [runs, found] = [Number(counted?.['runs']), Number(counted?.['found'])];
    if (Number(counted?.['all_of_them']) !== runs || (found > runs * FEW && found > limit)) return null;
    // Each is looked up in the table, too: where one of both is damaged, they do not lead to the same rows.
    const ids = database
      .prepare(
        `select runs.id, ${asked('p')} as is_found from progress i indexed by progress_unended
         left join progress p on p.run = i.run left join runs on runs.id = p.run
         where ${asked('i')} order by at desc, run_id desc`,
      )
      .all();
    const row = database.prepare(`${ALL} where id = ?`);
    row.setReadBigInts(true);
    const isSame = ids.length === found && ids.every((one) => one['is_found'] === 1 && one['id'] !== null);
    return isSame && new Set(ids.map(({ id }) => id)).size === found ? rowsOf(ids, row) : null;
  };
}

function* rowsOf(ids: readonly Row[], row: StatementSync): Iterable<Row> {
  for (const { id = null } of ids) {
    const found = row.get(id);
    if (found !== undefined) yield found;
  }
}

/** The version of the tables. A newer one is refused, an older one is migrated by a command or on request. */
export const POSTGRES_VERSION = 2;

/**
 * The statements that bring a schema from the version before to this one, by version. What is large is apart from what changes
 * with every record: Postgres writes a new row for each change. `lines` has no reference to `runs`: a line is added only in the
 * statement that has found its run, and removed with it.
 */
const STEPS: readonly ((schema: string) => string)[] = [
  (s) => `
    create table ${s}.writers (id text primary key, until timestamptz not null);
    create table ${s}.histories (id text primary key);
    create table ${s}.messages (
      history text not null references ${s}.histories on delete cascade,
      n int not null,
      line text not null,
      primary key (history, n)
    );
    create table ${s}.runs (
      id bigint generated always as identity primary key,
      run_id text collate "C" not null unique,
      at text collate "C" not null,
      agent text not null,
      head text not null,
      metadata jsonb not null,
      history text references ${s}.histories,
      ended boolean not null,
      waiting boolean not null,
      status text,
      reason text,
      error_code text,
      tools jsonb not null,
      steps int not null,
      records int not null,
      written_at timestamptz not null default now(),
      token text,
      writer text
    ) with (fillfactor = 70);
    create index runs_by_time on ${s}.runs (at desc, run_id desc);
    create index runs_unended on ${s}.runs (at desc, run_id desc) where not ended;
    create index runs_by_metadata on ${s}.runs using gin (metadata jsonb_path_ops);
    create index runs_by_history on ${s}.runs (history) where history is not null;
    create table ${s}.blobs (hash bytea primary key, value text not null);
    create table ${s}.lines (
      run bigint not null,
      n int not null,
      line text not null,
      blob bytea references ${s}.blobs,
      primary key (run, n)
    );
    create index lines_by_blob on ${s}.lines (blob) where blob is not null;
    create table ${s}.secrets (run_id text not null, mark text not null, value text not null, primary key (run_id, mark));
    create table ${s}.requests (
      id text primary key,
      run_id text not null,
      request text not null,
      taken_by text,
      answer text,
      at timestamptz not null default now()
    );
    create table ${s}.names (name text primary key, token text not null, writer text not null);`,
  // Without an index: it changes with every record, and few runs have not ended.
  (s) => `alter table ${s}.runs add column if not exists due timestamptz;`,
];

/** What brings a schema to this version. Statements that are sent together are one transaction. */
export function migration(schema: string, from: number): string {
  const steps = STEPS.slice(from).map((step) => step(schema));
  return `
    ${steps.join('\n')}
    delete from ${schema}.version;
    insert into ${schema}.version (version) values (${POSTGRES_VERSION});`;
}

/** The schema itself, and where its version stands; both may be there. `if not exists` asks for the right to create one all the same. */
export function emptySchema(schema: string): string {
  return `do $$ begin if to_regnamespace('${schema}') is null then create schema ${schema}; end if; end $$; create table if not exists ${schema}.version (version int not null);`;
}

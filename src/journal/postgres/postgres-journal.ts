import { type AllGiven, checkPlace, optionsOf, wrongOption } from '../../json/known-options.ts';
import { lineWriter } from '../format/blobs.ts';
import { type RepairedRun, wholePart } from '../format/cut-recording.ts';
import { createHistories, type StoredPart } from '../format/histories.ts';
import { JournalError } from '../format/journal-error.ts';
import type { RunRecord } from '../format/record.ts';
import { type Recording, readStored, tooShort } from '../format/recording.ts';
import { type RunQuery, type RunSummary, runTally } from '../format/tally.ts';
import { liveJournal } from '../run/live-journal.ts';
import type { JournalStore, RunHead, RunJournal, RunSecrets, Sink, TakenRun } from '../run/run-journal.ts';
import { checkPruneLimits, type PruneLimits } from '../stores/prune-runs.ts';
import { type DatabaseOptions, PostgresDatabase, type PostgresPool } from './postgres-database.ts';
import { type Held, PostgresLease } from './postgres-lease.ts';
import { PostgresNotices } from './postgres-notices.ts';
import { linesOf } from './postgres-rows.ts';
import { PostgresRequests } from './postgres-requests.ts';
import { PostgresRuns } from './postgres-runs.ts';
import { type SinkStart, postgresSink } from './postgres-sink.ts';
import { PostgresWriter } from './postgres-writer.ts';

/** Where and how {@link postgresJournal} keeps runs. */
export interface PostgresJournalOptions {
  /** The schema that holds its tables: at most 63 lower-case letters, digits and `_`, no digit first. Default `signalbox`. */
  readonly schema?: string | undefined;
  /** Makes or updates the tables when the store is first used. Default false: `signalbox journal migrate <url>` does. */
  readonly migrate?: boolean | undefined;
  /**
   * A process that has given no sign of life for this many milliseconds counts as dead: others may take its runs, and it
   * can no longer write them. It gives one three times as often. Default 30,000.
   */
  readonly leaseMs?: number | undefined;
  /** How long a write is tried again while the server cannot be reached, in milliseconds. Default 60,000. */
  readonly patienceMs?: number | undefined;
}

/** A store of runs in Postgres. */
export interface PostgresJournal extends Required<JournalStore> {
  /** Removes runs beyond these limits, never one that is being written; returns their number. */
  prune(limits: PruneLimits): Promise<number>;
  /** Closes the connections that the store has opened itself, from a URL. Live runs must have ended before. */
  close(): Promise<void>;
  /** The same, at the end of the block of `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

const checkOptions = optionsOf<PostgresJournalOptions>('postgresJournal', 'docs/recording.md', {
  schema: true,
  migrate: true,
  leaseMs: true,
  patienceMs: true,
});

const checkPruning = optionsOf<PruneLimits>('prune', 'docs/recording.md', { maxRuns: true, maxAgeDays: true });

/**
 * Keeps runs in a Postgres database, for any number of processes on any number of hosts: the process that takes a run
 * holds a lease, and one that lost it cannot write. What the runs of a process write at the same time is one statement.
 * `pg` is loaded when the store is first used; pass your own `Pool` or a URL.
 *
 * @example createAgent({ journal: postgresJournal('postgres://localhost/app') })
 */
export function postgresJournal(at: PostgresPool | string, options: PostgresJournalOptions = {}): PostgresJournal {
  const store = new PostgresStore(at, settingsOf(at, options));
  // Own properties, for callers that spread the store or detach its methods.
  return {
    open: (run) => store.open(run),
    take: (runId) => store.take(runId),
    read: (runId) => store.read(runId),
    repair: (runId) => store.repair(runId),
    revision: (runId) => store.revision(runId),
    changes: (runId, changed) => store.changes(runId, changed),
    list: (query) => store.list(query),
    remove: (runId) => store.remove(runId),
    claim: (name) => store.claim(name),
    prune: (limits) => store.prune(limits),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
    secrets: store.secrets,
    requests: store.requests,
  };
}

/** Creates the tables of {@link postgresJournal} or updates them to this version; returns the versions before and after. */
export async function migratePostgres(
  at: PostgresPool | string,
  options: Pick<PostgresJournalOptions, 'schema' | 'patienceMs'> = {},
): Promise<{ readonly from: number; readonly to: number }> {
  const database = new PostgresDatabase(at, settingsOf(at, options));
  try {
    return await database.migrate();
  } finally {
    await database.close();
  }
}

type Settings = DatabaseOptions & AllGiven<Pick<PostgresJournalOptions, 'leaseMs'>>;

function settingsOf(at: unknown, options: PostgresJournalOptions): Settings {
  checkOptions(options);
  // An empty URL would be a server of the environment, or on this machine.
  if (typeof Reflect.get(Object(at), 'query') !== 'function')
    checkPlace('postgresJournal: the first argument must be a URL or a pool of the package pg', at);
  if (typeof at === 'string' && !isReadable(at))
    throw wrongOption(
      'postgresJournal: the URL cannot be read. Write postgres://user:password@host:5432/database, with special characters of the password encoded: # as %23, / as %2F, @ as %40.',
    );
  const { schema = 'signalbox', migrate = false, leaseMs = 30_000, patienceMs = 60_000 } = options;
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw wrongOption('postgresJournal: the option schema must be lower-case letters, digits and _, no digit first.');
  for (const [name, ms] of Object.entries({ leaseMs, patienceMs }))
    if (typeof ms !== 'number' || !(ms > 0))
      throw wrongOption(`postgresJournal: the option ${name} must be a number of milliseconds above 0.`);
  // What is sent again must come before others take the process for dead.
  const silentMs = Math.max(200, Math.min(10_000, leaseMs / 3));
  return { schema, migrate, leaseMs, patienceMs, silentMs };
}

/** Whether `pg` can read a URL, which may lack a host. */
function isReadable(url: string): boolean {
  return [url, url.replace('@/', '@host/')].some((form) => URL.canParse(form, 'postgres://host'));
}

class PostgresStore {
  readonly secrets: RunSecrets;
  readonly requests: PostgresRequests;
  readonly #database: PostgresDatabase;
  readonly #runs: PostgresRuns;
  readonly #writer: PostgresWriter;
  readonly #lease: PostgresLease;
  readonly #notices: PostgresNotices;
  readonly #histories = createHistories();
  /** The secrets of the runs that this process knows. The database has them before any line that was written after them. */
  readonly #kept = new Map<string, Readonly<Record<string, string>>>();

  constructor(at: PostgresPool | string, settings: Settings) {
    this.#database = new PostgresDatabase(at, settings);
    this.#lease = new PostgresLease(this.#database, settings.leaseMs);
    this.#runs = new PostgresRuns(this.#database);
    this.#notices = new PostgresNotices(this.#database);
    this.requests = new PostgresRequests(this.#database, this.#lease.id, this.#notices);
    this.#writer = new PostgresWriter(this.#database, this.#lease);
    this.secrets = {
      keep: (runId, secrets) => {
        this.#kept.set(runId, { ...this.#kept.get(runId), ...secrets });
        this.#writer.keepSecrets(runId, secrets);
      },
      read: (runId) => this.#kept.get(runId) ?? {},
    };
  }

  open(run: RunHead): RunJournal {
    const { head } = run;
    let stored: StoredPart | null = null;
    const headAs = (whole: RunRecord): object => {
      stored = this.#histories.place(whole.runId, whole.history);
      return stored === null ? whole : { ...whole, history: stored.part };
    };
    const write = lineWriter(undefined, 0, headAs);
    const { runId } = head;
    const begun = { runId, token: crypto.randomUUID(), tally: runTally(head), write, written: 0 };
    return liveJournal(run, this.#sinkOf({ ...begun, head, placed: () => stored, claim: this.#claimOf(head) }));
  }

  /** A run of a conversation that this process has claimed begins only while it has it. */
  #claimOf({ metadata }: RunRecord): Held | null {
    return typeof metadata.conversation === 'string'
      ? this.#lease.claimOf(`conversation ${metadata.conversation}`)
      : null;
  }

  async take(runId: string): Promise<TakenRun | null> {
    const token = crypto.randomUUID();
    await this.#lease.alive();
    const recording = await this.#orRelease(runId, token, async () => {
      if (!(await this.#runs.take(runId, token, this.#lease.id))) return null;
      const rows = await this.#database.query(null, 'select mark, value from $s.secrets where run_id = $1', [runId]);
      if (rows.length > 0)
        this.#kept.set(runId, Object.fromEntries(rows.map(({ mark, value }) => [String(mark), String(value)])));
      return readStored((await linesOf(this.#database, runId)) ?? { lines: [], records: 0 }, runId);
    });
    if (recording === null) return null;
    const tally = runTally(recording.head, recording.lines);
    const lines = recording.numbers?.at(-1) ?? recording.lines.length + 1;
    const write = lineWriter(recording.payloads, recording.sums ?? null);
    return { recording, sink: this.#sinkOf({ runId, token, tally, write, written: lines }) };
  }

  async read(runId: string): Promise<Recording | null> {
    const stored = await linesOf(this.#database, runId);
    return stored === null ? null : readStored(stored, runId);
  }

  async revision(runId: string): Promise<string | null> {
    const text = 'select run_id, at, records from $s.runs where run_id = $1 and records > 0';
    const [row] = await this.#database.query('revision', text, [runId]);
    return row === undefined ? null : `${String(row['at'])} ${String(row['records'])}`;
  }

  changes(runId: string, changed: () => void): () => void {
    const own = `${this.#database.schema} ${runId}`;
    return this.#notices.hear('signalbox', (said) => {
      if (said === null || said === own) changed();
    });
  }

  async repair(runId: string): Promise<RepairedRun | null> {
    const token = crypto.randomUUID();
    await this.#lease.alive();
    return this.#orRelease(runId, token, async () => {
      if (!(await this.#runs.take(runId, token, this.#lease.id))) return null;
      const stored = await linesOf(this.#database, runId);
      const { recording, repaired } = wholePart(stored?.lines ?? []);
      const tally = runTally(recording.head, recording.lines);
      await this.#runs.cut(tally.read(), token, repaired.kept + 1);
      await this.#writer.release({ name: runId, token });
      if (stored === null || (recording.sums ?? 0) >= stored.records) return repaired;
      return { ...repaired, damage: repaired.damage ?? tooShort(stored).message };
    });
  }

  list(query: RunQuery = {}): Promise<readonly RunSummary[]> {
    return this.#runs.list(query);
  }

  async remove(runId: string): Promise<boolean> {
    const [removed] = await this.#runs.remove([runId]);
    if (removed === undefined && (await this.#runs.isThere(runId)))
      throw new JournalError('run-locked', runId, this.#database.place);
    if (removed !== undefined) this.#kept.delete(runId);
    return removed !== undefined;
  }

  async prune(limits: PruneLimits): Promise<number> {
    checkPruning(limits);
    checkPruneLimits('prune', limits);
    const { maxRuns, maxAgeDays } = limits;
    let count = 0;
    for (;;) {
      const ids = await this.#runs.prunable(maxRuns, maxAgeDays);
      const removed = ids.length === 0 ? [] : await this.#runs.remove(ids);
      count += removed.length;
      if (removed.length === 0) return count;
    }
  }

  claim(name: string): Promise<(() => Promise<void>) | null> {
    return this.#lease.claim(name);
  }

  async close(): Promise<void> {
    this.requests.close();
    this.#notices.close();
    await this.#lease.end();
    await this.#database.close();
  }

  #sinkOf(begun: SinkStart): Sink {
    return postgresSink(begun, {
      lease: this.#lease,
      writer: this.#writer,
      histories: this.#histories,
      forget: async (runId) => {
        if (this.#kept.delete(runId))
          await this.#database.query(null, 'delete from $s.secrets where run_id = $1', [runId]);
      },
    });
  }

  /** A run may have been taken although no answer has said so. */
  async #orRelease<T>(runId: string, token: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const released = this.#writer.release({ name: runId, token }).catch(() => undefined);
      // Where the server cannot be reached, it takes as long again.
      if (!(error instanceof JournalError)) await released;
      throw error;
    }
  }
}

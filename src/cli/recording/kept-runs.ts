import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join, dirname } from 'node:path';
import { fileJournal } from '../../journal/stores/file.ts';
import type { WholeStore } from '../../journal/run/run-journal.ts';
import type { RunQuery, RunSummary } from '../../journal/format/tally.ts';
import { postgresJournal } from '../../journal/postgres/index.ts';
import { sqliteJournal } from '../../journal/stores/sqlite.ts';
import { type JsonObject, isJsonObject, jsonOrText, parsedText, defined } from '../../json/json.ts';
import { UsageError } from '../command/command.ts';
import { escaped } from '../../output/console/escaped.ts';
import { didYouMean } from '../../json/nearest-name.ts';
import { type Recording, readRecording, recordingLines } from '../../journal/format/recording.ts';
import { runnable } from '../../journal/format/recorded-tools.ts';
import { historiesIn } from '../../journal/stores/run-files.ts';
import { withHistory } from '../../journal/format/histories.ts';
import { systemCode } from '../../security/folders.ts';
import { RecordingError } from '../../journal/format/journal-error.ts';

/** Runs that are kept somewhere. */
export interface RunsPlace {
  readonly path: string;
  readonly store: WholeStore;
}

/** Whether a place is that of a Postgres database. */
export function isDatabaseUrl(named: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(named);
}

/** How long a command waits for a database that cannot be reached, in milliseconds: a person waits for the command. */
export const PATIENCE_MS = 3000;

/** The runs of a folder of recordings, of a SQLite file or of a Postgres database; without a name those of `.signalbox/runs`. */
export function openRuns(named: string | undefined, option = 'in'): RunsPlace {
  if (named !== undefined && isDatabaseUrl(named)) {
    const { host, pathname } = new URL(named);
    // The password stays where it is.
    return { path: `${host}${pathname}`, store: postgresJournal(named, { patienceMs: PATIENCE_MS }) };
  }
  const path = named ?? join('.signalbox', 'runs');
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined && named !== undefined)
    throw new UsageError(`--${option}: there is no folder or file '${escaped(path)}'.`);
  if (there !== undefined && !there.isFile() && !there.isDirectory())
    throw new UsageError(`--${option}: '${escaped(path)}' is neither a folder nor a file.`);
  if (there?.isFile() === true && !isDatabase(path))
    throw new UsageError(`--${option}: '${escaped(path)}' is no SQLite file. Recordings are named by their folder.`);
  return { path, store: there?.isFile() === true ? sqliteJournal(path) : fileJournal(path) };
}

/** Of a SQLite file that nothing was written to yet, there is nothing to read. */
function isDatabase(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const first = Buffer.alloc(SQLITE.length);
    return SQLITE.startsWith(first.toString('latin1', 0, readSync(file, first)));
  } finally {
    closeSync(file);
  }
}

const SQLITE = 'SQLite format 3\0';

const STATES = ['running', 'interrupted', 'waiting', 'ended'] as const;
const STATUSES = ['answered', 'stopped', 'failed', 'cancelled'] as const;

/** Reads the options that say which runs of a place are meant. Throws a {@link UsageError} for one that is wrong. */
export async function readQuery(values: ReadonlyMap<string, string>, place: RunsPlace): Promise<RunQuery> {
  const among = <T extends string>(option: string, all: readonly T[]): T | undefined => {
    const wanted = values.get(option);
    const found = all.find((one) => one === wanted);
    if (wanted === undefined || found !== undefined) return found;
    throw new UsageError(`--${option} takes ${all.join(', ')}, not '${wanted}'.`);
  };
  const metadata = values.get('metadata');
  return {
    ...defined({
      state: among('state', STATES),
      status: among('status', STATUSES),
      limit: readCount(values, 'limit'),
      metadata: metadata === undefined ? undefined : readMetadata(metadata),
      agent: values.get('agent'),
      reason: values.get('reason'),
      tool: values.get('tool'),
      errorCode: values.get('error-code'),
    }),
    after: await readAfter(values.get('after'), place),
  };
}

/** `name=value`, the value JSON or else text, or a JSON object. */
function readMetadata(written: string): JsonObject {
  const object = parsedText(written);
  if (isJsonObject(object)) return object;
  const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(written) ?? [];
  if (name === undefined) throw new UsageError(`--metadata takes <name=value> or a JSON object, not '${written}'.`);
  return { [name]: jsonOrText(value) };
}

async function readAfter(wanted: string | undefined, place: RunsPlace): Promise<RunSummary | undefined> {
  if (wanted === undefined) return undefined;
  const found = await findRun(place, wanted);
  if (found.runId === null) throw new UsageError(`--after: ${found.why}`);
  return (await place.store.list()).find(({ runId }) => runId === found.runId);
}

/** A whole number from 0 on; undefined when the option was not given. */
export function readCount(values: ReadonlyMap<string, string>, option: string): number | undefined {
  const written = values.get(option);
  if (written === undefined) return undefined;
  const count = Number(written);
  if (written.trim() === '' || !Number.isInteger(count) || count < 0)
    throw new UsageError(`--${option} takes a whole number from 0 on, not '${written}'.`);
  return count;
}

type FoundRun = { readonly runId: string } | { readonly runId: null; readonly why: string };

/** The run with this id or prefix of an id, or why there is none or more than one. */
async function findRun({ path, store }: RunsPlace, wanted: string): Promise<FoundRun> {
  const ids = (await store.list()).map(({ runId }) => runId);
  if (ids.includes(wanted)) return { runId: wanted };
  const [one, ...others] = wanted === '' ? [] : ids.filter((runId) => runId.startsWith(wanted));
  if (one === undefined)
    return { runId: null, why: `There is no run '${escaped(wanted)}' in ${escaped(path)}.${didYouMean(wanted, ids)}` };
  if (others.length === 0) return { runId: one };
  return {
    runId: null,
    why: `'${escaped(wanted)}' is the beginning of ${others.length + 1} run ids. Give more of it.`,
  };
}

/** The id with this prefix; null, after reporting why, if it matches no run or several. */
export async function wholeRunId(place: RunsPlace, wanted: string): Promise<string | null> {
  const found = await findRun(place, wanted);
  if (found.runId === null) console.error(found.why);
  return found.runId;
}

/** A recording that something can run on, named as for {@link readRecordingOf}. */
export async function openRecording(named: string, place: string | undefined): Promise<Recording> {
  const { text } = await readRecordingOf(named, place);
  return ofRecording(named, () => runnable(readRecording(text)));
}

/** Does what reads a recording. An error about one of its lines names the recording: several may have been given. */
export function ofRecording<T>(named: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof RecordingError) throw new Error(`${escaped(named)}: ${cause.message}`, { cause });
    throw cause;
  }
}

/** A recording that was named on the command line. */
export interface NamedRecording {
  readonly text: string;
  /** The file that it stands in; null for standard input and for a run of a database. */
  readonly file: string | null;
}

/**
 * The recording of a file, of a run by its id or a prefix of it, or of standard input for `-`. `place` is where runs
 * are kept, as given by `--in`. Throws a {@link UsageError} if it does not exist.
 */
export async function readRecordingOf(named: string, place: string | undefined): Promise<NamedRecording> {
  if (named === '-') return { text: readFileSync(0, 'utf8'), file: null };
  const text = readFile(named);
  if (text !== null) return { text, file: named };
  if (/[/\\]|\.jsonl$/.test(named)) throw new UsageError(`there is no file '${escaped(named)}'.`);
  const runs = openRuns(place);
  const found = await findRun(runs, named);
  if (found.runId === null) throw new UsageError(`there is no file '${escaped(named)}'. ${found.why}`);
  const file = join(runs.path, `${found.runId}.jsonl`);
  if (existsSync(file)) return { text: withHistory(readFileSync(file, 'utf8'), historiesIn(runs.path)), file };
  const recording = await runs.store.read(found.runId);
  return { text: recording === null ? '' : recordingLines(recording), file: null };
}

function readFile(path: string): string | null {
  try {
    return withHistory(readFileSync(path, 'utf8'), historiesIn(dirname(path)));
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code === 'EISDIR')
      throw new UsageError(`'${escaped(path)}' is a folder. Name a file in it, or see 'signalbox runs list'.`);
    throw error;
  }
}

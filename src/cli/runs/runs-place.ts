import type { RunSummary, RunQuery } from '../../journal/format/tally.ts';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileJournal } from '../../journal/stores/file.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { sqliteJournal } from '../../journal/stores/sqlite.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { UsageError } from '../command.ts';
import { findRun } from './run-id-of.ts';

/** Runs that are kept somewhere. */
export interface RunsPlace {
  readonly path: string;
  readonly store: Required<JournalStore>;
}

/** The runs of a folder of recordings or of a SQLite file; without a name those of `.signalbox/runs`. */
export function openRuns(named: string | undefined): RunsPlace {
  const path = named ?? join('.signalbox', 'runs');
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined && named !== undefined) throw new UsageError(`--in: there is no folder or file '${path}'.`);
  return { path, store: whole(there?.isFile() === true ? sqliteJournal(path) : fileJournal(path)) };
}

function whole({ open, take, read, list, remove, repair, secrets }: JournalStore): Required<JournalStore> {
  if (!take || !read || !list || !remove || !repair || !secrets) throw new Error('This store cannot be listed.');
  return { open, take, read, list, remove, repair, secrets };
}

const STATES = ['running', 'interrupted', 'waiting', 'ended'] as const;

/** Reads the options that say which runs of a place are meant. Throws a {@link UsageError} for one that is wrong. */
export async function readQuery(values: ReadonlyMap<string, string>, place: RunsPlace): Promise<RunQuery> {
  const text = (option: string, name: string) => (values.has(option) ? { [name]: values.get(option) } : {});
  const wanted = values.get('state');
  const state = STATES.find((one) => one === wanted);
  if (wanted !== undefined && state === undefined)
    throw new UsageError(`--state takes ${STATES.join(', ')}, not '${wanted}'.`);
  const limit = readCount(values, 'limit');
  const metadata = values.get('metadata');
  return {
    ...(state === undefined ? {} : { state }),
    ...(limit === undefined ? {} : { limit }),
    ...(metadata === undefined ? {} : { metadata: readMetadata(metadata) }),
    after: await readAfter(values.get('after'), place),
    ...text('agent', 'agent'),
    ...text('status', 'status'),
    ...text('reason', 'reason'),
    ...text('tool', 'tool'),
    ...text('error-code', 'errorCode'),
  };
}

/** `name=value`, the value JSON or else text, or a JSON object. */
function readMetadata(written: string): JsonObject {
  const object = jsonOr(written, null);
  if (isJsonObject(object)) return object;
  const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(written) ?? [];
  if (name === undefined) throw new UsageError(`--metadata takes <name=value> or a JSON object, not '${written}'.`);
  return { [name]: jsonOr(value, value) };
}

function jsonOr(text: string, otherwise: Json): Json {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
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

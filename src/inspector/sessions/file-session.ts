import type { RecordLine } from '../../journal/format/record.ts';
import { RecordingError } from '../../journal/format/journal-error.ts';
import { type Recording, readRecording } from '../../journal/format/recording.ts';
import type { LineSource } from '../frames/run-port.ts';
import type { ActReply, SessionEnding, SessionInfo } from '../frames/protocol.ts';
import { JournalSession } from './journal-session.ts';
import { readFile, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describeThrown } from '../../json/to-json.ts';
import { historiesIn } from '../../journal/stores/run-files.ts';
import { withHistory } from '../../journal/format/histories.ts';
import type { Session, SessionList } from './session-list.ts';
import { type Json, isJsonObject } from '../../json/json.ts';

const NOBODY: ActReply = { ok: false, message: 'This is a recording: it has no run to send events to.' };
const NO_AGENT: ActReply = {
  ok: false,
  message: 'This is a recording, and the agent that made it is not here. In code: fork(recording, agent, { at }).',
};

/** A recording as far as it can be read, and what is wrong with the rest of it. */
interface ReadableRecording {
  readonly recording: Recording;
  /** Null: all of it can be read. */
  readonly problem: string | null;
}

/** Reads a recording up to where it is damaged. Throws a {@link RecordingError} where that is its first line. */
export function readableRecording(text: string | readonly (string | object)[]): ReadableRecording {
  try {
    return { recording: readRecording(text), problem: null };
  } catch (error) {
    if (!(error instanceof RecordingError) || error.line === 1) throw error;
    const lines = typeof text === 'string' ? text.split('\n') : text;
    return {
      recording: readRecording(lines.slice(0, error.line - 1)),
      problem: `${error.message} It is shown up to there.`,
    };
  }
}

const DAMAGED = { status: 'failed', reason: 'damaged recording' } as const;

/** Makes the session of a recording, and how to say that there are more lines. */
export function fileSession(
  id: string,
  { recording, problem }: ReadableRecording,
  onChange: () => void = () => undefined,
) {
  const lines: RecordLine[] = [recording.head, ...recording.lines];
  const watchers = new Set<Parameters<LineSource['watch']>[0]>();
  const session = new JournalSession(id, {
    kind: 'recording',
    head: recording.head,
    source: {
      reader: () => {
        let next = 0;
        return () => {
          const line = lines[next];
          if (line === undefined) return null;
          next += 1;
          return line;
        };
      },
      watch: (watcher) => {
        watchers.add(watcher);
        return () => void watchers.delete(watcher);
      },
    },
    problem,
    ending: () => (problem === null ? recordedEnding(lines.at(-1)) : DAMAGED),
    waiting: () => openApprovals(lines),
    text: () => `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`,
    can: () => ['download'],
    act: ({ kind }) => Promise.resolve(kind === 'fork' ? NO_AGENT : NOBODY),
  });
  return {
    session,
    /** The recording as it is now; it begins as it did. */
    grown: (now: Recording): void => {
      const fresh = now.lines.slice(lines.length - 1);
      if (fresh.length === 0) return;
      lines.push(...fresh);
      for (const watcher of watchers) watcher.onLine();
      onChange();
    },
  };
}

/** How a recording ended, by its last line. */
export function recordedEnding(last: RecordLine | undefined): SessionEnding {
  return last?.t === 'end' ? endingOf(last.output) : { status: 'interrupted', reason: null };
}

/** How many calls of a recording wait for a person: those that were asked about and not answered, while it has no end. */
export function openApprovals(lines: readonly RecordLine[]): number {
  if (lines.at(-1)?.t === 'end') return 0;
  const open = new Set<string>();
  for (const line of lines) {
    if (line.t === 'start' && line.name === 'askApproval') open.add(line.id);
    if (line.t === 'outcome') open.delete(line.id);
    // A person's answer from outside goes to the call of its actor.
    if (line.t === 'event' && line.event.type.startsWith('approval.'))
      for (const id of open) if (line.to !== undefined && id.startsWith(`${line.to}/`)) open.delete(id);
  }
  return open.size;
}

const STATUSES = ['answered', 'stopped', 'failed', 'cancelled'] as const;

function endingOf(output: Json): SessionEnding {
  if (!isJsonObject(output)) return { status: 'failed', reason: null };
  const { status, reason } = output;
  return {
    status: STATUSES.find((one) => one === status) ?? 'failed',
    reason: typeof reason === 'string' ? reason : null,
  };
}

/** A folder of recordings that is being watched. */
export interface FolderWatch {
  close(): void;
}

const LOOK_MS = 500;
/** How many times as long as a look at all files took is waited before the next: in a folder of thousands it takes a while. */
const REST = 9;
/** A longer list is of no use; the newest are shown. */
const MOST = 500;

/** A file as the folder has it. */
interface RecordingFile {
  readonly path: string;
  readonly size: number;
  /** When it was written last. */
  readonly mtimeMs: number;
}

interface DamagedFile extends Pick<RecordingFile, 'path' | 'mtimeMs'> {
  readonly id: string;
}

type ThrownDescription = ReturnType<typeof describeThrown>;

/** A recording of which nothing can be read: what is known is the file, and what is wrong with it. */
function unreadableSession({ id, path, mtimeMs }: DamagedFile, { code, message }: ThrownDescription): Session {
  const isNewer = code === 'recording-newer';
  const info: SessionInfo = {
    id,
    kind: 'recording',
    title: basename(path),
    agent: isNewer ? 'newer version' : 'damaged',
    at: new Date(mtimeMs).toISOString(),
    ...DAMAGED,
    ...(isNewer ? { reason: 'made by a newer version' } : {}),
    problem: `${basename(path)} cannot be read as a recording. ${message}`,
    parent: null,
    can: [],
  };
  return {
    id,
    info: () => info,
    follow: async function* () {},
    lines: async function* () {},
    recording: () => null,
    act: () => Promise.resolve(NOBODY),
    close: () => undefined,
  };
}

function damagedSession(file: DamagedFile, read: ReadableRecording | ThrownDescription): Session {
  if ('message' in read) return unreadableSession(file, read);
  return fileSession(file.id, { ...read, problem: `${basename(file.path)}: ${read.problem}` }).session;
}

/** Shows the recordings of a folder: those that are there, those that come, and what is added to them. */
export async function watchFolder(folder: string, sessions: SessionList): Promise<FolderWatch> {
  const known = new Map<string, { readonly file: ReturnType<typeof fileSession>; size: number }>();
  /** Files that cannot be read to their end. `session`: it is listed as damaged, since it did not change for a while. */
  const unreadable = new Map<string, { readonly size: number; readonly session: string | null }>();
  /** Whether a file is that of a run which is shown itself, and so can be answered and steered. */
  const isOfRun = (path: string): boolean => sessions.find(basename(path, '.jsonl'))?.info().kind === 'run';
  /** What is known of a file, unless its run, which is or was shown itself, has taken the place of its session. */
  const standing = (path: string) => {
    const found = known.get(path);
    return sessions.find(found?.file.session.id ?? '') === found?.file.session ? found : undefined;
  };
  /** Older recordings make room for newer ones, so that a folder which is watched for long does not fill the memory. */
  const forgetOld = (files: readonly RecordingFile[]): void => {
    const newest = new Set(files.map(({ path }) => path));
    for (const [path, { file }] of known) {
      if (known.size <= MOST || newest.has(path)) continue;
      if (standing(path) !== undefined) sessions.remove(file.session.id);
      known.delete(path);
    }
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  let rest = LOOK_MS;

  const look = async (): Promise<void> => {
    const began = performance.now();
    const files = await recordingsIn(folder);
    rest = Math.max(LOOK_MS, REST * (performance.now() - began));
    for (const { path, size, mtimeMs } of files) {
      if (isOfRun(path)) continue;
      const before = standing(path);
      if (before?.size === size) continue;
      const read = await readable(path);
      if ('message' in read || read.problem !== null) {
        const first = unreadable.get(path);
        // A file that is just being written is not damaged.
        if (before !== undefined || first?.session != null) continue;
        const id = first?.size === size ? sessions.freeId(basename(path, '.jsonl')) : null;
        unreadable.set(path, { size, session: id });
        if (id !== null) sessions.add(damagedSession({ id, path, mtimeMs }, read));
        continue;
      }
      const damaged = unreadable.get(path)?.session;
      if (damaged != null) sessions.remove(damaged);
      unreadable.delete(path);
      if (before !== undefined) {
        before.size = size;
        before.file.grown(read.recording);
        continue;
      }
      const id = sessions.freeId(read.recording.head.runId);
      const file = fileSession(id, read, () => sessions.changed(id));
      known.set(path, { file, size });
      sessions.add(file.session);
    }
    forgetOld(files);
  };
  const again = (): void => {
    if (closed) return;
    timer = setTimeout(() => void look().then(again, again), rest);
    timer.unref();
  };

  await look();
  again();
  return {
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** The files with recordings, oldest first. */
async function recordingsIn(folder: string): Promise<readonly RecordingFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl'));
  const files = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      // A folder is not a recording, and opening a pipe blocks until another process writes to it.
      const found = await stat(path).catch(() => null);
      return found?.isFile() === true ? [{ path, size: found.size, mtimeMs: found.mtimeMs }] : [];
    }),
  );
  return files
    .flat()
    .toSorted((one, other) => one.mtimeMs - other.mtimeMs)
    .slice(-MOST);
}

/** What can be read of a recording, or why nothing can. */
async function readable(path: string): Promise<ReadableRecording | ThrownDescription> {
  try {
    return readableRecording(withHistory(await readFile(path, 'utf8'), historiesIn(dirname(path))));
  } catch (error) {
    return describeThrown(error);
  }
}

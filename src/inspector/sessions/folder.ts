import { readFile, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { historiesIn } from '../../journal/stores/run-files.ts';
import { withHistory } from '../../journal/format/histories.ts';
import { type Recording, readRecording } from '../../journal/format/recording.ts';
import { type FileSession, fileSession } from './file-session.ts';
import type { SessionList } from './session-list.ts';

/** A folder of recordings that is being watched. */
export interface FolderWatch {
  close(): void;
}

const LOOK_MS = 500;
/** More would be a list that nobody reads; the newest are shown. */
const MOST = 500;

interface Known {
  readonly file: FileSession;
  size: number;
}

/** Shows the recordings of a folder: those that are there, those that come, and what is added to them. */
export async function watchFolder(
  folder: string,
  sessions: SessionList,
  freeId: (wanted: string) => string,
): Promise<FolderWatch> {
  const known = new Map<string, Known>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;

  const look = async (): Promise<void> => {
    for (const { path, size } of await recordingsIn(folder)) {
      const before = known.get(path);
      if (before?.size === size) continue;
      const recording = await readable(path);
      if (recording === null) continue;
      if (before !== undefined) {
        before.size = size;
        before.file.grown(recording);
        continue;
      }
      const id = freeId(recording.head.runId);
      const file = fileSession(id, recording, () => sessions.changed(id));
      known.set(path, { file, size });
      sessions.add(file.session);
    }
  };
  const again = (): void => {
    if (closed) return;
    timer = setTimeout(() => void look().then(again, again), LOOK_MS);
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
async function recordingsIn(folder: string): Promise<readonly { readonly path: string; readonly size: number }[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl'));
  const files = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const { size, mtimeMs } = await stat(path);
      return { path, size, mtimeMs };
    }),
  );
  return files.toSorted((one, other) => one.mtimeMs - other.mtimeMs).slice(-MOST);
}

async function readable(path: string): Promise<Recording | null> {
  try {
    return readRecording(withHistory(await readFile(path, 'utf8'), historiesIn(dirname(path))));
  } catch {
    return null;
  }
}

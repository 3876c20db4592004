import type { RecordLine } from '../../journal/format/record.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { RunWatcher } from './line-source.ts';
import type { ActReply } from '../frames/protocol.ts';
import { recordedSession } from './recorded-session.ts';
import type { Session } from './session.ts';
import { recordedEnding } from './session-info.ts';

/** The session of a recording, and how to say that there are more lines. */
export interface FileSession {
  readonly session: Session;
  /** The recording as it is now; it begins as it did. */
  grown(recording: Recording): void;
}

const NOBODY: ActReply = { ok: false, message: 'This is a recording: there is nothing that could be told.' };
const NO_AGENT: ActReply = {
  ok: false,
  message: 'This is a recording, and the agent that made it is not here. In code: fork(recording, agent, { at }).',
};

/** Makes the session of a recording. */
export function fileSession(id: string, recording: Recording, onChange: () => void): FileSession {
  const lines: RecordLine[] = [recording.head, ...recording.lines];
  const watchers = new Set<RunWatcher>();
  const session = recordedSession({
    id,
    kind: 'recording',
    head: recording.head,
    source: {
      moves: false,
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
    ending: () => recordedEnding(lines.at(-1)),
    text: () => `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`,
    can: () => ['download'],
    act: ({ kind }) => Promise.resolve(kind === 'fork' ? NO_AGENT : NOBODY),
    onChange,
  });
  return {
    session,
    grown: (now) => {
      const fresh = now.lines.slice(lines.length - 1);
      if (fresh.length === 0) return;
      lines.push(...fresh);
      for (const watcher of watchers) watcher.onLine();
      onChange();
    },
  };
}

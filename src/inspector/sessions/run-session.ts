import { actOnRun } from '../server/act-on-run.ts';
import type { LineSource } from './line-source.ts';
import type { SessionInfo } from '../frames/protocol.ts';
import { recordedSession } from './recorded-session.ts';
import type { WatchedRun } from '../run-port.ts';
import type { Session } from './session.ts';
import type { Ending } from './session-info.ts';

/** The session of a run that an agent has handed in, and how to say that it is over. */
export interface RunSession {
  readonly session: Session;
  /** Somebody is likely to open it, and it has not begun to move. */
  expect(): void;
  ended(ending: Ending): void;
}

/** Makes the session of a run. */
export function runSession(run: WatchedRun, onChange: () => void): RunSession {
  let ending: Ending = { status: 'running', reason: null };
  const over = (): boolean => ending.status !== 'running';
  const source: LineSource = {
    moves: true,
    reader: () => run.reader(),
    watch: (watcher) => {
      run.watch(watcher);
      return () => run.watch(null);
    },
  };
  const can = (): SessionInfo['can'] => {
    const always: SessionInfo['can'] = run.fork === undefined ? ['download'] : ['fork', 'download'];
    return over() ? always : ['approve', 'cancel', 'send', ...always];
  };
  const session = recordedSession({
    id: run.head.runId,
    kind: 'run',
    head: run.head,
    source,
    ending: () => ending,
    text: () => run.recording(),
    can,
    act: actOnRun(run, over),
    onChange,
  });
  return {
    session,
    expect: session.expect,
    ended: (how) => {
      ending = how;
      onChange();
    },
  };
}

import { abortable } from '../server/abortable.ts';
import type { Session } from './session.ts';

/** The sessions of one inspector. */
export interface SessionList {
  add(session: Session): void;
  find(id: string): Session | undefined;
  all(): readonly Session[];
  /** How many follow the list. */
  readonly followers: number;
  /** What is said of a session has changed. */
  changed(id: string): void;
  remove(id: string): void;
  /** Ids of sessions that are new or have changed, as they come; first all that there are. */
  follow(signal: AbortSignal): AsyncGenerator<readonly string[], void>;
}

/** How long changes are collected after some were told of, in milliseconds: a short run changes three times. */
const PACE_MS = 50;

/** An empty list of sessions, in the order in which they are added. */
export function sessionList(): SessionList {
  const sessions = new Map<string, Session>();
  const followers = new Set<{ readonly fresh: Set<string>; wake: () => void }>();

  const changed = (id: string): void => {
    for (const follower of followers) {
      follower.fresh.add(id);
      follower.wake();
    }
  };

  return {
    add: (session) => {
      sessions.set(session.id, session);
      changed(session.id);
    },
    find: (id) => sessions.get(id),
    all: () => [...sessions.values()],
    get followers() {
      return followers.size;
    },
    changed,
    remove: (id) => {
      sessions.get(id)?.close();
      sessions.delete(id);
    },
    async *follow(signal) {
      const follower = { fresh: new Set(sessions.keys()), wake: (): void => undefined };
      followers.add(follower);
      const unlessLeft = abortable(signal);
      try {
        while (!signal.aborted) {
          const ids = [...follower.fresh].filter((id) => sessions.has(id));
          follower.fresh.clear();
          yield ids;
          await unlessLeft(new Promise<void>((resolve) => void setTimeout(resolve, PACE_MS).unref()));
          if (follower.fresh.size > 0) continue;
          await unlessLeft(new Promise<void>((resolve) => (follower.wake = resolve)));
        }
      } finally {
        followers.delete(follower);
      }
    },
  };
}

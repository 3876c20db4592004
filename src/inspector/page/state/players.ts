import { isJsonObject, type Json } from '../../../json/json.ts';
import type { Frame, StepDetail } from '../../frames/protocol.ts';
import type { PlayerOrder, PlayerReply } from '../player/player-script.ts';

/** The players of recordings and of runs that are recorded. */
export interface Players {
  /** Loads what plays, before the first session is known. */
  prepare(): void;
  /** Plays a session from where it was; `isNew`: it has only begun. */
  resume(session: string, isNew: boolean): void;
  /** Not viewed for now. */
  pause(session: string): void;
  /** Will not be viewed again. */
  drop(session: string): void;
  /** Null: there is no such step. */
  detail(session: string, n: number): Promise<StepDetail | null>;
  /** Why a run cannot continue from an entry with this outcome; null: it can, according to its machine. */
  refusal(session: string, entry: number, outcome: Json): Promise<string | null>;
}

/** Players in their own thread; `take` receives the frames. */
export function workerPlayers(token: string, take: (frame: Frame) => void): Players {
  const asked = new Map<number, (reply: PlayerReply) => void>();
  let worker: Worker | null = null;
  let count = 0;
  const playing = new Set<string>();
  let broken: string | null = null;
  const started = (): Worker => {
    worker ??= startWorker();
    return worker;
  };
  const startWorker = (): Worker => {
    const made = new Worker(new URL('assets/player.js', document.baseURI));
    made.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (!isReply(data)) return;
      if ('frames' in data) return data.frames.forEach(take);
      asked.get(data.id)?.(data);
      asked.delete(data.id);
    });
    made.addEventListener('error', ({ message }) => {
      broken = `What plays recordings has failed${message ? `: ${message}` : ' to load'}. Reload the page.`;
      for (const session of playing) take({ t: 'problem', session, problem: broken });
      for (const [id, resolve] of asked) resolve({ id, refusal: null });
      asked.clear();
    });
    return made;
  };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
  const order = (what: PlayerOrder): void => started().postMessage(what);
  const ask = (what: (id: number) => PlayerOrder): Promise<PlayerReply> =>
    new Promise((resolve) => {
      const id = ++count;
      if (broken !== null) return resolve({ id, refusal: null });
      asked.set(id, resolve);
      order(what(id));
    });
  return {
    prepare: () => void started(),
    resume: (session, isNew) => {
      playing.add(session);
      if (broken !== null) take({ t: 'problem', session, problem: broken });
      order({ do: 'resume', session, token, isNew });
    },
    pause: (session) => order({ do: 'pause', session }),
    drop: (session) => {
      playing.delete(session);
      order({ do: 'drop', session });
    },
    detail: async (session, n) => {
      const reply = await ask((id) => ({ do: 'detail', session, n, id }));
      return 'detail' in reply ? reply.detail : null;
    },
    refusal: async (session, entry, outcome) => {
      const reply = await ask((id) => ({ do: 'try', session, entry, outcome, id }));
      return 'refusal' in reply ? reply.refusal : null;
    },
  };
}

/** Replies come from our own script: beyond their shape they are taken as they are. */
function isReply(value: unknown): value is PlayerReply {
  return isJsonObject(value) && (Array.isArray(value.frames) || typeof value.id === 'number');
}

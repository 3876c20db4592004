import { isJsonObject, parsedText, type Json } from '../../../json/json.ts';
import type { Act, ActReply, SearchPage, StepDetail, Frame } from '../../frames/protocol.ts';
import type { PlayerOrder, PlayerReply } from '../player/player-script.ts';

/** What the page can ask for: the server, or, in a saved page, what was saved with it. */
export interface Desk {
  /** False in a saved page: nothing can be ordered. */
  readonly acts: boolean;
  detail(session: string, step: number): Promise<StepDetail | null>;
  act(session: string, act: Act): Promise<ActReply>;
  /** Reads a recording into a new session. */
  open(recording: string): Promise<ActReply>;
  /** Looks for a text in all runs; null: it could not be asked for. */
  search(query: string): Promise<SearchPage | null>;
  /** What opens the page where it stands now, in any window. */
  address(): string;
  /** Where the recording and the saved page of a session are to be had, that with another beside it; null in a saved page. */
  links(session: string, beside: string | null): { readonly recording: string; readonly page: string } | null;
}

/**
 * The desk of a page with a server. `token` is the one that the page was opened with; `playerOf` gives what plays a
 * session's recording, null for one without.
 */
export function liveDesk(
  token: string,
  playerOf: (session: string) => Pick<Players, 'detail' | 'refusal'> | null,
): Desk {
  const at = (path: string): string => `${path}?token=${encodeURIComponent(token)}`;
  const part = (session: string, name: string): string => at(`api/sessions/${encodeURIComponent(session)}/${name}`);
  const order = async (url: string, type: string, body: string): Promise<ActReply> => {
    try {
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body });
      return readReply(await response.text(), response.status);
    } catch {
      return { ok: false, message: 'The inspector does not answer. Is its process still running?' };
    }
  };
  return {
    acts: true,
    detail: async (session, step) => {
      const player = playerOf(session);
      if (player !== null) return player.detail(session, step);
      const value = await fetchJson(part(session, `steps/${step}`));
      return isStepDetail(value) ? value : null;
    },
    search: async (query) => {
      const value = await fetchJson(`${at('api/search')}&q=${encodeURIComponent(query)}`);
      return isSearchPage(value) ? value : null;
    },
    act: async (session, act) => {
      // The machine in this page already determines whether it could continue.
      const refusal =
        act.kind === 'fork' && act.outcome !== undefined
          ? await playerOf(session)?.refusal(session, act.entry, act.outcome)
          : null;
      if (typeof refusal === 'string') return { ok: false, message: refusal };
      return order(part(session, 'act'), 'application/json', JSON.stringify(act));
    },
    address: () => new URL(`${at('./')}${location.hash}`, location.href).href,
    open: (recording) => order(at('api/recordings'), 'application/x-ndjson', recording),
    links: (session, beside) => ({
      recording: part(session, 'recording'),
      page: `${part(session, 'export')}${beside === null ? '' : `&beside=${encodeURIComponent(beside)}`}`,
    }),
  };
}

/** What the server answers with; null: it does not answer, or refuses. */
export async function fetchJson(url: string): Promise<unknown> {
  try {
    const response = await fetch(url);
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

function readReply(text: string, status: number): ActReply {
  const value = parsedText(text);
  const { ok, session, message } = isJsonObject(value) ? value : {};
  if (ok === true) return { ok, ...(typeof session === 'string' ? { session } : {}) };
  return {
    ok: false,
    message: typeof message === 'string' ? message : `The inspector answered with status ${status}.`,
  };
}

function isSearchPage(value: unknown): value is SearchPage {
  return isJsonObject(value) && Array.isArray(value.hits) && typeof value.partial === 'boolean';
}

/** Details come from our own server or from a page that it saved: beyond their shape they are taken as they are. */
export function isStepDetail(value: unknown): value is StepDetail {
  return isJsonObject(value) && isJsonObject(value.step) && Array.isArray(value.candidates);
}

/** The players of recordings and of runs that are recorded. */
export type Players = ReturnType<typeof workerPlayers>;

/** Players in their own thread; `take` receives the frames. */
export function workerPlayers(token: string, take: (frame: Frame) => void) {
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
      broken = `The player of recordings failed${message ? `: ${message}` : ' to load'}. Reload the page.`;
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
    /** Loads what plays, before the first session is known. */
    prepare: () => void started(),
    /** Plays a session from where it was; `isNew`: it has only begun. */
    resume: (session: string, isNew: boolean) => {
      playing.add(session);
      if (broken !== null) take({ t: 'problem', session, problem: broken });
      order({ do: 'resume', session, token, isNew });
    },
    /** Not viewed for now. */
    pause: (session: string) => order({ do: 'pause', session }),
    /** Will not be viewed again. */
    drop: (session: string) => {
      playing.delete(session);
      order({ do: 'drop', session });
    },
    /** Null: there is no such step. */
    detail: async (session: string, n: number) => {
      const reply = await ask((id) => ({ do: 'detail', session, n, id }));
      return 'detail' in reply ? reply.detail : null;
    },
    /** Why a run cannot continue from an entry with this outcome; null: it can, according to its machine. */
    refusal: async (session: string, entry: number, outcome: Json) => {
      const reply = await ask((id) => ({ do: 'try', session, entry, outcome, id }));
      return 'refusal' in reply ? reply.refusal : null;
    },
  };
}

/** Replies come from our own script: beyond their shape they are taken as they are. */
function isReply(value: unknown): value is PlayerReply {
  return isJsonObject(value) && (Array.isArray(value.frames) || typeof value.id === 'number');
}

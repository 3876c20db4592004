import { isJsonObject, parsedText } from '../../../json/json.ts';
import type { Players } from './players.ts';
import type { Act, ActReply, SearchPage, StepDetail } from '../../frames/protocol.ts';

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

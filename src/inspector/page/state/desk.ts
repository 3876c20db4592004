import type { Act, StepDetail } from '../../frames/protocol.ts';
import { type Json, isJsonObject } from '../../../json/json.ts';

/** What became of an order. */
type Answer = { readonly ok: true; readonly session: string | null } | { readonly ok: false; readonly message: string };

/** What the page can ask for: the server, or, in a saved page, what was saved with it. */
export interface Desk {
  /** False in a saved page: nothing can be ordered. */
  readonly acts: boolean;
  detail(session: string, step: number): Promise<StepDetail | null>;
  act(session: string, act: Act): Promise<Answer>;
  /** Reads a recording into a new session. */
  open(name: string, text: string): Promise<Answer>;
  /** Where the recording and the saved page of a session are to be had, that with another beside it; null in a saved page. */
  links(session: string, beside: string | null): { readonly recording: string; readonly page: string } | null;
}

/** The desk of a page that a server stands behind. `token` is the one that the page was opened with. */
export function liveDesk(token: string): Desk {
  const at = (path: string): string => `${path}?token=${encodeURIComponent(token)}`;
  const order = async (path: string, body: Json, text?: string): Promise<Answer> => {
    try {
      const response = await fetch(at(path), {
        method: 'POST',
        headers: { 'content-type': text === undefined ? 'application/json' : 'application/x-ndjson' },
        body: text ?? JSON.stringify(body),
      });
      return readAnswer(await response.text(), response.status);
    } catch {
      return { ok: false, message: 'The inspector does not answer. Is its process still running?' };
    }
  };
  return {
    acts: true,
    detail: async (session, step) => {
      try {
        const response = await fetch(at(`api/sessions/${encodeURIComponent(session)}/steps/${step}`));
        const value: unknown = response.ok ? await response.json() : null;
        return isStepDetail(value) ? value : null;
      } catch {
        return null;
      }
    },
    act: (session, act) => order(`api/sessions/${encodeURIComponent(session)}/act`, { ...act }),
    open: (name, text) => order('api/recordings', { name }, text),
    links: (session, beside) => ({
      recording: at(`api/sessions/${encodeURIComponent(session)}/recording`),
      page: `${at(`api/sessions/${encodeURIComponent(session)}/export`)}${beside === null ? '' : `&beside=${encodeURIComponent(beside)}`}`,
    }),
  };
}

function readAnswer(text: string, status: number): Answer {
  const value = parsed(text);
  if (isJsonObject(value) && value.ok === true)
    return { ok: true, session: typeof value.session === 'string' ? value.session : null };
  if (isJsonObject(value) && typeof value.message === 'string') return { ok: false, message: value.message };
  return { ok: false, message: `The inspector answered with status ${status}.` };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isStepDetail(value: unknown): value is StepDetail {
  return isJsonObject(value) && isJsonObject(value.step) && Array.isArray(value.candidates);
}

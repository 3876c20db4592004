import { type Json, isJsonObject } from '../../../json/json.ts';
import type { StepDetail } from '../../frames/protocol.ts';
import type { Answer, Desk } from './desk.ts';

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

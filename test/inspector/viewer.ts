import type { Frame, FramePage, StepDetail } from '../../src/inspector/frames/protocol.ts';

/** What a browser would do with an inspector, over real HTTP. */
export interface Viewer {
  /** Frames of one session from the first on (or after `from`), until one satisfies `until`. */
  frames(session: string, until: (frame: Frame) => boolean, from?: number): Promise<readonly Frame[]>;
  /** Frames of the list of sessions, until one satisfies `until`. */
  list(until: (frame: Frame) => boolean): Promise<readonly Frame[]>;
  page(session: string, from: number, limit: number): Promise<FramePage>;
  step(session: string, n: number): Promise<StepDetail>;
  get(path: string): Promise<Response>;
  act(
    session: string,
    body: unknown,
  ): Promise<{ readonly ok: boolean; readonly message?: string; readonly session?: string }>;
}

/** A viewer of the inspector at `url`. */
export function viewer(url: string): Viewer {
  const base = new URL(url);
  const token = base.searchParams.get('token') ?? '';
  const get = (path: string, signal?: AbortSignal): Promise<Response> => {
    const to = new URL(path, base);
    to.searchParams.set('token', token);
    return fetch(to, signal === undefined ? {} : { signal });
  };
  const stream = async (path: string, until: (frame: Frame) => boolean): Promise<readonly Frame[]> => {
    const stop = new AbortController();
    const list: Frame[] = [];
    for await (const { data } of serverSentEvents(await get(path, stop.signal))) {
      list.push(data as Frame);
      if (until(data as Frame)) break;
    }
    stop.abort();
    return list;
  };
  return {
    frames: (session, until, from = 0) => stream(`/api/sessions/${session}/stream?from=${from}`, until),
    list: (until) => stream('/api/stream', until),
    page: async (session, from, limit) =>
      (await (await get(`/api/sessions/${session}/frames?from=${from}&limit=${limit}`)).json()) as FramePage,
    step: async (session, n) => (await (await get(`/api/sessions/${session}/steps/${n}`)).json()) as StepDetail,
    get,
    act: async (session, body) => {
      const to = new URL(`/api/sessions/${session}/act`, base);
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
      const response = await fetch(to, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await response.json()) as { ok: boolean; message?: string; session?: string };
    },
  };
}

/** The events of a stream, as a browser's `EventSource` reads them. */
export async function* serverSentEvents(
  response: Response,
): AsyncGenerator<{ readonly id: string | null; readonly type: string; readonly data: unknown }> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of response.body ?? []) {
    text += decoder.decode(part, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string): string | null =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trim() ?? null;
      const data = field('data');
      if (data === null) continue;
      yield { id: field('id'), type: field('event') ?? 'message', data: data === '' ? null : JSON.parse(data) };
    }
  }
}

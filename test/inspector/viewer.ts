import type { Frame, FramePage, StepDetail } from '../../src/inspector/frames/protocol.ts';
import { JournalPlayer } from '../../src/inspector/page/player/journal-player.ts';

/** What a browser would do with an inspector, over real HTTP. */
export interface Viewer {
  /** Frames of one session from the first on, until one satisfies `until`: those of a recording are played, as the page does. */
  frames(session: string, until: (frame: Frame) => boolean): Promise<readonly Frame[]>;
  /** The lines of a recording so far, as they are sent. */
  lines(session: string): Promise<string>;
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
  /** `system-1` is the first of the process; its id ends with when that began. */
  const idOf = async (session: string): Promise<string> => {
    if (!/^system-\d+$/.test(session)) return session;
    for (;;) {
      const [hello] = await stream('/api/stream', ({ t }) => t === 'hello');
      const found = hello?.t === 'hello' ? hello.sessions.find((id) => id.startsWith(`${session}-`)) : undefined;
      if (found !== undefined) return found;
    }
  };
  const linesOf = async (session: string): Promise<string> => (await get(`/api/sessions/${session}/lines`)).text();
  return {
    frames: async (session, until) => {
      const stop = new AbortController();
      const list: Frame[] = [];
      const player = new JournalPlayer(session, (frame) => void list.push(frame));
      let seen = 0;
      const isDone = (): boolean => {
        while (seen < list.length) if (until(list[seen++] as Frame)) return true;
        return false;
      };
      const take = (text: string): boolean => {
        const value = JSON.parse(text) as { readonly session?: unknown; readonly t?: unknown };
        if (value.t === 'drawing' || 'session' in value) list.push(value as Frame);
        else player.take(text);
        return isDone();
      };
      for await (const { texts } of serverSentEvents(
        await get(`/api/sessions/${await idOf(session)}/stream`, stop.signal),
      ))
        if (texts.filter((text) => text !== '').some(take)) break;
      stop.abort();
      return list.slice(0, seen);
    },
    lines: linesOf,
    list: (until) => stream('/api/stream', until),
    page: async (session, from, limit) =>
      (await (await get(`/api/sessions/${session}/frames?from=${from}&limit=${limit}`)).json()) as FramePage,
    step: async (session, n) => {
      const kept = await get(`/api/sessions/${await idOf(session)}/steps/${n}`);
      if (kept.ok) return (await kept.json()) as StepDetail;
      const player = new JournalPlayer(session, () => undefined);
      for (const line of (await linesOf(session)).trim().split('\n')) player.take(line);
      return player.detail(n) as StepDetail;
    },
    get: async (path) => {
      const system = /(?<=\/)system-\d+(?=\/)/.exec(path)?.[0] ?? '';
      return get(system === '' ? path : path.replace(system, await idOf(system)));
    },
    act: async (session, body) => {
      const to = new URL(`/api/sessions/${await idOf(session)}/act`, base);
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
      const response = await fetch(to, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await response.json()) as { ok: boolean; message?: string; session?: string };
    },
  };
}

/** The events of a stream, as a browser's `EventSource` reads them. */
export async function* serverSentEvents(response: Response): AsyncGenerator<{
  readonly id: string | null;
  readonly type: string;
  readonly data: unknown;
  /** Each `data` field of it. */
  readonly texts: readonly string[];
}> {
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
      const texts = block
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => line.slice('data: '.length));
      yield { id: field('id'), type: field('event') ?? 'message', data: data === '' ? null : JSON.parse(data), texts };
    }
  }
}

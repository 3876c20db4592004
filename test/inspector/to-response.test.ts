import { describe, expect, test } from 'vitest';
import { toResponse } from '../../src/inspector/index.ts';
import type { RunEvent } from '../../src/machines/run-events.ts';
import { startScene } from './scenes.ts';
import { serverSentEvents } from './viewer.ts';

async function read(
  response: Response,
  most = Infinity,
): Promise<readonly { id: string | null; type: string; data: RunEvent | null }[]> {
  const list: { id: string | null; type: string; data: RunEvent | null }[] = [];
  for await (const { id, type, data } of serverSentEvents(response)) {
    list.push({ id, type, data: data as RunEvent | null });
    if (list.length >= most) break;
  }
  return list;
}

describe('toResponse', () => {
  test("sends a run's events as server-sent events, numbered by seq, and says when it is over", async () => {
    const run = startScene('parallel');
    const response = toResponse(run);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const sent = await read(response);
    const events: RunEvent[] = [];
    for await (const event of run) events.push(event);
    expect(sent.slice(0, -1).map(({ data }) => data)).toEqual(events);
    expect(sent.slice(0, -1).map(({ id }) => Number(id))).toEqual(events.map(({ seq }) => seq));
    expect(sent.at(-1)).toEqual({ id: null, type: 'end', data: null });
  });

  test('goes on after the event that a client got last', async () => {
    const run = startScene('parallel');
    const all = await read(toResponse(run));
    const half = await read(toResponse(run), 5);
    const rest = await read(toResponse(run, { lastEventId: half.at(-1)?.id ?? '' }));
    expect([...half, ...rest]).toEqual(all);
  });

  test('sends the tokens of the reply under way again, which have no number of their own', async () => {
    const run = startScene('plain', { streaming: true });
    const all = await read(toResponse(run));
    const tokens = all.filter(({ data }) => data?.type === 'model.token');
    expect(tokens.length).toBeGreaterThan(1);
    expect(tokens.map(({ id }) => id)).toEqual(tokens.map(() => null));
    const before = tokens[0]?.data?.seq ?? 0;
    const rest = await read(toResponse(run, { lastEventId: String(before) }));
    expect(rest).toEqual(all.slice(all.findIndex(({ id }) => id === String(before)) + 1));
  });

  test('does not end the run when the client goes away, and begins anew for nonsense', async () => {
    const run = startScene('parallel');
    await toResponse(run).body?.cancel();
    expect((await run).status).toBe('answered');
    for (const lastEventId of ['', 'x', '-3', null, '1e9'])
      expect((await read(toResponse(run, { lastEventId })))[0]?.id).toBe('1');
  });

  test('takes headers of your own', () => {
    const response = toResponse(startScene('plain'), {
      headers: { 'access-control-allow-origin': 'https://app.example' },
    });
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
  });
});

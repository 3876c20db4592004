import { describe, expect, test } from 'vitest';
import { toResponse } from '../../src/inspector/index.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
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

const ALL = ['arguments', 'results', 'thoughts', 'messages'] as const;

/** What a page does with tokens: it puts a delta behind what it shows, and a whole text in its place. */
function shownBy(sent: readonly { readonly data: unknown }[], name: 'answer' | 'thought'): readonly string[] {
  let shown = '';
  return sent
    .map(({ data }) => Object(data))
    .filter(({ type }) => type === 'model.token')
    .map((token) => (shown = token[name] ?? shown + (token[`${name}Delta`] ?? '')));
}

describe('toResponse', () => {
  test('reads no further for a client that has left', async () => {
    let left = 0;
    const asked = Promise.withResolvers<void>();
    const events = {
      next: () => new Promise<never>(() => asked.resolve()),
      return: async () => ({ done: true as const, value: void (left += 1) }),
    };
    const reader = toResponse({ [Symbol.asyncIterator]: () => events }).body?.getReader();
    await reader?.read();
    void reader?.read();
    await asked.promise;
    await reader?.cancel();
    expect(left).toBe(1);
  });

  test("sends a run's events as server-sent events, numbered by seq, and says when it is over", async () => {
    const run = startScene('parallel');
    const response = toResponse(run, { fields: ALL });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    // What compresses answers on their way would hold back the events.
    expect(response.headers.get('cache-control')).toContain('no-transform');
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
    expect(shownBy(all, 'answer').at(-1)).toBe('It is half past twelve.');
    const tokens = all.filter(({ data }) => data?.type === 'model.token');
    expect(tokens.length).toBeGreaterThan(1);
    expect(tokens.map(({ id }) => id)).toEqual(tokens.map(() => null));
    const before = tokens[0]?.data?.seq ?? 0;
    const rest = await read(toResponse(run, { lastEventId: String(before) }));
    expect(rest).toEqual(all.slice(all.findIndex(({ id }) => id === String(before)) + 1));
  });

  test('a token says what is new of the answer, so that a long one is not sent again with every piece', async () => {
    const answer = 'A word and another one. '.repeat(1_500);
    const run = startScene('plain', {
      streaming: true,
      model: scriptedModel([JSON.stringify({ thought: 'Hm.', answer })]),
    });
    const text = await toResponse(run).text();
    expect(text.length).toBeLessThan(answer.length * 40);
    const sent = await read(toResponse(run, { fields: ALL }));
    const events: RunEvent[] = [];
    for await (const event of run) events.push(event);
    const tokens = events.filter((event) => event.type === 'model.token');
    expect(tokens.length).toBeGreaterThan(100);
    const shown = shownBy(sent, 'answer');
    expect(shown).toEqual(tokens.map((token) => token.answer));
    expect(shown.at(-1)).toBe(answer);
    expect(shownBy(sent, 'thought')).toEqual(tokens.map((token) => token.thought));
  });

  test('the answer of a new attempt takes the place of the one that failed', async () => {
    const tokenOf = (seq: number, attempt: number, index: number, answer: string): RunEvent => ({
      type: 'model.token',
      kind: 'text',
      text: '',
      thought: '',
      answer,
      attempt,
      index,
      seq,
      replayed: false,
    });
    async function* torn(): AsyncGenerator<RunEvent> {
      yield* [tokenOf(2, 1, 0, 'Hel'), tokenOf(2, 1, 1, 'Hello'), tokenOf(2, 1, 2, 'Hello')];
      yield* [tokenOf(3, 2, 0, ''), tokenOf(3, 2, 1, 'Hello'), tokenOf(3, 2, 2, 'Good day')];
      // Old tokens may have been dropped.
      yield tokenOf(4, 3, 7, 'Good day to you');
    }
    const sent = await read(toResponse(torn()));
    expect(sent.slice(0, -1).map(({ data }) => data)).toMatchObject([
      { answer: 'Hel' },
      { answerDelta: 'lo' },
      { answer: '' },
      { answerDelta: 'Hello' },
      { answer: 'Good day' },
      { answer: 'Good day to you' },
    ]);
  });

  test('arguments, results, thoughts and messages are sent to whoever asks for them, and to nobody else', async () => {
    const secrets = { arguments: 'ARG', results: 'RES', thoughts: 'THT', messages: 'MSG' } as const;
    const child = createAgent({
      name: 'clerk',
      description: 'Looks things up.',
      tools: [fakeTool('look', ['RES of look', new Error('RES of a failure')])],
      model: scriptedModel([
        { content: 'MSG of the child', toolCalls: [{ name: 'look', arguments: { q: 'ARG of look' } }] },
        'RES: the answer of the child',
      ]),
      silent: true,
      streaming: true,
    });
    const run = createAgent({
      tools: [fakeTool('find', [{ found: 'RES' }, new Error('RES')])],
      children: [child],
      model: scriptedModel([
        JSON.stringify({ thought: 'THT', goal: 'THT', tool: 'find', tool_args: { q: 'ARG' } }),
        JSON.stringify({ plan: [{ tool: 'find', tool_args: { q: 'ARG' } }] }),
        { content: '', toolCalls: [{ name: 'clerk', arguments: { task: 'ARG' } }] },
        JSON.stringify({ thought: 'THT', answer: 'Done.' }),
      ]),
      toolCalling: 'json',
      silent: true,
      streaming: true,
    }).run('MSG: what is it?');
    const bare = await toResponse(run).text();
    expect(bare).not.toMatch(/ARG|RES|THT|MSG/);
    expect(bare).toMatch(/"type":"tool.finished".*"tool":"find"/);
    expect(bare).toContain('"steps":[{"tool":"find","complete":true}]');
    expect(bare).toContain('Done.');
    expect(bare).toContain('"child":"clerk"');
    for (const field of ALL) expect(await toResponse(run, { fields: [field] }).text()).toContain(secrets[field]);
    for (const field of ['arguments', 'results', 'thoughts'] as const) {
      const others = ALL.filter((one) => one !== field && one !== 'messages');
      expect(await toResponse(run, { fields: others }).text()).not.toContain(secrets[field]);
    }
  });

  test('what a message keeps for its model are thoughts, and which model that was is for those who get messages', async () => {
    const state = { model: 'scripted', data: 'THT' };
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    const run = createAgent({
      tools: [fakeTool('find', [1])],
      model: scriptedModel([{ content: '', toolCalls: [{ name: 'find' }], providerState: state, usage }, 'Done.']),
      silent: true,
    }).run('Go');
    const sent = async (...fields: readonly (typeof ALL)[number][]) => toResponse(run, { fields }).text();
    expect(await sent()).not.toMatch(/THT|scripted/);
    expect(await sent()).toContain('"totalTokens":2');
    expect(await sent('messages')).not.toContain('THT');
    expect(await sent('messages')).toContain('"byModel":{"scripted"');
    expect(await sent('thoughts')).not.toContain('THT');
    expect(await sent('messages', 'thoughts')).toContain('"providerState":{"model":"scripted","data":"THT"}');
  });

  test('only the types of event that are asked for are sent', async () => {
    const sent = await read(toResponse(startScene('parallel'), { events: ['tool.started', 'run.finished'] }));
    expect(sent.map(({ type, data }) => data?.type ?? type)).toEqual([
      'tool.started',
      'tool.started',
      'run.finished',
      'end',
    ]);
  });

  test('a run that cannot be resumed is told by an error with its code, and the stream ends', async () => {
    const agent = createAgent({ model: scriptedModel([]), silent: true, journal: memoryJournal() });
    const sent = await read(toResponse(agent.resume('nobody')));
    expect(sent).toEqual([
      {
        id: null,
        type: 'error',
        data: { type: 'error', code: 'run-unknown', message: 'The run cannot be followed: run-unknown.' },
      },
      { id: null, type: 'end', data: null },
    ]);
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

import { expect, onTestFinished, test, vi } from 'vitest';
import { chatModel } from '../../src/models/index.ts';
import { startModelServer, type Scripted } from '../support/model-server.ts';
import { ask, askInVain } from './ask.ts';
import { modelAt, overEachTransport } from '../support/transports.ts';
import { workedMs } from '../support/steady-time.ts';

async function serve(...script: readonly Scripted[]) {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  return modelAt({ baseURL: server.baseURL, model: 'm' });
}

const events = (...payloads: readonly unknown[]): Scripted => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  pieces: payloads.map((payload) => `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`),
});
const delta = (value: unknown, finish_reason: string | null = null) => ({ choices: [{ delta: value, finish_reason }] });
const calls = (...entries: readonly unknown[]) => delta({ tool_calls: entries });
const end = delta({}, 'tool_calls');
const whole = (message: unknown, more = {}): Scripted => ({
  status: 200,
  body: { choices: [{ message, finish_reason: 'stop' }], ...more },
});
const streamed = { stream: true } as const;
const PRETTY = JSON.stringify({ error: { message: 'out of memory' } }, null, 2);

function chopped(bytes: Uint8Array, size: number): Response {
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(at, (at += size)));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

overEachTransport(() => {
  test('a call that is sent without a list is one call', async () => {
    const call = { id: 'a', type: 'function', function: { name: 'add', arguments: '{"a": 1}' } };
    const one = { index: 0, id: 'a', function: { name: 'add', arguments: '{"a"' } };
    const more = { index: 0, function: { arguments: ': 1}' } };
    const pieces = [delta({ tool_calls: one }), delta({ tool_calls: more }), end, '[DONE]'];
    const model = await serve(whole({ content: null, tool_calls: call }), events(...pieces));
    const wanted = { toolCalls: [{ id: 'a', name: 'add', arguments: '{"a": 1}' }] };
    expect(await ask(model)).toMatchObject(wanted);
    expect(await ask(model, streamed)).toMatchObject(wanted);
  });

  test('every entry of a whole reply is a call of its own, even without id and arguments', async () => {
    const named = (name: string, more = {}) => ({ type: 'function', function: { name, ...more } });
    const tool_calls = [named('f'), named('g', { arguments: '' }), named('g', { arguments: null }), named('g')];
    const model = await serve(whole({ content: null, tool_calls }));
    expect((await ask(model)).toolCalls).toEqual(['f', 'g', 'g', 'g'].map((name) => ({ name, arguments: '' })));
  });

  test('a name that comes in pieces without number and id is one name', async () => {
    const pieces = ['get_', 'time'].map((name) => calls({ function: { name } }));
    const model = await serve(events(...pieces, calls({ function: { arguments: '{}' } }), end, '[DONE]'));
    expect((await ask(model, streamed)).toolCalls).toEqual([{ name: 'get_time', arguments: '{}' }]);
  });

  test('a stream that is answered with plain JSON is read all the same', async () => {
    const model = await serve({ content: 'whole', noStream: true });
    expect((await ask(model, streamed)).content).toBe('whole');
  });

  test('a plain request that is answered with a stream is read all the same', async () => {
    const model = await serve(events(delta({ content: 'in ' }), delta({ content: 'pieces' }, 'stop'), '[DONE]'));
    expect((await ask(model)).content).toBe('in pieces');
  });

  test('two calls that are numbered alike are told apart by their ids, even when the first has no arguments', async () => {
    const pieces = [
      calls({ index: 0, id: 'a', function: { name: 'f' } }),
      calls({ index: 0, id: 'b', function: { name: 'g', arguments: '{}' } }),
    ];
    const model = await serve(events(...pieces, end, '[DONE]'));
    expect((await ask(model, streamed)).toolCalls).toEqual([
      { id: 'a', name: 'f', arguments: '' },
      { id: 'b', name: 'g', arguments: '{}' },
    ]);
  });

  test('a payload over several data lines is put together', async () => {
    const lines = JSON.stringify(delta({ content: 'spread out' }), null, 1).split('\n');
    for (const eol of ['\n', '\r\n']) {
      const payload = lines.map((line) => `data: ${line}${eol}`).join('') + eol;
      const model = await serve({
        status: 200,
        body: `${payload}data: ${JSON.stringify(delta({ content: '!' }, 'stop'))}${eol}${eol}`,
      });
      expect((await ask(model, streamed)).content).toBe('spread out!');
    }
  });

  test('megabytes without an end of line, or of lines without sense, cost no noticeable time', async () => {
    const unended = `data: {"choices":[{"delta":{"content":"${'x'.repeat(4_000_000)}"},"finish_reason":"stop"}]}\n\n`;
    const senseless = 'data: {\n'.repeat(300_000);
    const model = await serve({ status: 200, body: unended }, { status: 200, body: senseless });
    const begun = workedMs();
    expect((await ask(model, streamed)).content).toHaveLength(4_000_000);
    expect((await askInVain(model, streamed)).code).toBe('bad-response');
    // Read again with every piece they would take minutes.
    expect(workedMs() - begun).toBeLessThan(10_000);
  });

  test.each([
    [
      'without index',
      [
        calls({ id: 'a', function: { name: 'f', arguments: '{"x"' } }),
        calls({ id: 'a', function: { arguments: ':1}' } }),
      ],
    ],
    [
      'without index or id',
      [calls({ function: { name: 'f', arguments: '{"x"' } }), calls({ function: { arguments: ':1}' } })],
    ],
    [
      'with the id and name in every piece',
      [
        calls({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }),
        calls({ index: 0, id: 'a', function: { name: 'f', arguments: ':1}' } }),
      ],
    ],
    [
      'with an index in later pieces alone',
      [
        calls({ id: 'a', function: { name: 'f', arguments: '{"x"' } }),
        calls({ index: 0, function: { arguments: ':1' } }),
        calls({ index: 0, id: 'a', function: { arguments: '}' } }),
      ],
    ],
    [
      'with one number in the first piece and another in later ones',
      [
        calls({ index: 0, id: 'a', function: { name: 'f' } }),
        calls({ index: 1, function: { arguments: '{"x"' } }),
        calls({ index: 1, id: 'a', function: { arguments: ':1}' } }),
      ],
    ],
    [
      // Gateways to Claude send its empty beginning, too.
      'with an empty object before its arguments',
      [
        calls({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }),
        calls({ index: 0, function: { arguments: '{"x"' } }),
        calls({ index: 0, function: { arguments: ':1}' } }),
      ],
    ],
    [
      'whole in one piece',
      [calls({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } })],
    ],
    [
      'with the name in pieces',
      [
        calls({ index: 0, id: 'a', function: { name: '' } }),
        calls({ index: 0, function: { name: 'f', arguments: '{"x":1}' } }),
      ],
    ],
  ])('a streamed call %s is one call', async (_how, pieces) => {
    const model = await serve(events(...pieces, end, '[DONE]'));
    const { toolCalls } = await ask(model, streamed);
    expect(toolCalls).toHaveLength(1);
    expect(toolCalls?.[0]).toMatchObject({ name: 'f', arguments: '{"x":1}' });
  });

  test.each([
    [
      'both numbered 0',
      [
        calls({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } }),
        calls({ index: 0, id: 'b', function: { name: 'g', arguments: '{}' } }),
      ],
    ],
    [
      'interleaved, numbered and without ids',
      [
        calls({ index: 0, function: { name: 'f' } }),
        calls({ index: 1, function: { name: 'g', arguments: '{}' } }),
        calls({ index: 0, function: { arguments: '{"x":1}' } }),
      ],
    ],
    [
      'neither numbered nor with an id',
      [calls({ function: { name: 'f', arguments: '{"x":1}' } }), calls({ function: { name: 'g', arguments: '{}' } })],
    ],
    [
      'in one event',
      [calls({ function: { name: 'f', arguments: '{"x":1}' } }, { function: { name: 'g', arguments: '{}' } })],
    ],
    [
      'with the same id',
      [
        calls({ id: 'a', function: { name: 'f', arguments: '{"x":1}' } }),
        calls({ id: 'a', function: { name: 'g', arguments: '{}' } }),
      ],
    ],
    ...(
      [
        [0, 1],
        ['0', '1'],
      ] as const
    ).map(([first, second]): [string, unknown[]] => [
      `interleaved, numbered with a ${typeof first}`,
      [
        calls({ index: first, id: 'a', function: { name: 'f' } }),
        calls({ index: second, id: 'b', function: { name: 'g', arguments: '{' } }),
        calls({ index: first, function: { arguments: '{"x":1}' } }),
        calls({ index: second, function: { arguments: '}' } }),
      ],
    ]),
  ])('two streamed calls %s are two calls', async (_how, pieces) => {
    const model = await serve(events(...pieces, end, '[DONE]'));
    const { toolCalls } = await ask(model, streamed);
    expect(toolCalls?.map(({ name, arguments: args }) => [name, args])).toEqual([
      ['f', '{"x":1}'],
      ['g', '{}'],
    ]);
    const ids = toolCalls?.flatMap(({ id }) => (id === undefined ? [] : [id])) ?? [];
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('arguments that come as an object stay one', async () => {
    const call = { id: 'a', function: { name: 'f', arguments: { x: 1 } } };
    const model = await serve(whole({ content: null, tool_calls: [call] }), events(calls(call), end, '[DONE]'));
    expect((await ask(model)).toolCalls).toEqual([{ id: 'a', name: 'f', arguments: { x: 1 } }]);
    expect((await ask(model, streamed)).toolCalls).toEqual([{ id: 'a', name: 'f', arguments: { x: 1 } }]);
  });

  test('null content, content in parts and the old function_call are understood', async () => {
    const model = await serve(
      whole({ content: null }),
      whole({
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      }),
      whole({ content: null, function_call: { name: 'f', arguments: '{}' } }),
    );
    expect((await ask(model)).content).toBe('');
    expect(await ask(model)).toMatchObject({ content: 'ab', reasoning: 'hm' });
    expect((await ask(model)).toolCalls).toEqual([{ name: 'f', arguments: '{}' }]);
  });

  test.each(['reasoning_content', 'reasoning'])('%s is set apart from the answer', async (field) => {
    const model = await serve(
      whole({ content: 'Yes.', [field]: 'Let me think.' }),
      events(delta({ [field]: 'Let me ' }), delta({ [field]: 'think.' }), delta({ content: 'Yes.' }, 'stop'), '[DONE]'),
    );
    const kinds: string[] = [];
    expect(await ask(model)).toMatchObject({ content: 'Yes.', reasoning: 'Let me think.' });
    const reply = await ask(model, { ...streamed, io: { onToken: ({ kind }) => kinds.push(kind) } });
    expect(reply).toMatchObject({ content: 'Yes.', reasoning: 'Let me think.' });
    expect(kinds).toEqual(['reasoning', 'reasoning', 'text']);
  });

  test('an answer that was cut for its length says so', async () => {
    const model = await serve({ content: 'It is', finishReason: 'length' });
    expect((await ask(model)).finishReason).toBe('length');
  });

  test('a refusal is the text of the reply, and says so', async () => {
    const refusal = { content: 'I will not.', finishReason: 'refusal' };
    const model = await serve(
      whole({ content: null, refusal: 'I will not.' }),
      events(delta({ content: null, refusal: 'I will' }), delta({ refusal: ' not.' }), delta({}, 'stop'), '[DONE]'),
      whole({ content: 'I will.', refusal: null }),
    );
    expect(await ask(model)).toMatchObject(refusal);
    expect(await ask(model, streamed)).toMatchObject(refusal);
    expect(await ask(model)).toMatchObject({ content: 'I will.', finishReason: 'stop' });
  });

  test('chunks without choices are passed over; usage is taken from wherever it stands', async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 2 };
    const model = await serve(
      events({ choices: [] }, delta({ content: 'ok' }, 'stop'), { choices: [], usage }, '[DONE]'),
    );
    expect(await ask(model, streamed)).toMatchObject({
      content: 'ok',
      usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 },
    });
  });

  test('of several choices only the first counts, whole and streamed, wherever it stands', async () => {
    const other = { index: 1, message: { content: 'no' }, delta: { content: 'no' }, finish_reason: 'length' };
    const first = { index: 0, message: { content: 'yes' }, finish_reason: 'stop' };
    const piece = (content: string, finish_reason: string | null = null) => ({
      choices: [{ index: 0, delta: { content }, finish_reason }],
    });
    const broken = { index: 1, error: { message: 'out of memory' } };
    const model = await serve(
      { status: 200, body: { choices: [other, first] } },
      events(
        { choices: [other] },
        piece('y'),
        { choices: [broken] },
        piece('es', 'stop'),
        { choices: [other] },
        '[DONE]',
      ),
      events(piece('half'), { choices: [other] }),
    );
    expect(await ask(model)).toMatchObject({ content: 'yes', finishReason: 'stop' });
    expect(await ask(model, streamed)).toMatchObject({ content: 'yes', finishReason: 'stop' });
    expect((await askInVain(model, streamed)).code).toBe('bad-response');
  });

  test('speed is taken from servers that tell it', async () => {
    const model = await serve(whole({ content: 'ok' }, { timings: { predicted_per_second: 42, prompt_ms: 80 } }));
    expect((await ask(model)).stats).toEqual({ tokensPerSecond: 42, timeToFirstTokenMs: 80 });
    const studio = await serve(
      whole({ content: 'ok' }, { stats: { tokens_per_second: 42, time_to_first_token: 0.08 } }),
    );
    expect((await ask(studio)).stats).toEqual({ tokensPerSecond: 42, timeToFirstTokenMs: 80 });
  });

  test('speed is measured from the first piece to the last where a server does not tell it', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    vi.advanceTimersByTime(1000);
    const pieces = ['It ', 'rains', '.'].map((content) => delta({ content }));
    const last = { ...delta({}, 'stop'), usage: { prompt_tokens: 5, completion_tokens: 7 } };
    const model = await serve(events(...pieces, last, '[DONE]'));
    // What comes next comes 50 ms later.
    const onToken = () => void vi.advanceTimersByTime(50);
    expect((await ask(model, { ...streamed, io: { onToken } })).stats).toEqual({
      tokensPerSecond: 70,
      timeToFirstTokenMs: 0,
    });
  });

  test.each([
    ['a plain reply', { stream: false }, { content: 'a long answer', breakOffAfter: 1 }],
    ['a stream', streamed, { content: 'a long answer', breakOffAfter: 3 }],
    ['a stream that ends properly, only too early', streamed, events(delta({ content: 'half' }))],
    [
      'a stream in the middle of a call',
      streamed,
      events(calls({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x' } })),
    ],
  ])('%s that breaks off is an error, not a short answer', async (_what, request, scripted) => {
    const model = await serve(scripted);
    const error = await askInVain(model, request);
    expect(error.code).toBe('bad-response');
    expect(error.message).toContain('http://127.0.0.1');
  });

  test('a server that does not hang up after the end of its reply holds nobody up, and is hung up on', async () => {
    const server = await startModelServer([{ content: 'ok', neverEnds: true }]);
    onTestFinished(() => server.close());
    expect((await ask(modelAt({ baseURL: server.baseURL, model: 'm' }), streamed)).content).toBe('ok');
    await server.abandoned();
  });

  test('what breaks after the end of the reply is no loss', async () => {
    const model = await serve({ content: 'ok', breakOffAfter: 3 });
    expect((await ask(model, streamed)).content).toBe('ok');
  });

  test.each([
    ['no choices', { status: 200, body: { choices: [] } }],
    ['another JSON document', { status: 200, body: { hello: 'world' } }],
    ['an HTML page', { status: 200, body: '<html>welcome</html>', headers: { 'content-type': 'text/html' } }],
    ['nothing', { status: 200, body: '' }],
    ['half a JSON document', { status: 200, body: '{"choices": [' }],
    ['events that are no JSON', { status: 200, body: 'data: {oops\n\n' }],
  ] as const)('%s with HTTP 200 is an unusable answer', async (_what, scripted) => {
    const model = await serve(scripted);
    expect((await askInVain(model)).code).toBe('bad-response');
  });

  test.each([
    ['a body with HTTP 200', { status: 200, body: { error: { message: 'out of memory' } } }],
    [
      'an error field in the stream',
      events(delta({ content: 'half' }), { error: { message: 'out of memory' } }, '[DONE]'),
    ],
    ['an error event', { status: 200, body: 'event: error\ndata: {"message":"out of memory"}\n\n' }],
    ['a list in the stream', events(delta({ content: 'half' }), [{ error: { message: 'out of memory' } }])],
    [
      // As Gemini does.
      'lines of its own after half a reply',
      {
        status: 200,
        body: `: ping\n\nid: 7\nretry: 5\ndata: ${JSON.stringify(delta({ content: 'half' }))}\n\n${PRETTY}\n`,
      },
    ],
    [
      'lines of its own after the reason to end',
      {
        status: 200,
        body: `data: ${JSON.stringify(delta({ content: 'half' }, 'stop'))}\r\n\r\n${PRETTY.replaceAll('\n', '\r\n')}`,
      },
    ],
    [
      'the field of Groq',
      events(delta({ content: 'half' }), { ...delta({}), x_groq: { id: 'r', error: 'out of memory' } }, '[DONE]'),
    ],
    ['an error line as llama.cpp once sent it', { status: 200, body: 'error: {"message":"out of memory"}\n\n' }],
  ])('an error told in %s is an error with what the server said', async (_where, scripted) => {
    const model = await serve(scripted);
    const error = await askInVain(model, streamed);
    expect(error.code).toBe('server-error');
    expect(error.message).toContain('out of memory');
  });

  test.each([
    ['that is no JSON', '<!-- cached -->\n{"error": oops'],
    ['without an error', '{"id": "x"}'],
    ['as events of null', 'data: null'],
    ['as events of empty lists', 'data: []'],
  ])('what stands between events %s is passed over', async (_what, line) => {
    const payloads = [delta({ content: 'fine' }), delta({}, 'stop')].map((one) => `data: ${JSON.stringify(one)}\n\n`);
    const model = await serve({ status: 200, body: `${payloads.join(`id: 7\nretry: 5\n${line}\n\n`)}${line}` });
    expect(await ask(model, streamed)).toMatchObject({ content: 'fine', finishReason: 'stop' });
  });

  test('what comes behind the end of a stream is not read, also where it comes at once', async () => {
    const behind = [delta({ content: ' more' }), { error: { message: 'out of memory' } }];
    const lines = [delta({ content: 'fine' }, 'stop'), '[DONE]', ...behind];
    const body = lines.map((one) => `data: ${typeof one === 'string' ? one : JSON.stringify(one)}\n\n`).join('');
    const model = await serve({ status: 200, body });
    expect((await ask(model, streamed)).content).toBe('fine');
  });

  test('the text of a server of plain completions is the answer, whole and streamed', async () => {
    const [start, more] = ['It', ' rains.'].map((text) => ({ choices: [{ index: 0, text, finish_reason: null }] }));
    const model = await serve(
      { status: 200, body: { choices: [{ index: 0, text: 'It rains.', finish_reason: 'stop' }] } },
      events(start, more, delta({}, 'stop'), '[DONE]'),
    );
    expect((await ask(model)).content).toBe('It rains.');
    expect((await ask(model, streamed)).content).toBe('It rains.');
  });

  test('an error within an error is known by its code', async () => {
    const error = { message: 'slow down', type: 'tokens', code: 'rate_limit_exceeded' };
    const model = await serve({ status: 200, body: `event: error\ndata: ${JSON.stringify({ error: { error } })}\n\n` });
    expect(await askInVain(model, streamed)).toMatchObject({
      code: 'rate-limited',
      message: expect.stringMatching(/The server said: slow down$/),
    });
  });

  test('an error with a message of its own is told by that', async () => {
    const model = await serve({ status: 200, body: { error: { message: 'too long', error: { message: 'no' } } } });
    expect((await askInVain(model)).message).toMatch(/The server said: too long$/);
  });

  test('a piece of arguments that begins with a brace is a piece', async () => {
    const pieces = ['{"x":', '{"y":1}}'].map((args) => calls({ index: 0, function: { arguments: args } }));
    const model = await serve(events(calls({ index: 0, function: { name: 'f' } }), ...pieces, end, '[DONE]'));
    expect((await ask(model, streamed)).toolCalls).toEqual([{ name: 'f', arguments: '{"x":{"y":1}}' }]);
  });

  test('empty arguments with a space behind them stay empty', async () => {
    const pieces = [
      calls({ index: 0, function: { name: 'f', arguments: '{}' } }),
      calls({ index: 0, function: { arguments: ' ' } }),
    ];
    const model = await serve(events(...pieces, end, '[DONE]'));
    expect((await ask(model, streamed)).toolCalls).toEqual([{ name: 'f', arguments: '{} ' }]);
  });

  test('choices without a number are parts of one reply, as Copilot sends those of Claude', async () => {
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    const [said, called] = [{ content: 'I look.' }, { tool_calls: [call] }];
    const parts = (name: string) => [said, called].map((part) => ({ [name]: part, finish_reason: 'tool_calls' }));
    const model = await serve(
      { status: 200, body: { choices: parts('message') } },
      events({ choices: parts('delta') }, '[DONE]'),
    );
    const wanted = { content: 'I look.', toolCalls: [{ id: 'a', name: 'f', arguments: '{}' }] };
    expect(await ask(model)).toMatchObject(wanted);
    expect(await ask(model, streamed)).toMatchObject(wanted);
  });

  test('an error inside HTTP 200 is known by its code', async () => {
    const model = await serve({ status: 200, body: { error: { code: 429, message: 'slow down' } } });
    expect((await askInVain(model)).code).toBe('rate-limited');
  });

  test('a listener that throws does not break the reply', async () => {
    const model = await serve('fine');
    const onToken = () => {
      throw new Error('broken listener');
    };
    expect((await ask(model, { ...streamed, io: { onToken } })).content).toBe('fine');
  });
});

test('events are read whatever the pieces they arrive in: mid-line, mid-character, CRLF, no blank lines', async () => {
  const text = `: ping\r\ndata: ${JSON.stringify(delta({ content: 'größer 🚂' }))}\r\ndata: ${JSON.stringify(delta({}, 'stop'))}\r\n\r\ndata: [DONE]`;
  for (const size of [1, 2, 3, 7, 1000]) {
    const bytes = Buffer.from(text);
    const model = chatModel({
      baseURL: 'http://chopped.test/v1',
      model: 'm',
      fetch: () => Promise.resolve(chopped(bytes, size)),
    });
    expect((await ask(model, streamed)).content, String(size)).toBe('größer 🚂');
  }
});

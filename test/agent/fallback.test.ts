import { describe, expect, test } from 'vitest';
import type { Model, ModelErrorCode, ModelRequest } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { chatModel } from '../../src/models/chat/chat-model.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { calls } from '../support/replies.ts';
import { interruptedAfter, lineCount, timeless } from '../journal/interrupted.ts';
import { eventsOf } from './agent-on-server.ts';
import { agentOf, asked, fails, model } from './listed-models.ts';

describe('a failure leads to the next model', () => {
  test.each<ModelErrorCode>([
    'rate-limited',
    'server-error',
    'timeout',
    'connect-failed',
    'bad-response',
    'model-error',
    'quota-exhausted',
    'model-not-found',
    'no-model',
  ])('after %s, at once, and the run says who answered', async (code) => {
    const [first, second] = [model('first', [fails(code)]), model('second', ['Hi.'])];
    const run = agentOf([first, second]).run('Hello');
    const events = await eventsOf(run);
    const result = await run;
    expect(result).toMatchObject({ status: 'answered', result: 'Hi.' });
    expect(asked(first, second)).toEqual([1, 1]);
    const retrying = events.filter(({ type }) => type === 'model.retrying');
    expect(retrying).toEqual([expect.objectContaining({ attempt: 1, next: 'second' })]);
    expect(retrying[0]).toMatchObject({ error: { code } });
    expect(events.find(({ type }) => type === 'model.replied')).toMatchObject({ model: 'second', attempts: 2 });
    expect(run.recording()).not.toContain('"name":"timer"');
    expect((await replay(run.recording(), agentOf([first, second]))).status).toBe('answered');
    expect(asked(first, second)).toEqual([1, 1]);
  });

  test.each<ModelErrorCode>(['bad-request', 'auth', 'content-filter', 'endpoint-not-found', 'live-forbidden'])(
    'but not after %s',
    async (code) => {
      const [first, second] = [model('first', [fails(code)]), model('second', ['Hi.'])];
      const run = agentOf([first, second]).run('Hello');
      const events = await eventsOf(run);
      expect(await run).toMatchObject({ status: 'failed', error: { code } });
      expect(asked(first, second)).toEqual([1, 0]);
      expect(events.some(({ type }) => type === 'model.retrying')).toBe(false);
    },
  );

  test('nor after a reply in which the model refuses', async () => {
    const refusing = model('first', [{ content: 'I will not.', finishReason: 'refusal' }]);
    const second = model('second', ['Hi.']);
    expect(await agentOf([refusing, second]).run('Hello')).toMatchObject({ status: 'failed', reason: 'refused' });
    expect(asked(refusing, second)).toEqual([1, 0]);
  });

  test('retry.retryable decides before the code does, both ways', async () => {
    const locked = model('first', [fails('auth')]);
    const second = model('second', ['Hi.']);
    const retry = { backoff: recover.constant(1) };
    expect(await agentOf([locked, second], { retry: { ...retry, retryable: () => true } }).run('Go')).toMatchObject({
      result: 'Hi.',
    });
    const poor = model('first', [fails('quota-exhausted')]);
    const third = model('third', ['Hi.']);
    const agent = agentOf([poor, third], { retry: { ...retry, retryable: () => false } });
    expect(await agent.run('Go')).toMatchObject({ status: 'failed', error: { code: 'quota-exhausted' } });
    expect(asked(poor, third)).toEqual([1, 0]);
  });
});

describe('attempts are bounded over all models', () => {
  test('each model has one chance, however few attempts there are', async () => {
    const models = ['a', 'b', 'c'].map((id) => model(id, [fails('server-error'), fails('server-error')]));
    expect(await agentOf(models, { retry: { maxAttempts: 1 } }).run('Go')).toMatchObject({
      status: 'failed',
      error: { code: 'server-error' },
    });
    expect(asked(...models)).toEqual([1, 1, 1]);
  });

  test('more attempts begin again with the first, after the backoff, and skip what cannot pass', async () => {
    const first = model('a', [fails('server-error'), 'Hi.']);
    const gone = model('b', [fails('model-not-found')]);
    const run = agentOf([first, gone], { retry: { maxAttempts: 4, backoff: recover.constant(3) } }).run('Go');
    const events = await eventsOf(run);
    expect(await run).toMatchObject({ result: 'Hi.' });
    expect(asked(first, gone)).toEqual([2, 1]);
    expect(run.recording()).toMatch(/"name":"timer".*"ms":3[,}]/);
    expect(events.flatMap((event) => (event.type === 'model.retrying' ? [event.next] : []))).toEqual(['b', 'a']);
  });

  test('of those that may pass, the one that asks for the shorter pause is asked first', async () => {
    const slow = model('a', [fails('rate-limited', { retryAfterMs: 5000 }), 'slow']);
    const quick = model('b', [fails('rate-limited', { retryAfterMs: 4 }), 'quick']);
    const run = agentOf([slow, quick], { retry: { maxAttempts: 3, backoff: recover.constant(1) } }).run('Go');
    expect(await run).toMatchObject({ result: 'quick' });
    expect(run.recording()).toMatch(/"name":"timer".*"ms":4[,}]/);
  });

  test('the backoff grows with the rounds, not with the models', async () => {
    const models = ['a', 'b', 'c'].map((id) => model(id, [fails('bad-response')]));
    const backoff = { kind: 'exponential', baseMs: 2, factor: 10, maxMs: 1000, jitter: 0 } as const;
    const run = agentOf(models, { retry: { maxAttempts: 4, backoff } }).run('Go');
    expect(await run).toMatchObject({ result: 'over' });
    expect(run.recording()).toMatch(/"name":"timer".*"ms":2[,}]/);
  });

  test('the attempts of a list never exceed maxAttempts', async () => {
    const models = ['a', 'b'].map((id) =>
      model(
        id,
        Array.from({ length: 9 }, () => fails('server-error')),
      ),
    );
    const result = await agentOf(models, { retry: { maxAttempts: 5, backoff: recover.constant(0) } }).run('Go');
    expect(result.status).toBe('failed');
    expect(asked(...models)).toEqual([3, 2]);
  });
});

describe('a conversation that is too long', () => {
  const overflow = () => fails('context-overflow');
  const history = [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }] },
    { role: 'tool', toolCallId: 'a', name: 'look', content: 'x'.repeat(1000) },
    { role: 'assistant', content: 'Seen.' },
  ] as const;

  test('goes to a model whose context is known to be larger, whole, and stays there', async () => {
    const small = model('small', [overflow()], { contextSize: 1000 });
    const unknown = model('unknown', []);
    const equal = model('equal', [], { contextSize: 1000 });
    const large = model('large', [calls(['look', {}]), 'Hi.'], { contextSize: 9000 });
    const agent = agentOf([small, unknown, equal, large], { history, tools: [fakeTool('look', [{ found: 'tea' }])] });
    expect(await agent.run('Go')).toMatchObject({ result: 'Hi.', stepsTaken: 2 });
    expect(asked(small, unknown, equal, large)).toEqual([1, 0, 0, 2]);
    expect(JSON.stringify(large.requests[0]?.messages)).toContain('x'.repeat(1000));
  });

  test('is shortened where none is known to be larger', async () => {
    const small = model('small', [overflow(), 'Hi.']);
    const large = model('large', [], { contextSize: 9000 });
    expect(await agentOf([small, large], { history }).run('Go')).toMatchObject({ result: 'Hi.' });
    expect(asked(small, large)).toEqual([2, 0]);
    expect(JSON.stringify(small.requests[1]?.messages)).toContain('[shortened');
  });

  test('begins with the first again once it was shortened', async () => {
    const small = model('small', [overflow(), 'Hi.'], { contextSize: 1000 });
    const large = model('large', [overflow(), calls(['look', {}])], { contextSize: 9000 });
    const agent = agentOf([small, large], { history, tools: [fakeTool('look', [{ found: 'tea' }])] });
    expect(await agent.run('Go')).toMatchObject({ result: 'Hi.', stepsTaken: 2 });
    expect(asked(small, large)).toEqual([2, 2]);
  });

  test('fails where nothing helps', async () => {
    const small = model('small', [overflow()], { contextSize: 9 });
    const other = model('other', [], { contextSize: 8 });
    expect(await agentOf([small, other]).run('Go')).toMatchObject({ error: { code: 'context-overflow' } });
    expect(asked(small, other)).toEqual([1, 0]);
  });
});

describe('each model is asked in its own way', () => {
  const look = () => fakeTool('look', [{ found: 'tea' }, { found: 'milk' }]);

  test('a run continues after tools have run, with the conversation worded for the model that gets it', async () => {
    const first = model('native', [calls(['look', {}]), fails('server-error'), 'Hi.']);
    const second = model('json', ['{"thought": "", "tool": "look", "tool_args": {}}'], { toolCalling: 'json' });
    const run = agentOf([first, second], { tools: [look()] }).run('Go');
    const result = await run;
    expect(result).toMatchObject({ result: 'Hi.', stepsTaken: 3 });
    expect(asked(first, second)).toEqual([3, 1]);
    const [request] = second.requests;
    expect(request).toMatchObject({ toolCalling: 'json' });
    expect(request?.tools).toBeUndefined();
    expect(request?.messages.some(({ role, toolCalls }) => role === 'tool' || toolCalls !== undefined)).toBe(false);
    expect(first.requests[2]).toMatchObject({ toolCalling: 'native' });
    expect(first.requests[2]?.messages.some(({ role }) => role === 'tool')).toBe(true);
    const played = replay(run.recording(), agentOf([first, second], { tools: [look()] }));
    expect(await played).toMatchObject({ result: 'Hi.', messages: result.messages });
    expect(played.transitions()).toEqual(run.transitions());
    expect(asked(first, second)).toEqual([3, 1]);
  });

  test('a server that takes no tools makes the envelope for itself alone, and is remembered in the run', async () => {
    const down = () => fails('server-error');
    const first = model('native', [down(), calls(['look', {}]), down()]);
    const second = model('no tools', [
      fails('no-native-tools'),
      '{"thought": "", "tool": "look", "tool_args": {}}',
      '{"thought": "", "answer": "Hi."}',
    ]);
    const result = await agentOf([first, second], { tools: [look()] }).run('Go');
    expect(result).toMatchObject({ result: 'Hi.', stepsTaken: 3 });
    expect(second.requests.map(({ toolCalling }) => toolCalling)).toEqual(['native', 'json', 'json']);
    expect(first.requests.map(({ toolCalling }) => toolCalling)).toEqual(['native', 'native', 'native']);
  });

  test('what is worded for one that refuses tools is not what the next one gets', async () => {
    const first = model('first', [calls(['look', {}]), fails('no-native-tools'), fails('server-error')]);
    const second = model('second', ['Hi.']);
    const run = agentOf([first, second], { tools: [look()] }).run('Go');
    expect(await run).toMatchObject({ result: 'Hi.' });
    expect(second.requests[0]?.toolCalling).toBe('native');
    expect(second.requests[0]?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
  });

  test.each([{}, { callsNatively: true }])(
    'text becomes a call by how the model itself has called, not by how another one has, %j',
    async (facts) => {
      const written = '{"thought": "", "tool": "look", "tool_args": {}}';
      const first = model('first', [calls(['look', {}]), fails('server-error'), written], facts);
      const second = model('second', [written]);
      const tool = look();
      const run = agentOf([first, second], { tools: [tool] }).run('Go');
      expect(await run).toMatchObject({ status: 'answered', result: written, stepsTaken: 3 });
      expect(tool.calls).toHaveLength(2);
    },
  );

  test('a history with calls stays as it was, and so does the conversation beside a model that a verdict names', async () => {
    const history = [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'a', name: 'look', content: 'tea' },
      { role: 'assistant', content: 'Seen.' },
    ] as const;
    const text = model('text', [fails('timeout'), '{"thought": "", "tool": "wrong", "tool_args": {}}'], {
      toolCalling: 'json',
    });
    const native = model('native', [calls(['look', {}])]);
    const strong = model('strong', ['{"thought": "", "answer": "Done."}']);
    const agent = agentOf([text, native], {
      history,
      models: { strong },
      tools: [look(), fakeTool('wrong', [new Error('no')], { onError: { executionError: recover.escalate('hard') } })],
      onEscalation: (_error, to) => to.retryWithModel('strong'),
    });
    expect((await agent.run('Go')).result).toBe('Done.');
    const results = ({ requests }: typeof text) =>
      requests.map(({ messages }) => messages.filter(({ role }) => role === 'tool').length);
    expect([text, native, strong].map(results)).toEqual([[0, 0], [1], [0]]);
  });

  test('a call that its server could not read is its own, too', async () => {
    const events = await eventsOf(
      agentOf([model('first', [fails('malformed-tool-call'), 'Hi.']), model('b', [])]).run('Go'),
    );
    expect(events.flatMap((event) => (event.type === 'model.replied' ? [event.model] : []))).toEqual([
      'first',
      'first',
    ]);
    expect(events.some(({ type }) => type === 'model.retrying')).toBe(false);
  });

  test('images of results go only to a model that takes them', async () => {
    const camera = fakeTool('look', [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }]);
    const blind = model('blind', [calls(['look', {}]), fails('server-error')]);
    const seeing = model('seeing', ['A cat.'], { takesImages: true });
    expect(await agentOf([blind, seeing], { tools: [camera] }).run('Go')).toMatchObject({ result: 'A cat.' });
    const images = (request: ModelRequest | undefined) => JSON.stringify(request?.messages).includes('data:image');
    expect(blind.requests.map(images)).toEqual([false, false]);
    expect(images(seeing.requests[0])).toBe(true);
  });

  test('an image of the user passes over a model that takes none', async () => {
    const history = [
      { role: 'user', content: [{ type: 'image', url: 'data:image/png;base64,aGk=' }] },
      { role: 'assistant', content: 'A cat.' },
    ] as const;
    const blind = model('blind', []);
    const seeing = model('seeing', ['Yes.'], { takesImages: true });
    expect(await agentOf([blind, seeing], { history }).run('Sure?')).toMatchObject({ result: 'Yes.' });
    expect(asked(blind, seeing)).toEqual([0, 1]);
  });

  test('a schema goes beside tools only to a model that takes both', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    const both = model('both', [fails('server-error')], { takesSchemaWithTools: true });
    const one = model('one', ['{"n": 1}']);
    const agent = createAgent({
      model: [both, one],
      outputSchema,
      outputMode: 'native',
      tools: [look()],
      silent: true,
    });
    expect(await agent.run('Go')).toMatchObject({ success: true, output: { n: 1 } });
    expect(both.requests[0]?.responseSchema).toBeDefined();
    expect(one.requests[0]?.responseSchema).toBeUndefined();
    expect(one.requests[0]?.tools).toHaveLength(2);
  });

  test('what a model wants back is marked as its own, and tokens are counted by who answered', async () => {
    const usage = { inputTokens: 2, outputTokens: 1, totalTokens: 3 };
    const state = { model: 'first', data: { thought: 'signed' } };
    const first = model('first', [{ ...calls(['look', {}]), usage, providerState: state }, fails('timeout')]);
    const second = model('second', [{ content: 'Hi.', usage }]);
    const result = await agentOf([first, second], { tools: [look()] }).run('Go');
    expect(result.usage.byModel).toEqual({ first: usage, second: usage });
    expect(second.requests[0]?.messages.find(({ toolCalls }) => toolCalls !== undefined)?.providerState).toEqual(state);
  });
});

describe('a list of models', () => {
  test('with one model is that model: the recording says nothing of a list', async () => {
    const agent = agentOf([model('only', ['Hi.'])]);
    const run = agent.run('Hello');
    await run;
    expect(readRecording(run.recording()).head.models).toBeUndefined();
  });

  test('hides the keys of all of them', async () => {
    const spare = chatModel({ baseURL: 'http://127.0.0.1:1/v1', model: 'spare', apiKey: 'a-key-that-nobody-sees' });
    const run = agentOf([model('first', ['Hi.']), spare]).run('My key is a-key-that-nobody-sees.');
    await run;
    expect(run.recording()).not.toContain('a-key-that-nobody-sees');
  });

  test('stands in the recording: what was known of each, and who was asked', async () => {
    const second = model('', ['Hi.'], { contextSize: 5 });
    const run = agentOf([model('first', [fails('timeout')]), second]).run('Hello');
    await run;
    const { head, lines } = readRecording(run.recording());
    expect(head.models).toMatchObject([{ name: 'first' }, { name: 'model 2', contextSize: 5 }]);
    const requests = lines.flatMap((line) => (line.t === 'start' && line.name === 'callLlm' ? [line.request] : []));
    expect(requests.map((request) => Reflect.get(Object(request), 'model'))).toEqual([undefined, 'model 2']);
  });

  test('is resumed from every record to the same result', async () => {
    // They know by the request what they have said: a new one continues where the last one stood.
    const hasLooked = ({ messages }: ModelRequest) => messages.some(({ role }) => role === 'tool');
    const first = (): Model => ({
      id: 'first',
      complete: async (request) => {
        if (hasLooked(request)) throw fails('server-error');
        return Promise.resolve(calls(['look', {}]));
      },
    });
    const options = () => ({
      tools: [fakeTool('look', [{ found: 'tea' }, { found: 'tea' }], { effects: 'idempotent' })],
    });
    const run = agentOf([first(), model('second', ['Hi.'])], options()).run('Go', { runId: 'one' });
    const result = { ...(await run), durationMs: 0 };
    const recording = run.recording();
    for (let lines = 1; lines < lineCount(recording); lines++) {
      const journal = interruptedAfter(recording, lines);
      const agent = agentOf([first(), model('second', ['Hi.'])], { ...options(), journal });
      const resumed = agent.resume('one');
      expect({ ...(await resumed), durationMs: 0 }, `after line ${lines}`).toEqual(result);
      expect(resumed.transitions()).toEqual(run.transitions());
      expect(timeless(journal.text())).toBe(timeless(recording));
    }
  });

  test('answers about an image with the first model that takes it, and with none where none does', async () => {
    const image = { type: 'image', data: 'aGk=', mediaType: 'image/png' } as const;
    const [blind, seeing] = [model('blind', []), model('seeing', ['A cat.'], { takesImages: true })];
    expect((await agentOf([blind, seeing]).run([image])).result).toBe('A cat.');
    expect(asked(blind, seeing)).toEqual([0, 1]);
    const refused = await agentOf([blind, model('other', [])]).run([image]);
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'images-not-taken' } });
    expect(asked(blind)).toEqual([0]);
  });

  test('leaves a verdict its own model, and is asked from the first again after it', async () => {
    const wrong = fakeTool('wrong', [new Error('no')], { onError: { executionError: recover.escalate('hard') } });
    const first = model('first', [calls(['wrong', {}]), 'Done.']);
    const second = model('second', []);
    const strong = model('strong', [calls(['look', {}])]);
    const agent = agentOf([first, second], {
      models: { strong },
      tools: [wrong, fakeTool('look', [1])],
      onEscalation: (_error, to) => to.retryWithModel('strong'),
    });
    const run = agent.run('Go');
    expect((await run).result).toBe('Done.');
    expect(asked(first, second, strong)).toEqual([2, 0, 1]);
    const played = replay(run.recording(), agent);
    expect((await played).result).toBe('Done.');
    expect(played.transitions()).toEqual(run.transitions());
  });

  test('can be given by agent.configure, and replaced by one model', async () => {
    const down = model('down', [fails('server-error')]);
    const up = model('up', ['Hi.']);
    const agent = agentOf([model('before', ['Before.'])]);
    expect((await agent.run('Go')).result).toBe('Before.');
    agent.configure({ model: [down, up] });
    expect((await agent.run('Go')).result).toBe('Hi.');
    agent.configure({ model: model('alone', ['Alone.']) });
    expect((await agent.run('Go')).result).toBe('Alone.');
  });

  test('belongs to its agent: a child has its own', async () => {
    const [down, up] = [model('down', [fails('timeout')]), model('up', ['Read.'])];
    const reader = createAgent({ name: 'reader', description: 'Reads.', model: [down, up], silent: true });
    const above = model('above', [calls(['reader', { task: 'Read.' }]), 'Done.']);
    const other = model('other', []);
    const run = agentOf([above, other], { children: [reader] }).run('Go');
    const events = await eventsOf(run);
    expect(await run).toMatchObject({ result: 'Done.' });
    expect(asked(down, up, above, other)).toEqual([1, 1, 2, 0]);
    expect(events.find(({ type }) => type === 'model.retrying')).toMatchObject({ child: 'reader', next: 'up' });
  });

  test.each<readonly unknown[]>([[[]], [['']], [[{}]], [['ollama', 5]]])('%j is refused by name', (wrong) => {
    expect(() => Reflect.apply(createAgent, null, [{ model: wrong }])).toThrow(/model/);
  });
});

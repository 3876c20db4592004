import { expect, onTestFinished, test } from 'vitest';
import type { McpQuestion } from '../../src/actors/mcp-calls.ts';
import type { McpAnswers, McpElicitationAnswer } from '../../src/mcp/answers.ts';
import type { McpConnectionOptions } from '../../src/mcp/connection-types.ts';
import type { McpServerSettings } from '../../src/mcp/config.ts';
import { askingEntry } from '../support/mcp/hostile-entry.ts';
import { watched } from '../support/mcp/hostile.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2 },
    age: { type: 'integer' },
    mail: { type: 'string', format: 'email' },
    colour: { type: 'string', enum: ['red', 'blue'], default: 'blue' },
  },
  required: ['name'],
};

const form = { method: 'elicitation/create', params: { message: 'Who are you?', requestedSchema: SCHEMA } };
const sampling = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say hi' } }], maxTokens: 50 },
};

function asking(options: McpConnectionOptions = {}, settings: McpServerSettings = {}) {
  const { connection, oddities, news } = watched(askingEntry(settings), options);
  const ask = async (args: { readonly method: string; readonly params?: object }): Promise<unknown> => {
    const { data } = await connection.callTool('ask', JSON.parse(JSON.stringify(args)));
    return JSON.parse(String(data));
  };
  const offered = async (): Promise<unknown> => JSON.parse(String((await connection.callTool('client')).data));
  return { connection, oddities, news, ask, offered };
}

const answering = (answer: McpElicitationAnswer): McpAnswers => ({ elicit: () => answer });

test('a server is offered nothing that nobody answers, and a question it asks all the same is declined', async () => {
  const { ask, offered, oddities } = asking();
  expect(await offered()).toEqual({});
  expect(await ask(form)).toEqual({ result: { action: 'decline' } });
  expect(await ask(sampling)).toMatchObject({ error: { code: -32601 } });
  expect(await ask({ method: 'roots/list' })).toMatchObject({ error: { code: -32601 } });
  expect(oddities()).toContain('unanswered');
});

test('an answer is sent as the schema wants it: numbers as numbers, defaults filled in', async () => {
  const content = { name: 'Ada', age: '36', mail: 'ada@example.com' };
  const { ask, offered } = asking(answering({ action: 'accept', content }));
  expect(await offered()).toEqual({ elicitation: { form: { applyDefaults: true } } });
  expect(await ask(form)).toEqual({
    result: { action: 'accept', content: { name: 'Ada', age: 36, mail: 'ada@example.com', colour: 'blue' } },
  });
});

test.each([
  [{ age: 36 }, 'name'],
  [{ name: 'A' }, 'name'],
  [{ name: 'Ada', age: 'old' }, 'age'],
  [{ name: 'Ada', mail: 'ada' }, 'mail'],
  [{ name: 'Ada', colour: 'green' }, 'colour'],
  [{ name: 'Ada', pin: 1234 }, 'pin'],
])('the answer %j is not sent, for it does not fit', async (content, field) => {
  const { ask, news } = asking(answering({ action: 'accept', content }));
  expect(await ask(form)).toEqual({ result: { action: 'cancel' } });
  expect(news).toContainEqual(
    expect.objectContaining({ type: 'mcp.oddity', kind: 'unanswered', message: expect.stringContaining(field) }),
  );
});

test('a function that throws has not agreed', async () => {
  const { ask } = asking({ elicit: () => Promise.reject(new Error('no window')) });
  expect(await ask(form)).toEqual({ result: { action: 'cancel' } });
});

test('a server that wants a web page opened is told that this is not offered', async () => {
  const { ask } = asking(answering({ action: 'decline' }));
  const params = { mode: 'url', elicitationId: '1', url: 'https://example.com/pay', message: 'Pay here' };
  expect(await ask({ method: 'elicitation/create', params })).toMatchObject({ error: { code: -32602 } });
});

test('a question is withdrawn when the call that it came with is cancelled', async () => {
  const withdrawn = Promise.withResolvers<string>();
  const stop = new AbortController();
  const { connection } = asking({
    elicit: (_question, { signal }) => {
      signal.addEventListener('abort', () => withdrawn.resolve('withdrawn'));
      stop.abort();
      return new Promise<never>(() => undefined);
    },
  });
  const call = connection.callTool('ask', form, { signal: stop.signal });
  expect(await call).toMatchObject({ code: 'cancelled' });
  expect(await withdrawn.promise).toBe('withdrawn');
});

test('a call hears what is asked during it, and what was answered', async () => {
  const heard: McpQuestion[] = [];
  const { connection } = asking(answering({ action: 'accept', content: { name: 'Ada' } }));
  await connection.callTool('ask', form, { onQuestion: (question) => heard.push(question) });
  expect(heard).toMatchObject([
    { phase: 'asked', kind: 'elicitation', server: 'hostile', message: 'Who are you?' },
    { phase: 'answered', action: 'accept', content: { name: 'Ada', colour: 'blue' } },
  ]);
});

test('a function in the configuration replies to sampling, and no more than twenty times a call', async () => {
  let replies = 0;
  const settings: McpServerSettings = { sampling: () => ({ text: `hi ${(replies += 1)}`, model: 'mine' }) };
  const { ask, offered, connection } = asking({}, settings);
  expect(await offered()).toEqual({ sampling: {} });
  expect(await ask(sampling)).toEqual({
    result: { role: 'assistant', content: { type: 'text', text: 'hi 1' }, model: 'mine', stopReason: 'endTurn' },
  });
  const { data } = await connection.callTool('ask', { ...sampling, times: 25 });
  const answers: unknown = JSON.parse(String(data));
  expect(replies).toBe(21);
  expect(answers).toMatchObject({ 19: { result: {} }, 20: { error: { code: -1 } } });
});

test('sampling with pictures or tools is refused', async () => {
  const { ask } = asking({}, { sampling: () => ({ text: 'hi', model: 'mine' }) });
  const image = { role: 'user', content: { type: 'image', data: '', mimeType: 'image/png' } };
  expect(await ask({ ...sampling, params: { messages: [image], maxTokens: 1 } })).toMatchObject({
    error: { code: -32602 },
  });
  const withTools = { ...sampling.params, tools: [{ name: 'x', inputSchema: { type: 'object' } }] };
  expect(await ask({ ...sampling, params: withTools })).toMatchObject({ error: { code: -32602 } });
});

test('folders of the configuration are told as addresses, and others can be named later', async () => {
  const { ask, offered, connection } = asking({}, { roots: ['/work/a', 'file:///b'] });
  expect(await offered()).toEqual({ roots: { listChanged: true } });
  expect(await ask({ method: 'roots/list' })).toEqual({
    result: { roots: [{ uri: 'file:///work/a', name: 'a' }, { uri: 'file:///b' }] },
  });
  connection.setRoots(['/c']);
  expect(await ask({ method: 'roots/list' })).toEqual({ result: { roots: [{ uri: 'file:///c', name: 'c' }] } });
  expect((await connection.callTool('heard')).data).toContain('notifications/roots/list_changed');
});

test('news of other lists reach who listens', async () => {
  const { connection, news } = asking();
  await connection.callTool('announce', { list: 'resources' });
  await connection.callTool('announce', { list: 'prompts' });
  expect(news.filter(({ type }) => type === 'mcp.list')).toMatchObject([{ list: 'resources' }, { list: 'prompts' }]);
});

test('a server without resources and prompts has none, which is no error', async () => {
  const { connection } = asking();
  expect(await connection.listResources()).toEqual([]);
  expect(await connection.listResourceTemplates()).toEqual([]);
  expect(await connection.listPrompts()).toEqual([]);
});

test('structured content that keeps its promise is data; what breaks it is partial, and told', async () => {
  const { connection, oddities } = asking();
  onTestFinished(() => connection.disconnect());
  const weather = (args: object) => connection.callTool('weather', JSON.parse(JSON.stringify(args)));
  expect(await weather({ structured: { celsius: 21 } })).toEqual({ status: 'success', data: { celsius: 21 } });
  expect(oddities()).toEqual([]);
  expect(await weather({ structured: { celsius: '21' } })).toMatchObject({
    status: 'partial',
    data: { celsius: '21' },
    message: expect.stringContaining('/celsius'),
  });
  expect(await weather({})).toMatchObject({ status: 'partial', data: 'mild' });
  expect(await weather({ isError: true })).toEqual({ status: 'error', error: 'mild' });
  expect(oddities()).toEqual(['bad-result', 'bad-result']);
});

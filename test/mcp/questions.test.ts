import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import type { McpQuestion } from '../../src/actors/mcp/mcp-calls.ts';
import type { McpAnswers, McpElicitation, McpElicitationAnswer } from '../../src/mcp/config/answers.ts';
import type { McpConnectionOptions } from '../../src/mcp/connection-types.ts';
import type { McpServerSettings } from '../../src/mcp/config/config.ts';
import { type McpConnection, createMcpConnection } from '../../src/mcp/index.ts';
import { askingEntry } from '../support/mcp/hostile-entry.ts';
import { watched } from '../support/mcp/hostile.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2 },
    age: { type: 'integer' },
    mail: { type: 'string', format: 'email' },
    colour: { type: 'string', enum: ['red', 'blue'], default: 'blue' },
    born: { type: 'string', format: 'date' },
    at: { type: 'string', format: 'date-time' },
    site: { type: 'string', format: 'uri' },
  },
  required: ['name'],
};

const form = { method: 'elicitation/create', params: { message: 'Who are you?', requestedSchema: SCHEMA } };
const sampling = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say hi' } }], maxTokens: 50 },
};

interface Asked {
  readonly method: string;
  readonly params?: object;
}

async function askedBy(connection: McpConnection, args: Asked): Promise<unknown> {
  const { data } = await connection.callTool('ask', JSON.parse(JSON.stringify(args)));
  return JSON.parse(String(data));
}

function asking(options: McpConnectionOptions = {}, settings: McpServerSettings = {}) {
  const { connection, oddities, news } = watched(askingEntry(settings), options);
  const ask = (args: Asked): Promise<unknown> => askedBy(connection, args);
  const offered = async (): Promise<unknown> => JSON.parse(String((await connection.callTool('client')).data));
  return { connection, oddities, news, ask, offered };
}

const answering = (answer: McpElicitationAnswer): McpAnswers => ({ elicit: () => answer });

/** One server for all tests that differ in nothing but what is asked and answered. */
let next: McpElicitationAnswer = { action: 'decline' };
let seen = 0;
const told: object[] = [];
const one = createMcpConnection('hostile', askingEntry(), { elicit: () => ((seen += 1), next) });
one.on('mcp.warning', (warning) => told.push(warning));
afterAll(() => one.disconnect());

/** What that server is answered; `told` and `seen` are what came of it. */
function answerOf(question: Asked, answer: McpElicitationAnswer): Promise<unknown> {
  [next, seen, told.length] = [answer, 0, 0];
  return askedBy(one, question);
}

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
  expect(await offered()).toEqual({ elicitation: { form: { applyDefaults: true }, url: {} } });
  expect(await ask(form)).toEqual({
    result: { action: 'accept', content: { name: 'Ada', age: 36, mail: 'ada@example.com', colour: 'blue' } },
  });
});

test.each([
  { born: '2024-02-29' },
  { at: '2026-01-31T09:00:00Z' },
  { at: '2026-01-31 23:59:60.25+05:30' },
  { site: 'urn:isbn:0451450523' },
])('the answer %j fits its format', async (given) => {
  const content = { name: 'Ada', ...given };
  expect(await answerOf(form, { action: 'accept', content })).toMatchObject({ result: { action: 'accept', content } });
});

test.each([
  [{ age: 36 }, 'name'],
  [{ name: 'A' }, 'name'],
  [{ name: 'Ada', age: 'old' }, 'age'],
  [{ name: 'Ada', mail: 'ada' }, 'mail'],
  [{ name: 'Ada', colour: 'green' }, 'colour'],
  [{ name: 'Ada', pin: 1234 }, 'pin'],
  [{ name: 'Ada', born: '2026-02-29' }, 'born: expected a date'],
  [{ name: 'Ada', at: '2026-01-31' }, 'at: expected a time'],
  [{ name: 'Ada', at: '2026-02-30T09:00:00Z' }, 'at: expected a time'],
  [{ name: 'Ada', at: '2026-01-31T24:00:00Z' }, 'at: expected a time'],
  [{ name: 'Ada', at: '2026-01-31T09:60:00Z' }, 'at: expected a time'],
  [{ name: 'Ada', at: '2026-01-31T09:00:00Z; and more' }, 'at: expected a time'],
  [{ name: 'Ada', at: '2026-01-31T09:00:00Z T' }, 'at: expected a time'],
  [{ name: 'Ada', site: 'example.com/a b' }, 'site: expected an address'],
])('the answer %j is not sent, for it does not fit', async (content, field) => {
  expect(await answerOf(form, { action: 'accept', content })).toEqual({ result: { action: 'cancel' } });
  expect(told).toContainEqual(
    expect.objectContaining({ type: 'mcp.warning', kind: 'unanswered', message: expect.stringContaining(field) }),
  );
});

test.each([
  ['no object', 'yes', 'an answer is { action }'],
  ['another action', { action: 'maybe' }, 'there is no action "maybe"'],
  ['content that is no object', { action: 'accept', content: ['Ada'] }, 'its content is not an object'],
])('an answer that is %s has not agreed', async (_what, given, says) => {
  expect(await answerOf(form, JSON.parse(JSON.stringify(given)))).toEqual({ result: { action: 'cancel' } });
  expect(told).toContainEqual(expect.objectContaining({ message: expect.stringContaining(says) }));
});

test.each([
  ['in a mode of its own', { mode: 'voice', message: 'Who?', requestedSchema: SCHEMA }],
  ['without a form', { message: 'Who?' }],
  ['without a message', { requestedSchema: SCHEMA }],
])('a question %s is refused, and nobody sees it', async (_how, params) => {
  const question = { method: 'elicitation/create', params };
  const answer = await answerOf(question, { action: 'accept', content: { name: 'Ada' } });
  expect([answer, seen]).toMatchObject([{ error: { code: -32602 } }, 0]);
});

test('a function that throws has not agreed', async () => {
  const { ask } = asking({ elicit: () => Promise.reject(new Error('no window')) });
  expect(await ask(form)).toEqual({ result: { action: 'cancel' } });
});

const page = {
  method: 'elicitation/create',
  params: { mode: 'url', elicitationId: '1', url: 'https://pay.example.com/x?id=1', message: 'Pay here' },
};

test('a page that a person is to open is shown with its origin, and nothing but the answer is sent', async () => {
  const asked: McpElicitation[] = [];
  const { ask } = asking({
    elicit: (question) => {
      asked.push(question);
      return { action: asked.length === 1 ? 'accept' : 'decline', content: { anything: 1 } };
    },
  });
  expect(await ask(page)).toEqual({ result: { action: 'cancel' } });
  expect(await ask(page)).toEqual({ result: { action: 'decline' } });
  expect(asked[0]).toMatchObject({
    mode: 'url',
    server: 'hostile',
    message: 'Pay here',
    url: 'https://pay.example.com/x?id=1',
    origin: 'https://pay.example.com',
  });
  const { ask: again } = asking(answering({ action: 'accept', content: {} }));
  expect(await again(page)).toEqual({ result: { action: 'accept' } });
});

test.each([
  'http://pay.example.com/',
  'javascript:alert(1)',
  'file:///etc/passwd',
  'https://you:secret@pay.example.com/',
  'no address',
])('nobody is sent to %s', async (url) => {
  let asked = 0;
  const { ask, oddities } = asking({
    elicit: () => {
      asked += 1;
      return { action: 'decline' };
    },
  });
  expect(await ask({ ...page, params: { ...page.params, url } })).toMatchObject({ error: { code: -32602 } });
  expect([asked, oddities()]).toEqual([0, ['unanswered']]);
});

test('an address is shown in the letters that a browser would show', async () => {
  const asked: McpElicitation[] = [];
  const { ask } = asking({
    elicit: (question) => {
      asked.push(question);
      return { action: 'decline' };
    },
  });
  await ask({ ...page, params: { ...page.params, url: 'https://аpple.com/\u202e' } });
  expect(asked).toMatchObject([{ origin: 'https://xn--pple-43d.com', url: 'https://xn--pple-43d.com/%E2%80%AE' }]);
});

describe('a call that the server carries out only after a page was opened', () => {
  const paged = { times: 1, url: 'https://login.example.com/a' };

  test('goes on when the person says that it is done', async () => {
    const asked: McpElicitation[] = [];
    const { connection } = asking({
      elicit: (question) => {
        asked.push(question);
        return { action: 'accept', content: {} };
      },
    });
    expect((await connection.callTool('paged', paged)).data).toContain('carried out');
    expect(asked).toMatchObject([{ mode: 'url', origin: 'https://login.example.com', message: 'Sign in first' }]);
  });

  test.each([
    ['is declined', { elicit: () => ({ action: 'decline' }) }],
    ['finds nobody to ask', {}],
  ] satisfies [string, McpAnswers][])(
    'ends with what is to be done when it %s, and was sent once',
    async (_what, given) => {
      const { connection } = asking(given);
      const result = await connection.callTool('paged', paged);
      expect(result).toMatchObject({
        code: 'page-required',
        error: expect.stringContaining('https://login.example.com'),
      });
      expect(result.error).not.toContain('login.example.com/a');
      expect((await connection.callTool('paged', paged)).data).toContain('carried out');
    },
  );

  test('is not called a third time by itself', async () => {
    let asked = 0;
    const { connection } = asking({
      elicit: () => {
        asked += 1;
        return { action: 'accept', content: {} };
      },
    });
    expect(await connection.callTool('paged', { ...paged, times: 2 })).toMatchObject({ code: 'page-required' });
    expect(asked).toBe(1);
  });
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

test('a function in the configuration replies to sampling, and no more than eight times a call', async () => {
  let replies = 0;
  const settings: McpServerSettings = { sampling: () => ({ text: `hi ${(replies += 1)}`, model: 'mine' }) };
  const { ask, offered, connection, oddities } = asking({}, settings);
  expect(await offered()).toEqual({ sampling: {} });
  expect(await ask(sampling)).toEqual({
    result: { role: 'assistant', content: { type: 'text', text: 'hi 1' }, model: 'mine', stopReason: 'endTurn' },
  });
  expect(oddities()).toEqual([]);
  const { data } = await connection.callTool('ask', { ...sampling, times: 12 });
  const answers: unknown = JSON.parse(String(data));
  expect(replies).toBe(9);
  expect(answers).toMatchObject({ 7: { result: {} }, 8: { error: { code: -1 } } });
  expect(oddities()).toHaveLength(4);
});

test('a person is asked as often as the limit says, and again in the next call', async () => {
  let asked = 0;
  const elicit = (): McpElicitationAnswer => {
    asked += 1;
    return { action: 'accept', content: { name: 'Ada' } };
  };
  const { connection, oddities } = asking({ elicit, limits: { mcp: { questionsPerCall: 3 } } });
  for (const times of [3, 6]) {
    const { data } = await connection.callTool('ask', { ...form, times: 5 });
    const answers: readonly { readonly result: { readonly action: string } }[] = JSON.parse(String(data));
    const actions = answers.map(({ result }) => result.action);
    expect(actions).toEqual(['accept', 'accept', 'accept', 'decline', 'decline']);
    expect(asked).toBe(times);
  }
  expect(oddities()).toHaveLength(4);
});

test.each([
  ['a person', form, {}],
  ['a model', sampling, { sampling: true }],
] as const)(
  '%s is asked one question at a time, whatever the server sends at once',
  async (_who, request, settings) => {
    let [open, most, all] = [0, 0, 0];
    const slowly = async (): Promise<void> => {
      open += 1;
      all += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setTimeout(resolve, 5));
      open -= 1;
    };
    const { connection } = asking(
      {
        elicit: async () => {
          await slowly();
          return { action: 'accept', content: { name: 'Ada' } };
        },
        sample: async () => {
          await slowly();
          return { text: 'hi', model: 'mine' };
        },
      },
      settings,
    );
    await connection.callTool('flood', JSON.parse(JSON.stringify({ ...request, times: 6 })));
    expect([most, all]).toEqual([1, 6]);
  },
);

test('a question that nobody settles holds up no other once its call is over', async () => {
  let asked = 0;
  const { connection } = asking({
    elicit: () => {
      asked += 1;
      if (asked === 1) return new Promise<never>(() => undefined);
      return { action: 'accept', content: { name: 'Ada' } };
    },
  });
  const stop = new AbortController();
  const first = connection.callTool('ask', form, { signal: stop.signal });
  await expect.poll(() => asked).toBe(1);
  stop.abort();
  expect(await first).toMatchObject({ code: 'cancelled' });
  expect((await connection.callTool('ask', form)).data).toContain('Ada');
});

test.each([
  ['a person', form, {}],
  ['a model', sampling, { sampling: true }],
] as const)('%s is asked nothing while no call is under way', async (_who, request, settings) => {
  let asked = 0;
  const { connection, oddities, news } = asking(
    {
      elicit: () => {
        asked += 1;
        return { action: 'accept', content: { name: 'Ada' } };
      },
      sample: () => {
        asked += 1;
        return { text: 'hi', model: 'mine' };
      },
    },
    settings,
  );
  await connection.callTool('later', JSON.parse(JSON.stringify(request)));
  await expect.poll(() => oddities()).toEqual(['unanswered']);
  await expect.poll(async () => (await connection.callTool('heard')).data).toMatch(/decline|error/);
  expect(asked).toBe(0);
  expect(news).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining('while no call was under way') }),
  );
});

test('sampling with pictures or tools is refused', async () => {
  const { ask } = asking({}, { sampling: () => ({ text: 'hi', model: 'mine' }) });
  const image = { role: 'user', content: { type: 'image', data: '', mimeType: 'image/png' } };
  expect(await ask({ ...sampling, params: { messages: [image], maxTokens: 1 } })).toMatchObject({
    error: { code: -32602 },
  });
  for (const messages of [undefined, [], [{ ...image, content: { type: 'text', text: 'hi' }, role: 'system' }]])
    expect(await ask({ ...sampling, params: { messages, maxTokens: 1 } })).toMatchObject({ error: { code: -32602 } });
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

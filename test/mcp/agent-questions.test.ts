import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Agent } from '../../src/agent/agent-types.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { ModelReply, ModelRequest } from '../../src/actors/model.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { askingEntry } from '../support/mcp/hostile-entry.ts';
import { realServer } from '../support/mcp/real-servers.ts';
import { calls } from '../support/replies.ts';

const form = {
  method: 'elicitation/create',
  params: {
    message: 'Which seat?',
    requestedSchema: { type: 'object', properties: { seat: { type: 'string' } }, required: ['seat'] },
  },
};
const sampling = {
  method: 'sampling/createMessage',
  params: {
    systemPrompt: 'Be brief.',
    messages: [{ role: 'user', content: { type: 'text', text: 'The key is sk-secret-word-1.' } }],
    maxTokens: 100_000,
  },
};

function asking(options: AgentOptions): Agent {
  const agent = createAgent({ mcpServers: { desk: askingEntry() }, silent: true, ...options });
  onTestFinished(() => agent.close());
  return agent;
}

/** What the tool of the server gave, as the model was told. */
async function toldBy(agent: Agent): Promise<string> {
  const { messages } = await agent.run('Book a seat');
  return String(messages.find(({ role }) => role === 'tool')?.content);
}

const booking = (args: object) => calls(['desk_ask', JSON.stringify(args), 'a']);

test('what a server asks in the middle of a call is answered by the option elicit, and seen in the events', async () => {
  const events: RunEvent[] = [];
  const agent = asking({
    model: scriptedModel([booking(form), 'Done.']),
    elicit: ({ server, message }) => ({ action: 'accept', content: { seat: `${server}: ${message} 12A` } }),
    onEvent: (event) => events.push(event),
  });
  expect(await toldBy(agent)).toContain('desk: Which seat? 12A');
  const seen = events.filter(({ type }) => type.startsWith('question.'));
  expect(seen).toMatchObject([
    { type: 'question.asked', tool: 'desk_ask', server: 'desk', kind: 'elicitation', message: 'Which seat?' },
    { type: 'question.answered', action: 'accept', content: { seat: 'desk: Which seat? 12A' } },
  ]);
});

test('where nobody can be asked, servers are not told that they may, and are declined', async () => {
  const agent = asking({ model: scriptedModel([calls(['desk_client', {}, 'a']), booking(form), 'Done.']) });
  const { messages } = await agent.run('Book a seat');
  const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
  expect(told[0]).not.toContain('elicitation');
  expect(told[1]).toContain('decline');
});

test('a question that nobody answers in approvalMs is cancelled', async () => {
  const agent = asking({
    model: scriptedModel([booking(form), 'Done.']),
    elicit: () => new Promise<never>(() => undefined),
    timeouts: { approvalMs: 50 },
  });
  expect(await toldBy(agent)).toContain('cancel');
});

test.each([3e9, 6e9])('a question may wait for approvalMs of months (%i), which no timer takes', async (approvalMs) => {
  const agent = asking({
    model: scriptedModel([booking(form), 'Done.']),
    elicit: async () => {
      await wait(20);
      return { action: 'accept', content: { seat: '12A' } };
    },
    timeouts: { approvalMs },
  });
  expect(await toldBy(agent)).toContain('12A');
});

test('a run that is cancelled while a person is asked ends, and takes the question back', async () => {
  const withdrawn = Promise.withResolvers<string>();
  const agent = asking({
    model: scriptedModel([booking(form)]),
    elicit: (_question, { signal }) => {
      signal.addEventListener('abort', () => withdrawn.resolve('withdrawn'));
      void run.cancel('enough');
      return new Promise<never>(() => undefined);
    },
  });
  const run = agent.run('Book a seat');
  expect(await run).toMatchObject({ status: 'cancelled' });
  expect(await withdrawn.promise).toBe('withdrawn');
});

/** A model that books by sampling first, and keeps what it was asked. */
function samplingModel() {
  const requests: ModelRequest[] = [];
  const replies: ModelReply[] = [
    booking(sampling),
    { content: 'A poem.', usage: { inputTokens: 5, outputTokens: 3, totalTokens: 8 } },
    { content: 'Done.' },
  ];
  const complete = (request: ModelRequest): Promise<ModelReply> => {
    requests.push(request);
    return Promise.resolve(replies[requests.length - 1] ?? { content: 'Done.' });
  };
  return { requests, model: { id: 'mine', complete } };
}

test('with sampling, a server gets a reply of the model: bounded, without secrets, and its cost is seen', async () => {
  const { requests, model } = samplingModel();
  const events: RunEvent[] = [];
  const agent = asking({
    model,
    maxTokens: 300,
    secrets: ['sk-secret-word-1'],
    mcpServers: { desk: askingEntry({ sampling: true }) },
    onEvent: (event) => events.push(event),
  });
  expect(await toldBy(agent)).toContain('A poem.');
  expect(requests[1]).toMatchObject({ maxTokens: 300, messages: [{ role: 'system', content: 'Be brief.' }, {}] });
  expect(JSON.stringify(requests[1])).not.toContain('sk-secret-word-1');
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'question.answered',
      kind: 'sampling',
      usage: { inputTokens: 5, outputTokens: 3, totalTokens: 8 },
    }),
  );
});

test('with sampling: confirm a person agrees to each request, and whoever is not asked has not agreed', async () => {
  const mcpServers = { desk: askingEntry({ sampling: 'confirm' }) };
  const asked: string[] = [];
  const yes = samplingModel();
  const agreeing = asking({
    model: yes.model,
    mcpServers,
    confirm: ({ reason, args }) => {
      asked.push(`${reason} ${JSON.stringify(args)}`);
      return 'allow-once';
    },
  });
  expect(await toldBy(agreeing)).toContain('A poem.');
  expect(asked).toEqual([expect.stringMatching(/server 'desk'.*The key is/)]);
  const no = samplingModel();
  expect(await toldBy(asking({ model: no.model, mcpServers, confirm: () => 'deny' }))).toContain('error');
  expect(no.requests).toHaveLength(2);
  const nobody = samplingModel();
  expect(await toldBy(asking({ model: nobody.model, mcpServers }))).toContain('error');
  expect(nobody.requests).toHaveLength(2);
});

test('an agent offers its servers neither folders nor its model unless told to', async () => {
  const agent = asking({ model: scriptedModel([]), mcpServers: { every: realServer('everything') } });
  await agent.ready();
  await expect.poll(() => agent.tools.size).toBeGreaterThan(5);
  const names = agent.tools.list().map(({ name }) => name);
  expect(names).not.toContain('every_get-roots-list');
  expect(names).not.toContain('every_trigger-sampling-request');
  expect(names).not.toContain('every_trigger-elicitation-request');
});

test('a real server gets its folders, its answer and its reply', async () => {
  const agent = asking({
    model: { complete: () => Promise.resolve({ content: 'sampled by mine' }) },
    mcpServers: { every: { ...realServer('everything'), roots: ['/work/folder'], sampling: true } },
    elicit: () => ({ action: 'accept', content: { name: 'Ada', check: true } }),
  });
  await agent.ready();
  await expect.poll(() => agent.tools.has('every_trigger-sampling-request')).toBe(true);
  const told = async (name: string, args: object = {}): Promise<string> =>
    JSON.stringify(await agent.tools.execute(`every_${name}`, JSON.parse(JSON.stringify(args))));
  expect(await told('get-roots-list')).toContain('/work/folder');
  expect(await told('trigger-elicitation-request')).toContain('Ada');
  expect(await told('trigger-sampling-request', { prompt: 'hi', maxTokens: 10 })).toContain('sampled by mine');
});

test('how far a call is can be seen while it runs', async () => {
  const events: RunEvent[] = [];
  const agent = asking({
    model: scriptedModel([calls(['desk_steps', { steps: 3, everyMs: 400 }, 'a']), 'Done.']),
    onEvent: (event) => events.push(event),
  });
  await agent.run('Walk');
  const progress = events.filter(({ type }) => type === 'tool.progress');
  expect(progress).toMatchObject(
    [1, 2, 3].map((step) => ({ tool: 'desk_steps', progress: step, total: 3, message: 'on it' })),
  );
});

test('a connection of your own answers as you say, in an agent too', async () => {
  const desk = createMcpConnection('desk', askingEntry(), {
    elicit: () => ({ action: 'accept', content: { seat: '1A' } }),
  });
  onTestFinished(() => desk.disconnect());
  const agent = asking({ model: scriptedModel([booking(form), 'Done.']), mcpServers: { desk } });
  expect(await toldBy(agent)).toContain('1A');
});

const SECRET = 'tr0ub"adour\\ &3';
const login = {
  method: 'elicitation/create',
  params: {
    message: 'Sign in',
    requestedSchema: {
      type: 'object',
      properties: {
        user: { type: 'string' },
        entry: { type: 'string', format: 'password' },
        apiKey: { type: 'string' },
        note: { type: 'string', title: 'One-time passcode' },
      },
    },
  },
};

test('secrets that a person types reach the server, and neither model, events, recording nor trace', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-typed-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const content = { user: 'ada.l', entry: SECRET, apiKey: 'k-0001-aa', note: '4711' };
  const events: RunEvent[] = [];
  const requests: ModelRequest[] = [];
  const replies = [booking(login), calls(['desk_heard', {}, 'b']), { content: 'Done.' }];
  const complete = (request: ModelRequest): Promise<ModelReply> => {
    requests.push(request);
    return Promise.resolve(replies[requests.length - 1] ?? { content: 'Done.' });
  };
  const agent = asking({
    model: { complete },
    elicit: () => ({ action: 'accept', content }),
    onEvent: (event) => events.push(event),
    journal: fileJournal(join(folder, 'runs')),
    trace: join(folder, 'run.trace.json'),
  });
  await agent.ready();
  const run = agent.run('Book a seat');
  const result = await run;
  // The server gives back all that it got, so the tool's result would show it.
  const given = result.messages.find(({ role }) => role === 'tool')?.content;
  expect(given).toContain('ada.l');
  expect(given).toContain('«hidden»');
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'question.answered',
      content: { user: 'ada.l', entry: '«hidden»', apiKey: '«hidden»', note: '«hidden»' },
    }),
  );
  await agent.close();
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'utf8')),
  );
  const seen = [...texts, JSON.stringify(events), JSON.stringify(requests), JSON.stringify(result), run.recording()];
  const inJson = JSON.stringify(SECRET).slice(1, -1);
  for (const secret of [SECRET, inJson, JSON.stringify(inJson).slice(1, -1), 'k-0001-aa', '4711'])
    for (const text of seen) expect(text).not.toContain(secret);
  expect(texts.join('')).toContain('ada.l');
});

test('a secret that a person types hides no name of which it is a part', async () => {
  const model = scriptedModel([booking(login), calls(['desk_heard', {}, 'b']), 'Done.']);
  const agent = asking({
    model,
    elicit: () => ({ action: 'accept', content: { entry: 'desk', apiKey: 'k-0001-aa' } }),
  });
  const run = agent.run('Book a seat at the desk');
  expect(await run).toMatchObject({ success: true, toolsUsed: ['desk_ask', 'desk_heard'], errorHistory: [] });
  expect(model.requests.at(-1)?.tools?.map(({ name }) => name)).toContain('desk_heard');
  expect(run.recording()).not.toContain('k-0001-aa');
});

test('what a person types for the server of a child agent hides no name of its parent', async () => {
  const desk = asking({
    name: 'clerk',
    model: scriptedModel([booking(login), 'Booked.']),
    elicit: () => ({ action: 'accept', content: { entry: 'front', apiKey: 'k-0001-aa' } }),
  });
  const open = fakeTool('open_front_door', ['open']);
  const model = scriptedModel([
    calls(['clerk', { task: 'Book.' }]),
    calls(['open_front_door', {}]),
    'Done, k-0001-aa.',
  ]);
  const run = createAgent({ name: 'host', model, tools: [open], children: [desk], silent: true }).run(
    'Open the front door',
  );
  expect(await run).toMatchObject({ success: true, toolsUsed: ['clerk', 'open_front_door'], errorHistory: [] });
  expect(model.requests.at(-1)?.tools?.map(({ name }) => name)).toContain('open_front_door');
  expect(run.recording()).not.toContain('k-0001-aa');
});

test('the server itself gets what was typed', async () => {
  const desk = createMcpConnection('desk', askingEntry(), {
    elicit: () => ({ action: 'accept', content: { entry: SECRET } }),
  });
  onTestFinished(() => desk.disconnect());
  expect(JSON.parse(String((await desk.callTool('ask', login)).data))).toMatchObject({
    result: { content: { entry: SECRET } },
  });
});

test('a secret typed for a shared connection is hidden in the agents whose calls were under way', async () => {
  const desk = createMcpConnection('desk', askingEntry(), {
    elicit: () => ({ action: 'accept', content: { entry: SECRET } }),
  });
  onTestFinished(() => desk.disconnect());
  const agent = asking({ model: scriptedModel([booking(login), 'Done.']), mcpServers: { desk } });
  expect(await toldBy(agent)).toContain('«hidden»');
});

test('how often servers may ask is an option of the agent, and a wrong one is refused', async () => {
  let asked = 0;
  const agent = asking({
    model: scriptedModel([booking({ ...form, times: 3 }), 'Done.']),
    limits: { mcp: { questionsPerCall: 1 } },
    elicit: () => {
      asked += 1;
      return { action: 'accept', content: { seat: '1A' } };
    },
  });
  await toldBy(agent);
  expect(asked).toBe(1);
  expect(() => createAgent({ limits: { mcp: { questionsPerCall: -1 } } })).toThrow('limits.mcp.questionsPerCall');
});

test('a page that a person is to open is an event with its address and origin', async () => {
  const events: RunEvent[] = [];
  const params = { mode: 'url', elicitationId: '1', url: 'https://pay.example.com/x', message: 'Pay here' };
  const agent = asking({
    model: scriptedModel([booking({ method: 'elicitation/create', params }), 'Done.']),
    elicit: () => ({ action: 'decline' }),
    onEvent: (event) => events.push(event),
  });
  await toldBy(agent);
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'question.asked', url: params.url, origin: 'https://pay.example.com' }),
  );
});

import { expect, test } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { calls } from '../support/replies.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { agentOn } from './agent-on-server.ts';
import { steadyTime } from '../support/steady-time.ts';
import { overEachTransport } from '../support/transports.ts';

type Token = Extract<RunEvent, { readonly type: 'model.token' }>;

async function tokensOf(events: AsyncIterable<RunEvent>): Promise<readonly Token[]> {
  const tokens: Token[] = [];
  for await (const event of events) if (event.type === 'model.token') tokens.push(event);
  return tokens;
}

const adding = () =>
  tool({
    name: 'add',
    description: 'Adds two numbers.',
    inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
    execute: () => 3,
  });

overEachTransport(() => {
  test('tokens tell thought and answer as they grow, whatever envelope they arrive in', async () => {
    const text = '{"thought": "It is easy.", "answer": "It is a fine day."}';
    const make = () =>
      createAgent({ model: scriptedModel([text], { toolCalling: 'json' }), streaming: true, silent: true });
    const run = make().run('How is the day?');
    const tokens = await tokensOf(run);
    expect(tokens.map((token) => token.text).join('')).toBe(text);
    expect(tokens.find(({ thought }) => thought !== '')?.answer).toBe('');
    const answers = tokens.map(({ answer }) => answer);
    expect(answers.every((answer, index) => answer.startsWith(answers[index - 1] ?? ''))).toBe(true);
    expect(answers).toContain('It is a ');
    expect(tokens.at(-1)).toMatchObject({ thought: 'It is easy.', answer: 'It is a fine day.' });

    const replayed = await tokensOf(replay(run.recording(), make()));
    expect(replayed).toMatchObject([{ text, answer: 'It is a fine day.', thought: 'It is easy.', replayed: true }]);
  });

  test('without streaming there is no token event, even where a model tells its tokens unasked', async () => {
    const text = 'It is a fine day.';
    const chatty: Model = {
      toolCalling: 'native',
      complete: async (_, { onToken }) => (onToken?.({ kind: 'text', text }), { content: text }),
    };
    const ask = (streaming: boolean) => createAgent({ model: chatty, streaming, silent: true }).run('How is the day?');
    expect(await tokensOf(ask(true))).toHaveLength(1);
    const run = ask(false);
    expect(await tokensOf(run)).toEqual([]);
    expect((await run).result).toBe(text);
  });

  test('a model that is written without types may tell its tokens as plain text', async () => {
    const plain: Model = {
      complete: async (_, { onToken = () => undefined }) => {
        for (const text of ['It is ', 'fine.']) Reflect.apply(onToken, undefined, [text]);
        return { content: 'It is fine.' };
      },
    };
    const run = createAgent({ model: plain, streaming: true, silent: true }).run('How is the day?');
    expect((await tokensOf(run)).map(({ kind, text, answer }) => [kind, text, answer])).toEqual([
      ['text', 'It is ', 'It is'],
      ['text', 'fine.', 'It is fine.'],
    ]);
    expect((await run).result).toBe('It is fine.');
  });

  test.each([
    'I look.\n<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>',
    'I do it now.\n{"name": "add", "arguments": {"a": 1, "b": 2}}',
    '[add(a=1, b=2)]',
  ])('the call of a registered tool is never shown while it arrives: %s', async (call) => {
    const model = scriptedModel([call, '{"sum": 3}'], { toolCalling: 'json' });
    const make = () => createAgent({ model, tools: [adding()], streaming: true, silent: true });
    const run = make().run('What is 1 + 2?');
    const tokens = await tokensOf(run);
    expect((await run).toolsUsed).toEqual(['add']);
    for (const { answer } of tokens) expect(answer).not.toMatch(/add|arguments|tool_call|\[/);
    expect(tokens.map(({ answer }) => answer)).toContain('{"sum":');
    expect(tokens.at(-1)?.answer).toBe('{"sum": 3}');
    const replayed = await tokensOf(replay(run.recording(), make()));
    expect(replayed.map(({ answer }) => answer)).toEqual(['', '{"sum": 3}']);
  });

  test.each([undefined, false])(
    'with streaming %s there is no token event, live or replayed, whatever the model tells',
    async (given) => {
      const streaming = given === undefined ? {} : { streaming: given };
      const { agent } = await agentOn(['The kettle is on.', 'Still on.'], streaming);
      const overHttp = agent.run('Where?');
      expect(await tokensOf(overHttp)).toEqual([]);
      expect(await overHttp).toMatchObject({ result: 'The kettle is on.' });
      const talkative: Model = {
        complete: (_request, io) => {
          io.onToken?.({ kind: 'text', text: 'Hi.' });
          return Promise.resolve({ content: 'Hi.' });
        },
      };
      const make = () => createAgent({ model: talkative, silent: true, ...streaming });
      const run = make().run('Hello');
      expect(await tokensOf(run)).toEqual([]);
      expect(await tokensOf(replay(run.recording(), make()))).toEqual([]);
    },
  );

  test('without streaming a model that tells tokens is not silent', async () => {
    steadyTime();
    const slow: Model = {
      complete: async (_request, io) => {
        for (let said = 0; said < 6; said++) {
          await new Promise((resolve) => setTimeout(resolve, 25));
          io.onToken?.({ kind: 'text', text: '.' });
        }
        return { content: 'Done.' };
      },
    };
    const agent = createAgent({ model: slow, silent: true, timeouts: { responseMs: 100 }, retry: { maxAttempts: 1 } });
    expect(await agent.run('Hello')).toMatchObject({ result: 'Done.' });
  });

  test('what was held back until the end is there in a replay', async () => {
    const text = 'An object opens with {';
    const make = () => createAgent({ model: scriptedModel([text]), streaming: true, silent: true });
    const run = make().run('How does an object open?');
    await run;
    expect((await tokensOf(replay(run.recording(), make()))).at(-1)?.answer).toBe(text);
  });
});

test('with recordTokens the arguments of each call of a turn stand apart', async () => {
  const model: Model = {
    complete: async ({ messages }, { onToken }) => {
      if (messages.length > 2) return { content: 'Done.' };
      for (const text of ['{"n":', '1}'])
        for (const callIndex of [0, 1]) onToken?.({ kind: 'arguments', text, callIndex, tool: 'look' });
      return calls(['look', { n: 1 }], ['look', { n: 2 }]);
    },
  };
  const run = createAgent({ model, tools: [fakeTool('look')], streaming: true, recordTokens: true, silent: true }).run(
    'Go',
  );
  await run;
  expect(run.recording()).toContain(
    JSON.stringify({ note: { note: 'tokens', arguments: '{"n":1}', 'arguments#1': '{"n":1}' } }).slice(1),
  );
});

test('with recordTokens a recording has what was streamed, a note a second, before the reply has ended; else none', async () => {
  const SECRET = 'hunter2-hunter2';
  const notesOf = (recording: string): readonly unknown[] =>
    recording
      .trim()
      .split('\n')
      .map((line): { t: string; note?: unknown } => JSON.parse(line))
      .flatMap(({ t, note }) => (t === 'note' ? [note] : []));
  const made = (options: AgentOptions) => {
    const rest = Promise.withResolvers<undefined>();
    const model: Model = {
      complete: async (_request, { onToken }) => {
        onToken?.({ kind: 'reasoning', text: 'Hm.' });
        onToken?.({ kind: 'text', text: 'It is hunter2-' });
        await new Promise((resolve) => setTimeout(resolve, 1010));
        onToken?.({ kind: 'text', text: 'hunter2, ' });
        await rest.promise;
        onToken?.({ kind: 'text', text: 'I think.' });
        return { content: `It is ${SECRET}, I think.` };
      },
    };
    const journal = memoryJournal();
    const agent = createAgent({ model, journal, silent: true, secrets: [SECRET], ...options });
    return { agent, journal, run: agent.run('Say it.'), rest };
  };
  const { agent, journal, run, rest } = made({ streaming: true, recordTokens: true });
  const first = { note: 'tokens', reasoning: 'Hm.', text: expect.stringMatching(/^It is «secret:1[^»]*», $/) };
  await expect
    .poll(async () =>
      (await journal.read?.(run.runId))?.lines.flatMap((line) => (line.t === 'note' ? [line.note] : [])),
    )
    .toEqual([first]);
  rest.resolve(undefined);
  const result = await run;
  expect(notesOf(run.recording())).toEqual([first, { note: 'tokens', text: 'I think.' }]);
  expect(run.recording()).not.toContain('hunter2');
  expect(await replay(run.recording(), agent)).toMatchObject({ status: 'answered', states: result.states });

  for (const options of [{ streaming: true }, { recordTokens: true }]) {
    const other = made(options);
    other.rest.resolve(undefined);
    await other.run;
    expect(notesOf(other.run.recording())).toEqual([]);
  }
});

import { describe, expect, test } from 'vitest';
import { createActor, toPromise } from 'xstate';
import { type Message, type Model, ModelError, type ModelErrorCode, type ModelReply } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RunInput } from '../../src/agent/options/input-parts.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { recover } from '../../src/recovery/recover.ts';
import { calls } from '../support/replies.ts';
import { testFolder } from '../support/test-folder.ts';
import { eventsOf } from './agent-on-server.ts';

const textOf = ({ content }: Message): string => (typeof content === 'string' ? content : JSON.stringify(content));
const shown = (messages: readonly Message[]) => messages.map((message) => textOf(message).slice(0, 4));

/** A model whose context holds so many characters; it answers with the number of the question. */
function smallModel(characters: number, replies: readonly ModelReply[] = []) {
  const asked: (readonly Message[])[] = [];
  const left = [...replies];
  const model: Model = {
    id: 'small',
    complete: ({ messages }) => {
      asked.push(messages.filter(({ role }) => role !== 'system'));
      const size = messages.reduce((sum, message) => sum + textOf(message).length, 0);
      if (size > characters) throw new ModelError('context-overflow', 'too long');
      return Promise.resolve(
        left.shift() ?? { content: `a${textOf(messages.at(-1) ?? { role: 'user', content: '' }).slice(1, 4)}` },
      );
    },
  };
  return { model, asked };
}

/** A question with its number, of a hundred characters. */
const question = (n: number): string => `q${String(n).padStart(3, '0')} ${'x'.repeat(95)}`;
const pastOf = (exchanges: number): readonly Message[] =>
  Array.from({ length: exchanges }, (_, n): readonly Message[] => [
    { role: 'user', content: question(n) },
    { role: 'assistant', content: `a${String(n).padStart(3, '0')}` },
  ]).flat();
/** An exchange with a result of so many characters. */
const pastLook = (characters: number): readonly Message[] => [
  { role: 'user', content: 'Look.' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'p', name: 'look', arguments: '{}' }] },
  { role: 'tool', toolCallId: 'p', name: 'look', content: 'x'.repeat(characters) },
  { role: 'assistant', content: 'I see.' },
];
const agentWith = (model: Model, options: AgentOptions = {}) => createAgent({ model, silent: true, ...options });

describe('a conversation for which the model has no room any more', () => {
  test('continues without its older exchanges, half of them at a time, and says so', async () => {
    const { model, asked } = smallModel(500);
    const agent = agentWith(model, { history: pastOf(8) });
    const run = agent.run(question(8));
    const warnings = (await eventsOf(run)).flatMap((event) => (event.type === 'warning' ? [event.message] : []));
    const result = await run;
    expect(result).toMatchObject({ status: 'answered', result: 'a008', stepsTaken: 1 });
    expect(asked.map((messages) => messages.length)).toEqual([17, 9, 5]);
    expect(shown(asked.at(-1) ?? [])).toEqual(['q006', 'a006', 'q007', 'a007', 'q008']);
    expect(warnings).toEqual([
      'The conversation did not fit the model; its oldest 8 messages were left out.',
      'The conversation did not fit the model; its oldest 12 messages were left out.',
    ]);
    expect(shown(result.messages)).toEqual(['q008', 'a008']);
    // What the model had no room for is still the user's.
    expect(agent.history).toHaveLength(18);
  });

  test('stays short for the rest of the run, and what the run itself has said is in all of its requests', async () => {
    const call = { content: '', toolCalls: [{ id: 'c', name: 'look', arguments: '{}' }] };
    const { model, asked } = smallModel(560, [call, { content: 'done' }]);
    const agent = agentWith(model, { history: pastOf(6), tools: [fakeTool('look', ['y'.repeat(200)])] });
    const result = await agent.run(question(6));
    expect(asked.map((messages) => messages.length)).toEqual([13, 7, 9, 5]);
    expect(asked.slice(1).every((messages) => shown(messages).includes('q006'))).toBe(true);
    expect(shown(result.messages)).toEqual(['q006', '', expect.anything(), 'done']);
    expect(result.result).toBe('done');
  });

  test('goes on for as long as people talk, also from its journal', async () => {
    const folder = testFolder();
    const { model, asked } = smallModel(700);
    for (let n = 0; n < 12; n++) {
      const agent = agentWith(model, { journal: fileJournal(folder), maxHistoryMessages: 0 });
      const result = await agent.conversation('one').run(question(n));
      expect(result.result).toBe(`a${String(n).padStart(3, '0')}`);
      await agent.close();
    }
    // Half is left out at a time, so that a run is refused once here, and its history stays whole.
    expect(asked).toHaveLength(18);
    expect(asked.every(([first]) => first?.role === 'user')).toBe(true);
  });

  test('does not lose what was said to the run while it worked', async () => {
    const call = { content: '', toolCalls: [{ id: 'c', name: 'look', arguments: '{}' }] };
    const { model, asked } = smallModel(560, [call, { content: 'done' }]);
    const agent = agentWith(model, { history: pastOf(3), tools: [fakeTool('look', ['y'.repeat(100)])] });
    const run = agent.run(question(3));
    await run.steer(question(4));
    expect((await run).status).toBe('answered');
    expect(shown(asked.at(-1) ?? [])).toEqual(expect.arrayContaining(['q003', 'q004']));
  });

  test('fails where the message alone is too long, and loses nothing by it', async () => {
    const { model, asked } = smallModel(90);
    const agent = agentWith(model, { history: pastOf(3) });
    expect(await agent.run(question(3))).toMatchObject({ reason: 'llm-error', error: { code: 'context-overflow' } });
    expect(asked.map((messages) => messages.length)).toEqual([7, 3, 1]);
    expect(shown(agent.history).slice(0, 7)).toEqual(['q000', 'a000', 'q001', 'a001', 'q002', 'a002', 'q003']);
  });

  test('costs no attempt: a server that is busy then is asked again', async () => {
    const overflow = new ModelError('context-overflow', 'too long');
    const model = scriptedModel([overflow, overflow, new ModelError('server-error', 'busy'), 'ok']);
    const retry = { maxAttempts: 2, backoff: recover.constant(1) };
    expect(await agentWith(model, { history: pastOf(8), retry }).run('Go')).toMatchObject({ result: 'ok' });
  });

  test('is never sent again as it was: not after a result was cut, and not for one that would not be shorter', async () => {
    const overflow = new ModelError('context-overflow', 'too long');
    const tools = [fakeTool('look', ['here'])];
    const cutBefore = scriptedModel([overflow, calls(['look']), overflow, 'ok']);
    const hardlyLonger = scriptedModel([overflow, 'ok']);
    await agentWith(cutBefore, { history: pastLook(900), tools }).run('Go');
    await agentWith(hardlyLonger, { history: pastLook(410), tools }).run('Go');
    const sizes = ({ requests }: typeof cutBefore) => requests.map(({ messages }) => messages.length);
    expect([sizes(cutBefore), sizes(hardlyLonger)]).toEqual([
      [6, 6, 8, 4],
      [6, 2],
    ]);
  });

  test('becomes shorter again where it is too long again, and never by what the run itself has said', async () => {
    const overflow = new ModelError('context-overflow', 'too long');
    const model = scriptedModel([overflow, calls(['look']), overflow, overflow, calls(['look']), 'ok']);
    const agent = agentWith(model, { history: pastOf(4), tools: [fakeTool('look', ['here'])] });
    expect(await agent.run('Go')).toMatchObject({ result: 'ok' });
    const asked = model.requests.map(({ messages: [, ...said] }) => said);
    expect(asked.map((said) => said.length)).toEqual([9, 5, 7, 5, 3, 5]);
    expect(asked.every((said) => shown(said).includes('Go'))).toBe(true);
  });

  test('has no id of a call twice, also where the model repeats that of one that was left out', async () => {
    const overflow = new ModelError('context-overflow', 'too long');
    const model = scriptedModel([overflow, calls(['look', {}, 'p']), 'ok', calls(['look', {}, 'p']), 'ok']);
    const agent = agentWith(model, { history: pastLook(300), tools: [fakeTool('look', ['here'])] });
    await agent.run('Go');
    await agent.run('Again');
    const ids = agent.history.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(3);
  });

  test('stays short in a run that another process continues', async () => {
    const journal = memoryJournal();
    const overflow = new ModelError('context-overflow', 'too long');
    const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
    const options = { history: pastOf(4), tools: [pay], confirm: 'wait', journal } as const;
    const run = agentWith(scriptedModel([overflow, calls(['pay'])]), options).run('Pay');
    for await (const event of run) if (event.type === 'approval.requested') break;
    await run.release();
    const model = scriptedModel(['Paid.']);
    const resumed = agentWith(model, options).resume(run.runId);
    for await (const event of resumed) if (event.type === 'approval.requested') await resumed.approve(event.callId);
    expect(await resumed).toMatchObject({ result: 'Paid.' });
    expect(model.requests.map(({ messages: [, ...said] }) => shown(said))).toEqual([
      ['q002', 'a002', 'q003', 'a003', 'Pay', '', expect.stringContaining('{')],
    ]);
  });

  test('continues inside of a machine of the user, too; a child has no past to leave out, and its parent continues', async () => {
    const { model, asked } = smallModel(300);
    const actor = createActor(agentWith(model).logic, { input: { task: question(4), history: pastOf(4) } }).start();
    expect((await toPromise(actor)).result).toBe('a004');
    expect(asked.map((messages) => messages.length)).toEqual([9, 5, 3]);
    const small = smallModel(10);
    const child = agentWith(small.model, { name: 'child', description: 'Helps.' });
    const parent = scriptedModel([calls(['child', { task: question(0) }]), 'Without help, then.']);
    const result = await agentWith(parent, { children: [child], history: pastOf(2) }).run('Go');
    expect(result).toMatchObject({ result: 'Without help, then.' });
    expect([small.asked.length, parent.requests.at(-1)?.messages.length]).toEqual([1, 9]);
  });

  test('is left as it is by a model that fails for another reason', async () => {
    const asked: number[] = [];
    const model: Model = {
      complete: ({ messages }) => {
        asked.push(messages.length);
        throw new ModelError('server-error', 'busy');
      },
    };
    await agentWith(model, { history: pastOf(3), retry: { backoff: recover.constant(1) } }).run('Go');
    expect(new Set(asked).size).toBe(1);
  });
});

describe('what a server has refused is not sent with later messages:', () => {
  const image = { type: 'image', data: 'AAAA', mediaType: 'image/png' } as const;

  /** What the model is asked when somebody says something else after a run that was refused with this code. */
  async function askedAfter(code: ModelErrorCode, input: RunInput) {
    const refused = new ModelError(code, 'no');
    // Before it gives up, a long conversation is cut down to the message alone.
    const refusals = code === 'context-overflow' ? [refused, refused] : [refused];
    const model = scriptedModel(['Hello.', ...refusals, 'I am here.'], { takesImages: true });
    const agent = agentWith(model, { retry: { maxAttempts: 1 } });
    await agent.run('Hi');
    expect(await agent.run(input)).toMatchObject({ success: false, error: { code } });
    expect(await agent.run('Are you there?')).toMatchObject({ result: 'I am here.' });
    const [, ...said] = model.requests.at(-1)?.messages ?? [];
    return said.map(({ content }) => content);
  }

  test('what a content filter has blocked', async () => {
    const blocked = "[left out: the model's content filter blocked it]";
    expect(await askedAfter('content-filter', 'Bad words')).toEqual(['Hi', 'Hello.', blocked, 'Are you there?']);
  });

  test('a message that is too long by itself', async () => {
    const asked = await askedAfter('context-overflow', 'x'.repeat(9000));
    expect(asked).toHaveLength(4);
    expect(asked[2]).toMatch(/^x{400} … \[shortened/);
    expect(await askedAfter('context-overflow', 'Short')).toEqual(['Hi', 'Hello.', 'Short', 'Are you there?']);
  });

  test('an image that is broken, or too large', async () => {
    for (const code of ['bad-request', 'context-overflow'] as const) {
      const asked = await askedAfter(code, [{ type: 'text', text: 'Look' }, image]);
      expect(asked[2]).toBe("Look\n[image left out: the model's server refused it]");
    }
  });

  test('but all of it where it failed for another reason', async () => {
    // A model of the user's may give any code.
    const odd = Object.assign(new ModelError('model-error', 'no'), { code: 'constructor' });
    const model = scriptedModel([odd, 'I am here.']);
    const agent = agentWith(model, { retry: { maxAttempts: 1 } });
    await agent.run('Hi');
    await agent.run('Are you there?');
    expect(model.requests.at(-1)?.messages.map(({ content }) => content)).toContain('Hi');
    expect((await askedAfter('server-error', 'x'.repeat(9000)))[2]).toHaveLength(9000);
    expect((await askedAfter('auth', [image]))[2]).toMatchObject([{ type: 'image' }]);
    expect(await askedAfter('bad-request', 'Bad words')).toContain('Bad words');
  });

  test('a result that was blocked, and not the call, nor what was said before', async () => {
    const model = scriptedModel([calls(['look']), new ModelError('content-filter', 'no'), 'I am here.']);
    const agent = agentWith(model, { tools: [fakeTool('look', ['bad words'])], history: pastOf(1) });
    expect(await agent.run('Look')).toMatchObject({ reason: 'content-filter', toolsUsed: ['look'] });
    await agent.run('Are you there?');
    const said = model.requests.at(-1)?.messages.slice(1) ?? [];
    expect(shown(said)).toEqual(['q000', 'a000', 'Look', '', '[lef', 'Are ']);
    expect(said[3]?.toolCalls).toHaveLength(1);
    expect(said[4]).toMatchObject({ role: 'tool', name: 'look' });
  });

  test.each(['by agent.run', 'in a conversation', 'in several processes'])(
    'what was said before it and had no reply is left out too, %s',
    async (where) => {
      const folder = testFolder();
      let isDown = false;
      const asked: unknown[][] = [];
      const isBad = (messages: readonly Message[]): boolean =>
        messages.some(({ content }) => content === 'Bad words' || typeof content !== 'string');
      const model: Model = {
        takesImages: true,
        complete: async ({ messages }) => {
          asked.push(messages.slice(1).map(({ content }) => content));
          if (isDown) throw new ModelError('connect-failed', 'down');
          if (isBad(messages)) throw new ModelError(messages.length > 8 ? 'bad-request' : 'content-filter', 'no');
          return { content: 'Hello.' };
        },
      };
      const make = () => agentWith(model, { retry: { maxAttempts: 1 }, journal: fileJournal(folder) });
      const one = make();
      const say = (input: RunInput) =>
        where === 'by agent.run'
          ? one.run(input)
          : (where === 'in a conversation' ? one : make()).conversation('ada').run(input);
      const blocked = "[left out: the model's content filter blocked it]";
      await say('Hi');
      isDown = true;
      expect(await say('Bad words')).toMatchObject({ error: { code: 'connect-failed' } });
      isDown = false;
      expect(await say('Are you there?')).toMatchObject({ reason: 'content-filter' });
      expect(await say('And now?')).toMatchObject({ result: 'Hello.' });
      const said = ['Hi', 'Hello.', blocked, blocked, 'And now?'];
      expect(asked.at(-1)).toEqual(said);
      isDown = true;
      await say([{ type: 'text', text: 'Look' }, image]);
      isDown = false;
      expect(await say('Well?')).toMatchObject({ error: { code: 'bad-request' } });
      expect(await say('Again?')).toMatchObject({ result: 'Hello.' });
      const left = "Look\n[image left out: the model's server refused it]";
      expect(asked.at(-1)).toEqual([...said, 'Hello.', left, 'Well?', 'Again?']);
    },
  );

  /** A conversation with a server that refuses, with this code, each request in which there are bad words; and each while it is down. */
  function strictServer(code: ModelErrorCode, replies: readonly ModelReply[], seen = 'bad words') {
    const server = { isDown: false, isStrict: true, asked: [] as (readonly Message[])[] };
    const left = [...replies];
    const model: Model = {
      takesImages: true,
      complete: async ({ messages }) => {
        server.asked.push(messages.slice(1));
        if (server.isDown) throw new ModelError('connect-failed', 'down');
        if (server.isStrict && /bad words|AAAA/.test(JSON.stringify(messages))) throw new ModelError(code, 'no');
        return left.shift() ?? { content: 'Hello.' };
      },
    };
    const journal = memoryJournal();
    const say = (input: RunInput) =>
      agentWith(model, { retry: { maxAttempts: 1 }, journal, tools: [fakeTool('look', [seen])] })
        .conversation('ada')
        .run(input);
    return { server, say };
  }

  test('exchanges before it, where a filter blocks them: the last one, then twice as many each time', async () => {
    const replies = ['One with bad words.', 'Two.', 'Three.', 'Four.', 'Five.'].map((content) => ({ content }));
    const { server, say } = strictServer('content-filter', replies);
    server.isStrict = false;
    const before = ['A', 'B', 'C', 'D', 'E'].flatMap((text, at) => [text, replies[at]?.content]);
    for (const text of ['A', 'B', 'C', 'D', 'E']) await say(text);
    server.isStrict = true;
    const blocked = "[left out: the model's content filter blocked it]";
    const asked = (): unknown[] => server.asked.at(-1)?.map(({ content }) => content) ?? [];
    for (const [text, leftOut] of [
      ['F', 0],
      ['G', 0],
      // A person may say the same in other words: nothing that was answered is left out for that.
      ['H', 0],
      ['I', 2],
      ['J', 4],
      ['K', 8],
    ] as const) {
      expect(await say(text)).toMatchObject({ reason: 'content-filter' });
      const kept = before.slice(0, before.length - leftOut);
      expect(asked().slice(0, before.length)).toEqual([...kept, ...Array.from({ length: leftOut }, () => blocked)]);
    }
    expect(await say('L')).toMatchObject({ result: 'Hello.' });
    expect(asked()).toEqual([...Array.from({ length: 16 }, () => blocked), 'L']);
  });

  test('calls that a filter blocks, with their results, and no exchange before them', async () => {
    const replies = [{ content: 'One.' }, calls(['look', { at: 'bad words' }], ['look', { at: 'x' }])];
    const { server, say } = strictServer('content-filter', replies, 'seen');
    await say('A');
    for (const text of ['B', 'C', 'D']) expect(await say(text)).toMatchObject({ reason: 'content-filter' });
    expect(await say('E')).toMatchObject({ result: 'Hello.' });
    const blocked = "[left out: the model's content filter blocked it]";
    const asked = server.asked.at(-1) ?? [];
    expect(asked.map(({ content }) => content)).toEqual([
      'A',
      'One.',
      ...Array.from({ length: 6 }, () => blocked),
      'E',
    ]);
    const [, , , turn, result] = asked;
    expect(turn?.toolCalls).toMatchObject([{ arguments: '{}' }, { arguments: '{}' }]);
    expect(result).toMatchObject({ role: 'tool', name: 'look', toolCallId: turn?.toolCalls?.[0]?.id });
  });

  test('the result of a tool that the server cannot read', async () => {
    const { server, say } = strictServer('bad-request', [calls(['look'])]);
    expect(await say('Look')).toMatchObject({ error: { code: 'bad-request' } });
    expect(await say('Are you there?')).toMatchObject({ error: { code: 'bad-request' } });
    expect(await say('And now?')).toMatchObject({ result: 'Hello.' });
    const left = "[left out: the model's server refused it]";
    expect(server.asked.at(-1)?.map(({ content }) => content)).toEqual([
      'Look',
      '',
      left,
      'Are you there?',
      'And now?',
    ]);
  });

  test('but nothing else where it has refused an image, or an exchange before it that was answered', async () => {
    const { server, say } = strictServer('bad-request', []);
    await say('Hi');
    server.isDown = true;
    await say('Remember 42.');
    server.isDown = false;
    expect(await say([{ type: 'text', text: 'Look' }, image])).toMatchObject({ error: { code: 'bad-request' } });
    expect(await say('And now?')).toMatchObject({ result: 'Hello.' });
    for (const text of ['bad words', 'Still bad words', 'Well?']) await say(text);
    expect(await say('Again?')).toMatchObject({ result: 'Hello.' });
    const answered = [
      'Hi',
      'Hello.',
      'Remember 42.',
      "Look\n[image left out: the model's server refused it]",
      'And now?',
    ];
    expect(server.asked.at(-1)?.map(({ content }) => content)).toEqual([
      ...answered,
      'Hello.',
      "[left out: the model's server refused it]",
      "[left out: the model's server refused it]",
      'Well?',
      'Again?',
    ]);
  });

  test('but not where the filter stopped the reply, which may be about anything', async () => {
    const filtered = { content: '', finishReason: 'content_filter' };
    const down = new ModelError('connect-failed', 'down');
    const model = scriptedModel([down, filtered, 'I am here.']);
    const agent = agentWith(model, { retry: { maxAttempts: 1 } });
    for (const text of ['Hi', 'Tell me', 'Are you there?']) await agent.run(text);
    const said = model.requests.at(-1)?.messages.filter(({ role }) => role === 'user');
    expect(said?.map(({ content }) => content)).toEqual(['Hi', 'Tell me', 'Are you there?']);
  });

  test('nor is it said twice where it is given again', async () => {
    const look = [{ type: 'text', text: 'Look' }, image] as const;
    for (const [code, input] of [
      ['content-filter', 'Bad words'],
      ['context-overflow', 'x'.repeat(9000)],
      ['bad-request', look],
    ] as const) {
      const model = scriptedModel([new ModelError(code, 'no'), 'Now it works.'], { takesImages: true });
      const agent = agentWith(model, { retry: { maxAttempts: 1 } });
      await agent.run(input);
      await agent.run(input, { again: true });
      expect(model.requests.map(({ messages }) => messages.length)).toEqual([2, 2]);
    }
  });

  test('also in a conversation whose last message this was, and that is in a journal', async () => {
    const model = scriptedModel([new ModelError('content-filter', 'no'), 'I am here.']);
    const journal = memoryJournal();
    for (const text of ['Bad words', 'Are you there?'])
      await agentWith(model, { journal }).conversation('one').run(text);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('Bad words');
    expect((await journal.list?.({}))?.map(({ input }) => input)).toContain('Bad words');
  });
});

describe('a recording of an earlier version replays as it was:', () => {
  /** The lines of a recording, without the setting that earlier versions did not have. */
  function linesBefore(recording: string) {
    const lines = recording
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines[0].options.longHistory).toBe('left-out');
    delete lines[0].options.longHistory;
    return lines;
  }
  const textOfLines = (lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

  test('a run that failed where it would continue now', async () => {
    const agent = agentWith(smallModel(90).model, { history: pastOf(3) });
    const run = agent.run(question(3));
    await run;
    const old = linesBefore(run.recording()).filter(({ id = '' }) => !/#[23]$/.test(id));
    const failed = { reason: 'llm-error', error: { code: 'context-overflow' } };
    expect(await replay(textOfLines(old), agent)).toMatchObject(failed);
    expect(await replay(run.recording(), agent)).toMatchObject(failed);
  });

  test('a request that was sent again as it was, because its results had been cut before', async () => {
    const overflow = new ModelError('context-overflow', 'too long');
    const model = scriptedModel([overflow, calls(['look']), overflow, 'ok']);
    const agent = agentWith(model, { history: pastLook(900), tools: [fakeTool('look', ['here'])] });
    const run = agent.run('Go');
    await run;
    const old = linesBefore(run.recording());
    const [third, fourth] = [3, 4].map((n) => old.find(({ t, id }) => t === 'start' && id.endsWith(`callLlm#${n}`)));
    const again = { ...third.request, messages: { $from: third.id, keep: 9, add: [] } };
    Object.assign(fourth, { digest: third.digest, key: third.key, request: again });
    expect(await replay(textOfLines(old), agent)).toMatchObject({ result: 'ok' });
  });
});

import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { OutputSchema } from '../../src/agent/options/output-options.ts';
import type { Model, ModelReply, ModelToken } from '../../src/actors/model.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { NO_EVENTS, foldEvent } from '../../src/store/run-fold.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { uiStream } from '../../src/ui/index.ts';
import { agentOn, eventsOf } from './agent-on-server.ts';
import { overEachTransport } from '../support/transports.ts';

const BOOK = z.object({ title: z.string(), year: z.int() });
const LIST = z.array(z.object({ n: z.int(), name: z.string() }));
const ITEMS = Array.from({ length: 40 }, (_, n) => ({ n, name: `the item of number ${n}` }));

type Partial = Extract<RunEvent, { readonly type: 'output.partial' }>;
type Element = Extract<RunEvent, { readonly type: 'output.element' }>;

const partials = (events: readonly RunEvent[]) =>
  events.filter((event): event is Partial => event.type === 'output.partial');
const elements = (events: readonly RunEvent[]) =>
  events.filter((event): event is Element => event.type === 'output.element');

/** A model that gives its reply in pieces of so many characters. */
function inPieces(replies: readonly (string | ModelReply)[], size = 3): Model {
  let asked = 0;
  return {
    complete: async ({ stream }, { onToken }) => {
      const reply = replies[asked++] ?? 'lost';
      const whole = typeof reply === 'string' ? { content: reply } : reply;
      const pieces = (text: string) => text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
      const tokens: ModelToken[] = pieces(whole.content).map((text) => ({ kind: 'text', text }));
      for (const [callIndex, { name, arguments: args }] of (whole.toolCalls ?? []).entries())
        for (const text of pieces(typeof args === 'string' ? args : JSON.stringify(args)))
          tokens.push({ kind: 'arguments', text, callIndex, tool: name });
      if (stream) for (const token of tokens) onToken?.(token);
      return whole;
    },
  };
}

const final = (args: object) => ({
  content: '',
  toolCalls: [{ name: 'final_answer', arguments: JSON.stringify(args) }],
});

function on(model: Model, outputSchema: OutputSchema, more: object = {}) {
  return createAgent({ model, silent: true, streaming: true, outputSchema, ...more });
}

/** Each snapshot has what the one before had, and perhaps more. */
function grow(values: readonly unknown[]): boolean {
  const contains = (later: unknown, earlier: unknown): boolean => {
    if (typeof earlier === 'string') return typeof later === 'string' && later.startsWith(earlier);
    if (typeof earlier !== 'object' || earlier === null) return true;
    return (
      typeof later === 'object' &&
      later !== null &&
      Object.entries(earlier).every(([key, member]) => contains(Reflect.get(later, key), member))
    );
  };
  return values.every((value, index) => index === 0 || contains(value, values[index - 1]));
}

test.each([
  ['by its tool', final({ value: 'Say "no".\nOr not.' }), { tools: [fakeTool('look')] }],
  ['as its server takes it', JSON.stringify({ value: 'Say "no".\nOr not.' }), {}],
  ['as JSON', JSON.stringify('Say "no".\nOr not.'), { outputMode: 'prompt' }],
])('an answer that is text is shown as it is, where it was given %s', async (_how, reply, more) => {
  const agent = on(inPieces([reply]), z.string(), more);
  const run = agent.run('May I?');
  const events = await eventsOf(run);
  expect((await run).output).toBe('Say "no".\nOr not.');
  const shown = (all: readonly RunEvent[]) => all.flatMap((event) => (event.type === 'answer' ? [event.text] : []));
  expect(shown(events)).toEqual(['Say "no".\nOr not.']);
  expect(shown(await eventsOf(replay(run.recording(), agent)))).toEqual(['Say "no".\nOr not.']);
  expect(events.reduce(foldEvent, NO_EVENTS).view.messages.at(-1)?.text).toBe('Say "no".\nOr not.');
  const said = uiStream(events).flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []));
  expect(said.at(-1)).toBe('Say "no".\nOr not.');
});

describe('snapshots of an answer that arrives', () => {
  test('grow to the whole value: as text', async () => {
    const events = await eventsOf(on(inPieces(['{"title": "Dune, a novel", "year": 1965}']), BOOK).run('Go'));
    const shown = partials(events).map(({ output }) => output);
    expect(shown.length).toBeGreaterThan(3);
    expect(JSON.stringify(shown)).not.toContain('null');
    expect(grow(shown)).toBe(true);
    expect(shown).toContainEqual({ title: 'Dune, a' });
    expect(shown.at(-1)).toEqual({ title: 'Dune, a novel', year: 1965 });
  });

  test('as the arguments of the tool, wherever words stand beside it', async () => {
    const said = { ...final({ title: 'Dune', year: 1965 }), content: 'Here it {is}: "the answer".' };
    const events = await eventsOf(on(inPieces([said]), BOOK, { tools: [fakeTool('look')] }).run('Go'));
    const shown = partials(events).map(({ output }) => output);
    expect(shown.every((value) => typeof value === 'object' && value !== null && !Array.isArray(value))).toBe(true);
    expect(grow(shown)).toBe(true);
    expect(shown.at(-1)).toEqual({ title: 'Dune', year: 1965 });
  });

  test('in the envelope, whose members are not shown', async () => {
    const text = '{"thought": "I know \\"it\\"", "answer": {"title": "Dune", "year": 1965}}';
    const events = await eventsOf(on(inPieces([text]), BOOK, { toolCalling: 'json' }).run('Go'));
    const shown = partials(events).map(({ output }) => output);
    expect(JSON.stringify(shown)).not.toMatch(/thought|answer/);
    expect(shown.at(-1)).toEqual({ title: 'Dune', year: 1965 });
  });

  test('are none of calls of other tools, of thinking, and of words', async () => {
    const look = fakeTool('look', [{}]);
    const replies = [
      { content: '', toolCalls: [{ name: 'look', arguments: '{"title": "no", "year": 1}' }] },
      'It is Dune, I think.',
      final({ title: 'Dune', year: 1965 }),
    ];
    const events = await eventsOf(on(inPieces(replies), BOOK, { tools: [look] }).run('Go'));
    const shown = JSON.stringify(partials(events).map(({ output }) => output));
    expect(shown).not.toMatch(/"no"|think/);
  });

  test('two answers in one turn are not mixed', async () => {
    const two = {
      content: '',
      toolCalls: [
        { name: 'final_answer', arguments: '{"title": "Dune", "year": 1965}' },
        { name: 'final_answer', arguments: '{"title": "Emma", "year": 1815}' },
      ],
    };
    const events = await eventsOf(on(inPieces([two]), BOOK, { tools: [fakeTool('look')] }).run('Go'));
    for (const { output } of partials(events)) expect(Object.keys(Object(output)).length).toBeLessThan(3);
    expect(partials(events).map(({ output }) => output)).toContainEqual({ title: 'Dune', year: 1965 });
  });

  test('a long answer is shown whole at its end', async () => {
    const long = { title: 'x'.repeat(5000), year: 1965 };
    const events = await eventsOf(on(inPieces([JSON.stringify(long)], 7), BOOK).run('Go'));
    expect(partials(events).at(-1)?.output).toEqual(long);
    expect(partials(events).length).toBeLessThan(1000);
  });

  test('without streaming there are none', async () => {
    const events = await eventsOf(
      on(inPieces(['{"title": "Dune", "year": 1965}']), BOOK, { streaming: false }).run('Go'),
    );
    expect(events.filter(({ type }) => type.startsWith('output.'))).toEqual([]);
  });

  test('without a schema there are none', async () => {
    const agent = createAgent({ model: inPieces(['{"title": "Dune"}']), silent: true, streaming: true });
    const events = await eventsOf(agent.run('Go'));
    expect(events.filter(({ type }) => type.startsWith('output.'))).toEqual([]);
  });

  test('have the number of the event before them, and a replay gives the last', async () => {
    const make = () => on(inPieces(['{"title": "Dune", "year": 1965}']), BOOK, { seed: 1 });
    const run = make().run('Go');
    const events = await eventsOf(run);
    for (const [index, event] of events.entries())
      if (event.type.startsWith('output.')) expect(event.seq).toBe(events[index - 1]?.seq);
    const again = await eventsOf(replay(run.recording(), make()));
    expect(partials(again)).toMatchObject([{ output: { title: 'Dune', year: 1965 }, replayed: true }]);
  });

  test('nobody has to listen', async () => {
    expect((await on(inPieces(['{"title": "Dune", "year": 1965}']), BOOK).run('Go')).output).toEqual({
      title: 'Dune',
      year: 1965,
    });
  });
});

describe('elements of a list', () => {
  test.each<[string, string | ModelReply, object]>([
    ['as text', JSON.stringify(ITEMS), {}],
    ['as text around the list', JSON.stringify({ value: ITEMS }), {}],
    ['by the tool', final({ value: ITEMS }), { tools: [fakeTool('look')] }],
    ['in the envelope', JSON.stringify({ thought: 'so', answer: ITEMS }), { toolCalling: 'json' }],
  ])('come one by one, each once and whole: %s', async (_, reply, more) => {
    const make = () => on(inPieces([reply], 2), LIST, { seed: 1, ...more });
    const run = make().run('Go');
    const events = await eventsOf(run);
    expect(elements(events).map(({ index }) => index)).toEqual(ITEMS.map(({ n }) => n));
    expect(elements(events).map(({ element }) => element)).toEqual(ITEMS);
    const first = events.findIndex(({ type }) => type === 'output.element');
    expect(partials(events.slice(first)).length).toBeGreaterThan(20);
    const again = await eventsOf(replay(run.recording(), make()));
    expect(elements(again).map(({ element }) => element)).toEqual(ITEMS);
  });

  test('that do not fit are left out, and those that need it are coerced', async () => {
    const text = '[{"n": "1", "name": "a"}, {"name": "no number"}, {"n": 3, "name": "c"}]';
    const events = await eventsOf(on(inPieces([text, JSON.stringify(ITEMS)]), LIST).run('Go'));
    const voided = events.findIndex(({ type }) => type === 'model.replied');
    expect(elements(events.slice(0, voided)).map(({ index, element }) => [index, element])).toEqual([
      [0, { n: 1, name: 'a' }],
      [2, { n: 3, name: 'c' }],
    ]);
  });

  test('a list within an object has none', async () => {
    const schema = z.object({ list: LIST });
    const events = await eventsOf(on(inPieces([JSON.stringify({ list: ITEMS })]), schema).run('Go'));
    expect(elements(events)).toEqual([]);
  });
});

overEachTransport(() => {
  test('over real HTTP the arguments of the tool are followed', async () => {
    const { agent } = await agentOn([{ toolCalls: [{ id: 'o', name: 'final_answer', arguments: { value: ITEMS } }] }], {
      tools: [fakeTool('look')],
      outputSchema: LIST,
      streaming: true,
    });
    const events = await eventsOf(agent.run('Go'));
    expect(elements(events).map(({ element }) => element)).toEqual(ITEMS);
  });

  test('over real HTTP a text is followed', async () => {
    const { agent } = await agentOn([JSON.stringify(ITEMS)], { outputSchema: LIST, streaming: true });
    const run = agent.run('Go');
    expect(elements(await eventsOf(run)).map(({ element }) => element)).toEqual(ITEMS);
    expect((await run).output).toEqual(ITEMS);
  });
});

test('each reply is one event, whether its answer fits, is corrected or set aside', async () => {
  const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };
  const replies = ['{"title": "Dune"}', '{"title": "Dune", "year": 1}', '{"title": "Dune", "year": 1965}'];
  const model = scriptedModel(replies.map((content) => ({ content, usage })));
  const checkOutput = (value: unknown) => {
    if (Reflect.get(Object(value), 'year') === 1) throw new Error('too early');
  };
  const make = () => createAgent({ model, outputSchema: BOOK, checkOutput, silent: true, streaming: true });
  const run = make().run('Which book?');
  const events = await eventsOf(run);
  for (const list of [events, await eventsOf(replay(run.recording(), make()))]) {
    expect(list.flatMap((event) => (event.type === 'model.replied' ? [event.text] : []))).toEqual(replies);
    const shown = list.reduce(foldEvent, NO_EVENTS).view;
    expect(shown.usage).toMatchObject({ inputTokens: 9, outputTokens: 6, totalTokens: 15 });
  }
  expect((await run).usage).toMatchObject({ totalTokens: 15 });
});

test('a scripted model streams its text word by word', async () => {
  const events = await eventsOf(on(scriptedModel(['{"title": "Dune Messiah", "year": 1969}']), BOOK).run('Go'));
  expect(partials(events).at(-1)?.output).toEqual({ title: 'Dune Messiah', year: 1969 });
});

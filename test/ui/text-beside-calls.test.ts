import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent, tool } from '../../src/index.ts';
import type { ModelReply } from '../../src/actors/model.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { NO_EVENTS, foldEvent } from '../../src/store/run-fold.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { agUi, uiStream } from '../../src/ui/index.ts';
import { eventsOf } from '../agent/agent-on-server.ts';

const look = tool({ name: 'look', description: 'Looks.', execute: () => 'tea' });

type Told = readonly (readonly [kind: string, text: string])[];

/** What the interfaces show of an agent's first turn, which calls a tool, and of its answer. `steered`: a message comes during the first turn. */
async function shownOf(first: Partial<ModelReply> & { readonly content: string }, streaming: boolean, steered = '') {
  const journal = memoryJournal();
  const { promise: isThere, resolve } = Promise.withResolvers<undefined>();
  const reply = { toolCalls: [{ name: 'look', arguments: {} }], ...first };
  const model = scriptedModel([steered === '' ? reply : () => isThere.then(() => reply), 'Tea.']);
  const onEvent = ({ type }: RunEvent): void => (type === 'message.received' ? resolve(undefined) : undefined);
  const agent = createAgent({ model, tools: [look], streaming, silent: true, journal, onEvent });
  const run = agent.conversation('ann/chat', { owner: 'ann' }).run('What is there?');
  if (steered !== '') void run.steer(steered);
  const events = await eventsOf(run);
  const useChat: Told = uiStream(events).flatMap((chunk) =>
    chunk.type === 'text-delta' || chunk.type === 'reasoning-delta'
      ? [[chunk.type === 'text-delta' ? 'text' : 'thought', chunk.delta]]
      : [],
  );
  const ag: Told = agUi(events).flatMap((event) => {
    if (event.type === 'TEXT_MESSAGE_CONTENT') return event.delta === steered ? [] : [['text', event.delta]];
    return event.type === 'REASONING_MESSAGE_CONTENT' ? [['thought', event.delta]] : [];
  });
  const kept = await uiStream.messages(journal, 'chat', { owner: 'ann' });
  const parts: Told = kept.slice(1).flatMap((message) =>
    message.parts.flatMap(({ type, text }) => {
      if (type !== 'text' && type !== 'reasoning') return [];
      return [[type === 'text' ? 'text' : 'thought', String(text)]] as const;
    }),
  );
  const { messages } = events.reduce(foldEvent, NO_EVENTS).view;
  const page: Told = messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ thought, text }) => [
      ...(thought === '' ? [] : [['thought', thought] as const]),
      ...(text === '' ? [] : [['text', text.trim()] as const]),
    ]);
  return { useChat, ag, parts, page };
}

const everywhere = (told: Told) => ({ useChat: told, ag: told, parts: told, page: told });

test.each([
  ['Let me see.', false],
  ['Let me see. ', false],
  ['Let me see.\n\n', false],
  ['\nLet me see.\n\n', true],
])('text beside a call is shown once, as text: %j, streaming %s', async (content, streaming) => {
  const told: Told = [
    ['text', 'Let me see.'],
    ['text', 'Tea.'],
  ];
  expect(await shownOf({ content }, streaming)).toEqual(everywhere(told));
});

test.each([false, true])('blank text beside a call is no thought, streaming %s', async (streaming) => {
  const { page: _page, ...streams } = await shownOf({ content: '\n\n' }, streaming);
  const told: Told = [['text', 'Tea.']];
  expect(streams).toEqual({ useChat: told, ag: told, parts: told });
});

test.each([false, true])('what a model thought is shown besides what it said, streaming %s', async (streaming) => {
  const told: Told = [
    ['thought', 'It is in the kitchen.'],
    ['text', 'Let me see.'],
    ['text', 'Tea.'],
  ];
  const first = { content: 'Let me see.\n', reasoning: 'It is in the kitchen.' };
  expect(await shownOf(first, streaming)).toEqual(everywhere(told));
});

test('the thought of an envelope is a thought', async () => {
  const content = '{"thought": "I look.", "tool": "look", "tool_args": {}}';
  const told: Told = [
    ['thought', 'I look.'],
    ['text', 'Tea.'],
  ];
  expect(await shownOf({ content, toolCalls: [] }, false)).toEqual(everywhere(told));
});

test.each([false, true])('an answer that a message came to meanwhile stays, streaming %s', async (streaming) => {
  const told: Told = [
    ['thought', 'Hm.'],
    ['text', 'Coffee.'],
    ['text', 'Tea.'],
  ];
  const first = { content: '<think>Hm.</think>Coffee.', toolCalls: [] };
  expect(await shownOf(first, streaming, 'Anything else?')).toEqual(everywhere(told));
});

test('a reply of no use that a message came to meanwhile is not shown', async () => {
  const told: Told = [['text', 'Tea.']];
  expect(await shownOf({ content: '<think> </think>', toolCalls: [] }, true, 'Anything?')).toEqual(everywhere(told));
});

const written = 'I look now.\n<tool_call>{"name": "look", "arguments": {}}</tool_call>';

test.each<[string, Partial<ModelReply> & { readonly content: string }, ('typed' | 'json')?]>([
  ['a call written as text', { content: written }],
  ['an answer that was cut off', { content: 'Coff', finishReason: 'length' }],
  ['an answer that was filtered', { content: 'Coff', finishReason: 'content_filter' }],
  ['a typed answer', { content: '{"drink": "coffee"}' }, 'typed'],
  ['an envelope that was cut off', { content: '{"thought": "Hm.", "answer": "Coff' }, 'json'],
])('%s that a message came to meanwhile is not said to stay', async (_what, first, mode) => {
  const { promise: isThere, resolve } = Promise.withResolvers<undefined>();
  const model = scriptedModel([() => isThere.then(() => first), '{"drink": "tea"}', '{"drink": "tea"}']);
  const onEvent = ({ type }: RunEvent): void => (type === 'message.received' ? resolve(undefined) : undefined);
  const options = {
    model,
    tools: [look],
    toolCalling: mode === 'json' ? 'json' : 'auto',
    silent: true,
    onEvent,
  } as const;
  const outputSchema = z.object({ drink: z.string() });
  const run = (mode === 'typed' ? createAgent({ ...options, outputSchema }) : createAgent(options)).run(
    'What is there?',
  );
  void run.steer('Anything else?');
  const replies = (await eventsOf(run)).filter(({ type }) => type === 'model.replied');
  expect(replies.length).toBeGreaterThan(0);
  for (const reply of replies) expect(reply).not.toHaveProperty('answer');
});

import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Message } from '../../src/actors/model.ts';
import { knownCalls } from '../../src/machines/llm-call/conversation.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

/** Calls with these ids, one per turn, then an answer. */
function agentCalling(ids: readonly string[], history: readonly Message[] = []) {
  const replies = ids.map((id, at) => calls(['look', { at: `${String(history.length)}/${String(at)}` }, id]));
  return createAgent({
    model: scriptedModel([...replies, 'Seen.']),
    tools: [fakeTool('look', [{ seen: true }])],
    maxSteps: ids.length + 1,
    maxHistoryMessages: 0,
    history,
    silent: true,
  });
}

const numbered = (count: number, prefix = 'call'): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}-${String(at)}`);
const idsIn = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));

// Below and above the length from which ids are looked up in what is new of a conversation.
test.each([5, 19, 20, 21, 40, 90])('after %i turns an id that a model repeats is another one', async (turns) => {
  const ids = [...numbered(turns), 'call-0', `call-${String(turns - 1)}`, 'call-0', 'fresh'];
  const { messages, status } = await agentCalling(ids).run('Look');
  expect(status).toBe('answered');
  const given = idsIn(messages);
  expect(given).toHaveLength(ids.length);
  expect(new Set(given).size).toBe(ids.length);
  expect(given.slice(0, turns)).toEqual(numbered(turns));
  expect(given.at(-1)).toBe('fresh');
  const results = messages.flatMap(({ toolCallId }) => toolCallId ?? []);
  expect(results).toEqual(given);
});

test('an id is taken in the conversation that has it, and in no other with the same beginning', async () => {
  const { messages: base } = await agentCalling(numbered(30)).run('Look');
  const [one, other] = [agentCalling(['mine', 'of-one'], base), agentCalling(['mine', 'of-one', 'call-3'], base)];
  const first = await one.run('Look again');
  expect(idsIn(first.messages)).toEqual(['mine', 'of-one']);
  const second = await other.run('Look again');
  expect(idsIn(second.messages).slice(0, 2)).toEqual(['mine', 'of-one']);
  expect(idsIn(second.messages).at(-1)).not.toBe('call-3');
  // The first goes on: what the other has done is not in it.
  const third = await agentCalling(['call-29', 'new'], [...base, ...first.messages]).run('And again');
  expect(idsIn(third.messages)[0]).not.toBe('call-29');
  expect(idsIn(third.messages)[1]).toBe('new');
});

test('two continuations of the same messages know the ids of the beginning and their own', () => {
  const turn = (id: string): Message => ({
    role: 'assistant',
    content: '',
    toolCalls: [{ id, name: 'look', arguments: '{}' }],
  });
  const base = numbered(50).map(turn);
  expect(knownCalls(base)('call-49')).toBe(true);
  const [one, other] = [
    [...base, turn('mine')],
    [...base, turn('other')],
  ];
  for (let again = 0; again < 2; again += 1) {
    expect(['call-0', 'call-49', 'mine', 'other'].map(knownCalls(one))).toEqual([true, true, true, false]);
    expect(['call-0', 'call-49', 'mine', 'other'].map(knownCalls(other))).toEqual([true, true, false, true]);
  }
  // Another message in the middle, and the same one at the end.
  const edited = [...one.slice(0, 10), turn('edited'), ...one.slice(11)];
  expect(['call-10', 'edited', 'mine'].map(knownCalls(edited))).toEqual([false, true, true]);
});

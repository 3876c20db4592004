import { expect, test } from 'vitest';
import { createReplyStream, parseReply, type PartialReply } from '../../src/parsing/index.ts';

/** What a user interface sees after each piece. */
function watch<T>(text: string, size: number, see: (partial: PartialReply) => T): readonly T[] {
  const stream = createReplyStream({ tools: ['add'] });
  const seen: T[] = [];
  for (let i = 0; i < text.length; i += size) seen.push(see(stream.push(text.slice(i, i + size))));
  return seen;
}

test('the answer grows without the envelope around it', () => {
  const seen = watch('{"thought": "easy", "answer": "It is 21 degrees"}', 7, ({ answer }) => answer);
  expect(seen).toEqual([undefined, undefined, undefined, undefined, 'It i', 'It is 21 de', 'It is 21 degrees']);
});

test('the thought grows first', () => {
  const stream = createReplyStream();
  expect(stream.push('{"thought": "I nee').thought).toBe('I nee');
  expect(stream.push('d more').thought).toBe('I need more');
  expect(stream.partial.phase).toBe('envelope');
});

test('a tool is named when its name is whole, its arguments come when they are', () => {
  const stream = createReplyStream();
  expect(stream.push('{"tool": "ad').calls).toEqual([]);
  expect(stream.push('d", "tool_args": {"a": ').calls).toEqual([{ name: 'add', args: {}, complete: false }]);
  expect(stream.push('1}').calls).toEqual([{ name: 'add', args: { a: 1 }, complete: false }]);
  expect(stream.push('}').calls).toEqual([{ name: 'add', args: { a: 1 }, complete: true }]);
});

test('plain text is shown as it comes, without trailing space', () => {
  expect(watch('Hello  there! ', 4, ({ answer }) => answer)).toEqual([
    'Hell',
    'Hello  t',
    'Hello  there',
    'Hello  there!',
  ]);
});

test('prose before an envelope is taken back', () => {
  const stream = createReplyStream();
  expect(stream.push('Sure! ').answer).toBe('Sure!');
  expect(stream.push('```json\n{"thought": "x').answer).toBeUndefined();
  expect(stream.push('", "answer": "Done').answer).toBe('Done');
});

test('braces in prose stay prose', () => {
  const stream = createReplyStream();
  stream.push('Use {name} and {"a": 1} here');
  expect(stream.partial.answer).toBe('Use {name} and {"a": 1} here');
});

test('a reasoning block is the thought', () => {
  const stream = createReplyStream();
  expect(stream.push('<thi').phase).toBe('waiting');
  expect(stream.push('nk>hm {not')).toMatchObject({ phase: 'thinking', thought: 'hm {not' });
  expect(stream.push('}</think>Yes')).toMatchObject({ phase: 'text', thought: 'hm {not}', answer: 'Yes' });
});

test('a tool call in a format of the model is never shown as an answer', () => {
  const text = 'I look.\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>';
  const stream = createReplyStream({ tools: ['add'] });
  stream.push(text);
  expect(stream.partial).toMatchObject({ phase: 'calls', calls: [] });
  expect(stream.partial.answer).toBeUndefined();
  expect(stream.end().calls).toEqual([{ name: 'add', args: { a: 1 }, complete: true }]);
});

test('an escape or a character cut in two is held back until it is whole', () => {
  const stream = createReplyStream();
  expect(stream.push('{"answer": "a\\u00').answer).toBe('a');
  expect(stream.push('e9\\').answer).toBe('aé');
  expect(stream.push('n\ud83d').answer).toBe('aé\n');
  expect(stream.push('\ude00"}').answer).toBe('aé\n😀');
});

test('a plan comes when it is whole', () => {
  const stream = createReplyStream();
  expect(stream.push('{"plan": [{"tool": "a"}, {"too').plan).toBeUndefined();
  expect(stream.push('l": "b"}]').plan?.map(({ tool }) => tool)).toEqual(['a', 'b']);
});

test('the end is what the whole text says', () => {
  const text = "Sure:\n{'thought': 't', 'tool': 'add', 'tool_args': {'a': 1}}";
  const stream = createReplyStream();
  for (const character of text) stream.push(character);
  expect(stream.end()).toEqual(parseReply(text));
});

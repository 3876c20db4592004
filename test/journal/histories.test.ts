import { expect, test } from 'vitest';
import type { Message } from '../../src/actors/model.ts';
import { createHistories } from '../../src/journal/format/histories.ts';
import { digest } from '../../src/json/digest.ts';
import type { Json } from '../../src/json/json.ts';

const LONG = 'It is mild there, a little warmer than in the one before. '.repeat(200);

const said = (...texts: readonly string[]): readonly Message[] =>
  texts.map((text) => ({ role: 'user', content: `${text} ${LONG}` }));

test('a conversation that goes on is stored from where it stopped', () => {
  const histories = createHistories();
  const first = histories.place('one', said('a', 'b'));
  const next = histories.place('two', said('a', 'b', 'c'));
  expect(next?.part).toEqual({ $history: first?.part.$history, from: 0, to: 3 });
  expect(next?.added).toEqual(said('c'));
});

test.each([
  ['in the middle', said('a', 'x', 'c')],
  ['at its end', said('a', 'b', 'x')],
])('one that is told otherwise %s begins a history of its own', (_where, otherwise) => {
  const histories = createHistories();
  const first = histories.place('one', said('a', 'b', 'c'));
  const other = histories.place('two', otherwise);
  expect(other?.part).toMatchObject({ from: 0, to: 3 });
  expect(other?.part.$history).not.toBe(first?.part.$history);
  expect(other?.added).toEqual(otherwise);
});

test.each([
  [49, true],
  [50, false],
])('with %i other conversations since, it is known: %s', (others, isKnown) => {
  const histories = createHistories();
  const first = histories.place('first', said('a', 'b'));
  for (let count = 0; count < others; count++) histories.place(`run-${count}`, said(`other ${count}`));
  const again = histories.place('again', said('a', 'b', 'c'));
  expect(again?.part.$history === first?.part.$history).toBe(isKnown);
});

const deepFrozen = <T extends Json>(value: T): T => {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFrozen);
  return Object.freeze(value);
};

test('the digest of a list is the same whatever lists with its first item were digested before', () => {
  const [a, b, c, d] = deepFrozen([{ at: 1 }, { at: 2 }, { at: 3 }, { at: 4 }]);
  const lists: readonly (readonly Json[])[] = [
    [a, b],
    [a, b, c],
    [a, d, c],
    [a],
    [a, b, c, d],
    [a, 'text', null, c],
    [a, 'text', null, c, 7],
    [],
    ['text', a],
  ].map((list) => Object.freeze(list));
  for (const list of [...lists, ...lists.toReversed()])
    expect(digest({ list })).toBe(digest(JSON.parse(JSON.stringify({ list }))));
  const growing: Json[] = [a, b];
  const before = digest(growing);
  growing[1] = d;
  expect(digest(growing)).not.toBe(before);
  expect(digest([...growing, c])).toBe(digest(JSON.parse(JSON.stringify([a, d, c]))));
});

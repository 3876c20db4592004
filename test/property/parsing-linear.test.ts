import { expect, test } from 'vitest';
import { readReplyText } from '../../src/parsing/reply/parse-reply.ts';
import { ADVERSARIAL_FAMILIES } from '../parsing/adversarial-families.ts';
import { cases } from '../support/soak.ts';

const SIZE = cases(4_000, 64_000);
/** Looking at every character this often is still linear; the growth below is what proves it. */
const MOST_PER_CHARACTER = 150;

function steps(text: string): number {
  const meter = { steps: 0 };
  readReplyText(text, { tools: ['add'], meter });
  return meter.steps;
}

test.each(ADVERSARIAL_FAMILIES)('$name: twice the text is twice the work', ({ make }) => {
  const [one, two, four] = [SIZE, 2 * SIZE, 4 * SIZE].map((n) => steps(make(n)));
  expect(four).toBeLessThan(MOST_PER_CHARACTER * 4 * SIZE);
  expect((two ?? 0) / (one ?? 1)).toBeLessThan(2.4);
  expect((four ?? 0) / (two ?? 1)).toBeLessThan(2.4);
});

import { expect, test } from 'vitest';
import { forkOffer } from '../../../src/inspector/page/state/orders.ts';

test('a run that offers it can be forked from each recorded step', () => {
  expect(forkOffer({ kind: 'run', can: ['fork', 'download'] }, 7, true)).toEqual({ kind: 'offered', entry: 7 });
});

test('where nothing is recorded, there is nothing to say', () => {
  expect(forkOffer({ kind: 'system', can: ['send'] }, null, true)).toEqual({ kind: 'none' });
});

test.each([
  ['a recording from disk', { kind: 'recording', can: ['download'] }, true, /agent that made it is not here/],
  ['a saved page', { kind: 'recording', can: [] }, false, /page was saved/],
  ['a run whose agent does not fork', { kind: 'run', can: ['download'] }, true, /does not offer/],
] as const)('%s says why it cannot be forked', (_, info, live, why) => {
  expect(forkOffer(info, 7, live)).toMatchObject({ kind: 'refused', entry: 7, why: expect.stringMatching(why) });
});

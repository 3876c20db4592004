import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseReply, recoverJson, type Reply } from '../../src/parsing/index.ts';
import { brokenLines, envelope, plainText, quotation, trickyText } from '../parsing/arbitraries.ts';
import { SYNTAX_DAMAGE, WRAPPINGS } from '../parsing/damage-models.ts';
import { isUndone } from '../parsing/laws.ts';
import { PATIENCE, runs } from './parsing-runs.ts';

test('there are 46 models of damage and more', () => {
  expect(SYNTAX_DAMAGE.length).toBeGreaterThanOrEqual(46);
  expect(new Set(SYNTAX_DAMAGE.map(({ name }) => name)).size).toBe(SYNTAX_DAMAGE.length);
});

const TEXTS = { any: trickyText, plain: plainText, lines: brokenLines, quotes: quotation } as const;

test.each(SYNTAX_DAMAGE)(
  '$name: undone exactly',
  ({ texts, damage, complete = true }) => {
    fc.assert(
      fc.property(envelope(TEXTS[texts]), (value) => {
        expect(isUndone(recoverJson, damage(value), { value, complete })).toBeUndefined();
      }),
      runs(60),
    );
  },
  PATIENCE,
);

test.each(WRAPPINGS)(
  '$name around valid JSON changes nothing',
  ({ wrap }) => {
    fc.assert(
      fc.property(envelope(trickyText), fc.boolean(), (value, pretty) => {
        const text = JSON.stringify(value, null, pretty ? 2 : 0);
        expect(isUndone(recoverJson, wrap(text), { value, complete: true })).toBeUndefined();
        const found = ({ answer, calls, plan, goal, complete }: Reply) => ({ answer, calls, plan, goal, complete });
        expect(found(parseReply(wrap(text)))).toEqual(found(parseReply(text)));
      }),
      runs(60),
    );
  },
  PATIENCE,
);

test.each(WRAPPINGS)(
  '$name around damaged JSON: both are undone',
  ({ wrap }) => {
    const whole = SYNTAX_DAMAGE.filter(({ complete }) => complete !== false);
    const cases = fc
      .constantFrom(...whole)
      .chain((model) => fc.tuple(fc.constant(model), envelope(TEXTS[model.texts])));
    fc.assert(
      fc.property(cases, ([{ damage }, value]) => {
        expect(isUndone(recoverJson, wrap(damage(value)), { value, complete: true })).toBeUndefined();
      }),
      runs(200),
    );
  },
  PATIENCE,
);

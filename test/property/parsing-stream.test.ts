import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReplyStream, parseReply } from '../../src/parsing/index.ts';
import { envelope, prose, tokenSoup, trickyText } from '../parsing/arbitraries.ts';
import { SYNTAX_DAMAGE, WRAPPINGS } from '../parsing/damage-models.ts';
import { PATIENCE, runs } from './parsing-runs.ts';

const TOOLS = ['read_file', 'get_weather', 'run_shell', 'calc'];
const cuts = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 });

/** Cuts a text into pieces whose lengths repeat. */
function pieces(text: string, lengths: readonly number[]): readonly string[] {
  const out: string[] = [];
  for (let i = 0, k = 0; i < text.length; k += 1) {
    const length = lengths[k % lengths.length] ?? 1;
    out.push(text.slice(i, i + length));
    i += length;
  }
  return out;
}

test(
  'however a reply is cut into pieces, its end is what the whole says',
  () => {
    const damaged = fc
      .tuple(envelope(trickyText), fc.constantFrom(...SYNTAX_DAMAGE), fc.constantFrom(...WRAPPINGS))
      .map(([value, { damage }, { wrap }]) => wrap(damage(value)));
    fc.assert(
      fc.property(fc.oneof(damaged, tokenSoup, prose), cuts, (text, lengths) => {
        const stream = createReplyStream({ tools: TOOLS });
        for (const piece of pieces(text, lengths)) stream.push(piece);
        expect(stream.end()).toEqual(parseReply(text, { tools: TOOLS }));
      }),
      runs(1_000),
    );
  },
  PATIENCE,
);

test(
  'what is shown of an envelope only grows, into what the whole says',
  () => {
    fc.assert(
      fc.property(envelope(trickyText), fc.boolean(), cuts, (value, pretty, lengths) => {
        const text = JSON.stringify(value, null, pretty ? 2 : 0);
        const whole = parseReply(text);
        const stream = createReplyStream();
        for (const piece of pieces(text, lengths)) {
          const { thought, goal, answer = '', calls, plan } = stream.push(piece);
          expect(whole.thought.startsWith(thought)).toBe(true);
          expect(whole.goal.startsWith(goal)).toBe(true);
          expect((whole.answer ?? '').startsWith(answer)).toBe(true);
          expect(calls.map(({ name }) => name)).toEqual(calls.length === 0 ? [] : whole.calls.map(({ name }) => name));
          const tools = plan?.map(({ tool }) => tool) ?? [];
          expect(tools).toEqual(plan === undefined ? [] : whole.plan?.map(({ tool }) => tool));
        }
        expect(stream.partial).toMatchObject({ thought: whole.thought, goal: whole.goal, calls: whole.calls });
        expect(stream.partial.answer).toBe(whole.answer);
        expect(stream.partial.plan).toEqual(whole.plan);
      }),
      runs(300),
    );
  },
  PATIENCE,
);

test(
  'what is shown of prose only grows, into the answer',
  () => {
    fc.assert(
      fc.property(prose, cuts, (text, lengths) => {
        const whole = parseReply(text).answer ?? '';
        const stream = createReplyStream();
        for (const piece of pieces(text, lengths)) expect(whole.startsWith(stream.push(piece).answer ?? '')).toBe(true);
        expect(stream.end().answer).toBe(whole);
      }),
      runs(500),
    );
  },
  PATIENCE,
);

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReplyStream, parseReply, type PartialReply } from '../../src/parsing/index.ts';
import type { ParseReplyOptions } from '../../src/parsing/reply/reply-source.ts';
import { Follower } from '../../src/parsing/stream/follower.ts';
import { ADVERSARIAL_FAMILIES } from '../parsing/adversarial-families.ts';
import { anyJson, envelope, prose, tokenSoup, trickyText } from '../parsing/arbitraries.ts';
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

const MODES = ['never', 'whole-reply', 'lenient'] as const;
const json = anyJson.map((value) => JSON.stringify(value));
/** Objects whose keys make them calls, envelopes or data, in any order. */
const keyed = fc
  .uniqueArray(fc.constantFrom('thought', 'answer', 'tool', 'name', 'arguments', 'id', 'unit', 'function'), {
    maxLength: 4,
  })
  .chain((keys) =>
    fc.tuple(
      ...keys.map((key) => fc.constantFrom('read_file', 'no', 1, { name: 'calc' }).map((value) => [key, value])),
    ),
  )
  .map((entries) => JSON.stringify(Object.fromEntries(entries)));
const anyText = fc.oneof(
  keyed,
  tokenSoup,
  prose,
  json,
  envelope(trickyText).map((value) => JSON.stringify(value)),
  fc.tuple(prose, fc.oneof(tokenSoup, json), prose).map((parts) => parts.join('')),
);

/** What is known after each piece, by how much of the text has arrived. */
function partials(
  text: string,
  lengths: readonly number[],
  options: ParseReplyOptions,
): ReadonlyMap<number, PartialReply> {
  const stream = createReplyStream(options);
  const seen = new Map<number, PartialReply>();
  let length = 0;
  for (const piece of pieces(text, lengths)) {
    length += piece.length;
    seen.set(length, stream.push(piece));
  }
  return seen;
}

test(
  'what is known of a text does not depend on how it was cut into pieces',
  () => {
    fc.assert(
      fc.property(
        anyText,
        fc.oneof(cuts, fc.constant([1_000])),
        fc.constantFrom(...MODES),
        (text, lengths, textCalls) => {
          const options = { tools: TOOLS, textCalls };
          const single = partials(text, [1], options);
          for (const [length, partial] of partials(text, lengths, options)) expect(partial).toEqual(single.get(length));
        },
      ),
      runs(1_500),
    );
  },
  PATIENCE,
);

/** What may still become something else, or is left out at the very end. */
const UNDECIDED = /^\s*(?:[<[◁]\S*|[\ud800-\udbff])?$/;

test(
  'where no text is a call, all text is shown as it comes, byte for byte',
  () => {
    const text = anyText.filter((one) => !/think|<\||<\/s>|^[\s\u200b\ufeff]*\{/.test(one));
    fc.assert(
      fc.property(text, cuts, (whole, lengths) => {
        for (const [length, { answer = '' }] of partials(whole, lengths, { tools: TOOLS, textCalls: 'never' })) {
          const arrived = whole.slice(0, length).trim();
          expect(arrived.startsWith(answer)).toBe(true);
          expect(arrived.slice(answer.length)).toMatch(UNDECIDED);
        }
      }),
      runs(1_000),
    );
  },
  PATIENCE,
);

test(
  'what was held back and turned out to be text comes out in order, and the end is all of it',
  () => {
    const text = fc.oneof(
      tokenSoup,
      fc.tuple(prose, tokenSoup, prose).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, cuts, (whole, lengths) => {
        const reply = parseReply(whole, { tools: TOOLS });
        fc.pre(reply.strategy === 'text' && reply.ambiguous === undefined && !/^\s*>|think>/.test(whole));
        const stream = createReplyStream({ tools: TOOLS });
        for (const piece of pieces(whole, lengths)) {
          const { phase, answer = '' } = stream.push(piece);
          if (phase === 'text') expect((reply.answer ?? '').startsWith(answer)).toBe(true);
        }
        stream.end();
        expect(stream.partial.answer).toBe(reply.answer);
      }),
      runs(1_500),
    );
  },
  PATIENCE,
);

const MORE_FAMILIES = [
  '<',
  '>',
  '{',
  '[',
  '\n',
  '\u200b',
  ' ',
  '``',
  '```\n',
  '<b>',
  '</think> ',
  '</think>',
  ' <|im_start|>',
  '<|im_end|>',
  '<|channel|>',
  '<tool_call> ',
  '<tool_call>add',
  'Action: ',
  'add ',
  'add\n',
  'add: ',
  'a = ',
  'add(1) is\n',
  'x `{"a":1}` ',
  'The weather is fine. ',
  '{"name": "b"} ',
  '{"a": 1} ',
  '[1] ',
  '"thought": "a", ',
  '\\',
].map((piece) => ({ name: JSON.stringify(piece), make: (n: number) => piece.repeat(Math.ceil(n / piece.length)) }));
const OPENINGS = ['', '{', '{"id": {}, ', '{"thought": "', '<think>', '<tool_call>', 'add(', '<|channel|>'];
const MOST_PER_CHARACTER = 40;

test.each([...ADVERSARIAL_FAMILIES, ...MORE_FAMILIES])(
  '$name: a stream looks at each character a few times',
  ({ make }) => {
    for (const textCalls of MODES) {
      for (const opening of OPENINGS) {
        for (const [size, length] of [
          [2_000, 1],
          [4_000, 64],
        ] as const) {
          const meter = { steps: 0 };
          const follower = new Follower({ tools: ['add'], textCalls }, meter);
          for (const piece of pieces(opening + make(size), [length])) follower.take(piece);
          expect(meter.steps).toBeLessThan(MOST_PER_CHARACTER * (size + 100));
        }
      }
    }
  },
);

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

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseReply, recoverArguments, recoverJson } from '../../src/parsing/index.ts';
import { anyJson, envelope, prose, tokenSoup, toolName, trickyText } from '../parsing/arbitraries.ts';
import { SYNTAX_DAMAGE } from '../parsing/damage-models.ts';
import { cutsAreConsistent, isIdempotent, repairsExplain, staysSane, validIsUntouched } from '../parsing/laws.ts';
import { PATIENCE, runs } from './parsing-runs.ts';

const TOOLS = ['read_file', 'get_weather', 'run_shell', 'calc'];
const damaged = fc
  .tuple(envelope(trickyText), fc.constantFrom(...SYNTAX_DAMAGE))
  .map(([value, { damage }]) => damage(value));
/** Damaged replies with characters taken out, put in and swapped. */
const mutated = fc
  .tuple(
    damaged,
    fc.array(fc.tuple(fc.nat(), fc.constantFrom('', '"', '{', '}', '\\', ',', "'", '\n', '<', '`', ':')), {
      maxLength: 5,
    }),
  )
  .map(([text, edits]) =>
    edits.reduce(
      (now, [at, piece]) => now.slice(0, at % (now.length + 1)) + piece + now.slice((at % (now.length + 1)) + 1),
      text,
    ),
  );
const anyText = fc.oneof(tokenSoup, mutated, damaged, prose, fc.string({ unit: 'binary' }));

test(
  'valid JSON is untouched, whatever it holds',
  () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(validIsUntouched(recoverJson, value)).toBeUndefined();
      }),
      runs(500),
    );
  },
  PATIENCE,
);

test(
  'every beginning of an envelope agrees with the whole and is marked incomplete',
  () => {
    fc.assert(
      fc.property(envelope(trickyText), fc.boolean(), (value, pretty) => {
        expect(cutsAreConsistent(recoverJson, JSON.stringify(value, null, pretty ? 2 : 0))).toBeUndefined();
      }),
      runs(60),
    );
  },
  PATIENCE,
);

test(
  'every beginning of any JSON agrees with the whole and is marked incomplete',
  () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(cutsAreConsistent(recoverJson, JSON.stringify(value))).toBeUndefined();
      }),
      runs(100),
    );
  },
  PATIENCE,
);

test(
  'a call that was cut off is never complete',
  () => {
    fc.assert(
      fc.property(envelope(trickyText), fc.nat(), (value, at) => {
        const text = JSON.stringify(value);
        const reply = parseReply(text.slice(0, at % text.length), { tools: TOOLS });
        expect(reply.complete && reply.calls.length > 0).toBe(false);
        expect(reply.calls.filter(({ complete }) => complete)).toEqual([]);
      }),
      runs(500),
    );
  },
  PATIENCE,
);

test(
  'any text gives a reply, a value or none, and arguments or an error',
  () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(staysSane(parseReply(text, { tools: TOOLS }))).toBeUndefined();
        expect(staysSane(recoverJson(text))).toBeUndefined();
        expect(
          staysSane(recoverJson(text, { schema: { type: 'object', properties: { thought: { type: 'string' } } } })),
        ).toBeUndefined();
        const found = recoverArguments(text, {
          type: 'object',
          properties: { a: { type: 'integer' } },
          additionalProperties: false,
        });
        expect(found.ok || found.error.kind === 'invalid-args' || found.error.kind === 'deserialization').toBe(true);
      }),
      runs(1_500),
    );
  },
  PATIENCE,
);

test(
  'anything that is no text gives a reply, too',
  () => {
    fc.assert(
      fc.property(fc.anything(), (input) => {
        expect(staysSane(Reflect.apply(parseReply, undefined, [input]))).toBeUndefined();
        expect(staysSane(Reflect.apply(recoverJson, undefined, [input]))).toBeUndefined();
        recoverArguments(input, true);
        expect(
          staysSane(Reflect.apply(recoverJson, undefined, ['{"a": 1}', { schema: input, limits: input }])),
        ).toBeUndefined();
        for (const options of [
          { tools: input },
          { textCalls: input },
          { limits: { maxChars: input, maxDepth: input } },
        ])
          expect(staysSane(Reflect.apply(parseReply, undefined, ['{"a": 1}', options]))).toBeUndefined();
      }),
      runs(500),
    );
  },
  PATIENCE,
);

test(
  'recovery is idempotent',
  () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(isIdempotent(recoverJson, text)).toBeUndefined();
      }),
      runs(1_000),
    );
  },
  PATIENCE,
);

test(
  'what is not listed as a repair stands in the text',
  () => {
    fc.assert(
      fc.property(fc.oneof(tokenSoup, damaged), (text) => {
        expect(repairsExplain(recoverJson, text)).toBeUndefined();
      }),
      runs(1_000),
    );
  },
  PATIENCE,
);

test(
  'prose holds no call and no JSON, and is the answer',
  () => {
    fc.assert(
      fc.property(prose, (text) => {
        const reply = parseReply(text, { tools: TOOLS });
        expect(reply.calls).toEqual([]);
        expect(reply.plan).toBeUndefined();
        expect(reply.answer).toBe(text.trim());
        expect(recoverJson(text).ok).toBe(false);
      }),
      runs(1_000),
    );
  },
  PATIENCE,
);

test(
  'a name that is not registered never becomes a call of a dialect',
  () => {
    fc.assert(
      fc.property(tokenSoup, toolName, (text, name) => {
        const reply = parseReply(text, { tools: TOOLS.filter((other) => other !== name) });
        const names = reply.strategy === 'dialect' ? reply.calls.map((call) => call.name) : [];
        expect(names).not.toContain(name);
      }),
      runs(1_500),
    );
  },
  PATIENCE,
);

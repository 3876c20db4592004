import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isJsonObject, type Json, parseReply, type ToolCallRequest } from '../../src/parsing/index.ts';
import type { TextCalls } from '../../src/parsing/reply/reply-source.ts';
import { anyJson, callArguments, prose, tokenSoup, trickyText } from '../parsing/arbitraries.ts';
import { PATIENCE, runs } from '../property/parsing-runs.ts';
import { agentIn, TOOLS } from './agents.ts';
import { ENVELOPE, MARKED, type Writer, WRITERS } from './dialects.ts';
import { type Quote, TALK, UNFENCED } from './quotes.ts';
import { THOUGHTFUL } from './thoughts.ts';

const anyWriter = fc.constantFrom(...WRITERS);
const innerCall = anyWriter.map((writer) => writer.write('wipe', { text: 'everything' }).text);
const mark = anyWriter.chain(({ open, closers }) => fc.constantFrom(open, ...closers));
/** Text with calls, marks, broken syntax and prose in any order. */
const mixture: fc.Arbitrary<string> = fc
  .array(fc.oneof(innerCall, mark, trickyText, tokenSoup, fc.constantFrom('\n', '\n\n', '```\n', ' ')), {
    minLength: 1,
    maxLength: 8,
  })
  .map((pieces) => pieces.join(''));

const SET_APART = /think|<\|im_|<\|message\|>/i;

const MODES: readonly TextCalls[] = ['never', 'whole-reply', 'lenient'];

function whole(text: string, textCalls: TextCalls): readonly ToolCallRequest[] {
  const { calls } = parseReply(text, { tools: TOOLS, textCalls });
  return calls.filter(({ complete, issues = [] }) => complete && issues.length === 0);
}

const argument = (value: Json): Json | undefined => (isJsonObject(value) ? value['text'] : undefined);
const quoting = WRITERS.filter(({ kind }) => kind === 'json');
const tagging = WRITERS.filter(({ kind }) => kind === 'tags');

test(
  'law 1: a quoted argument belongs to its call, whatever it holds',
  () => {
    fc.assert(
      fc.property(fc.constantFrom(...quoting), mixture, (writer, text) => {
        const calls = whole(writer.write('note', { text }).text, 'lenient');
        expect(calls.map(({ name, args }) => [name, argument(args)])).toEqual([['note', text]]);
      }),
      runs(400),
    );
  },
  PATIENCE,
);

test(
  'law 1: an argument between tags is whole or refused, and calls nothing',
  () => {
    fc.assert(
      fc.property(fc.constantFrom(...tagging), mixture, (writer, text) => {
        const calls = whole(writer.write('note', { text }).text, 'lenient');
        expect(calls.map(({ name }) => name).filter((name) => name !== 'note')).toEqual([]);
        const openers = [writer.open, ...writer.closers.map((closer) => closer.replace('/', '').replace('>', ''))];
        const clear = [...openers, ...writer.closers].every((piece) => !text.includes(piece));
        if (clear) expect(calls).toHaveLength(1);
        if (closesAndOpens(text, writer.closers, openers)) return;
        // Without a schema, text that is JSON comes as its value.
        const texts = calls.map(({ args }) => argument(args)).filter((value) => typeof value === 'string');
        expect(texts.map((value) => value.trim())).toEqual(texts.map(() => text.trim()));
      }),
      runs(200),
    );
  },
  PATIENCE,
);

/** A text that closes its element and opens another says what a call of two arguments says. */
function closesAndOpens(text: string, closers: readonly string[], openers: readonly string[]): boolean {
  return closers.some((closer) => {
    const behind = text.split(closer).slice(1);
    return behind.some((rest) => openers.some((opener) => rest.trimStart().startsWith(opener)));
  });
}

test(
  'law 2: where no text may be a call, none is, and the text is the answer',
  () => {
    fc.assert(
      fc.property(mixture, (middle) => {
        const text = `This is what I found: ${middle} and that is all.`;
        const reply = parseReply(text, { tools: TOOLS, textCalls: 'never' });
        expect([reply.calls, reply.plan]).toEqual([[], undefined]);
        // Thoughts, turns and channels may be set apart.
        if (!SET_APART.test(text)) expect(reply.answer).toBe(text);
      }),
      runs(400),
    );
  },
  PATIENCE,
);

test(
  'law 2: a message that is nothing but a call is one unless no text may be, and is none with words around it',
  () => {
    fc.assert(
      fc.property(anyWriter, callArguments(trickyText), fc.boolean(), (writer, data, behind) => {
        const { text } = writer.write('note', { data });
        expect(whole(text, 'never')).toEqual([]);
        expect(whole(text, 'whole-reply').map(({ name }) => name)).toEqual(['note']);
        const narrated = behind ? `${text}\nThat is what I do now.` : `I do it now.\n${text}`;
        expect(whole(narrated, 'whole-reply')).toEqual([]);
      }),
      runs(200),
    );
  },
  PATIENCE,
);

test(
  'law 3: talk about calls is none, however it is put together',
  () => {
    const laid = (quotes: readonly Quote[], modes: readonly TextCalls[]): void => {
      const piece = fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...quotes.map(({ text }) => text)) },
        { weight: 1, arbitrary: prose },
      );
      fc.assert(
        fc.property(fc.array(piece, { minLength: 1, maxLength: 3 }), fc.constantFrom(...modes), (pieces, textCalls) => {
          expect(whole(pieces.join('\n\n'), textCalls)).toEqual([]);
        }),
        runs(300),
      );
    };
    laid(UNFENCED, ['never', 'whole-reply', 'narrated']);
    laid(TALK, ['lenient']);
  },
  PATIENCE,
);

test(
  'law 3: what was thought is no call, whatever follows it',
  () => {
    const thoughts = THOUGHTFUL.filter(({ clear, then }) => clear && then === 'answer');
    fc.assert(
      fc.property(fc.constantFrom(...thoughts), fc.constantFrom(...MODES), prose, ({ text }, textCalls, more) => {
        expect(whole(`${text}\n\n${more}`, textCalls)).toEqual([]);
      }),
      runs(300),
    );
  },
  PATIENCE,
);

test(
  'law 4: no beginning of a call is a whole one',
  () => {
    fc.assert(
      fc.property(anyWriter, callArguments(trickyText), trickyText, fc.nat(), (writer, data, text, at) => {
        const written = cutSafely(writer, { data, text });
        const calls = whole(written.text.slice(0, at % written.whole), 'lenient');
        expect(calls).toEqual([]);
      }),
      runs(1_000),
    );
  },
  PATIENCE,
);

/** An argument that is written between tags must not hold them. */
function cutSafely(writer: Writer, args: { readonly data: Json; readonly text: string }) {
  const safe = writer.kind === 'json' ? args : { data: args.data, text: args.text.replaceAll('<', '') };
  return writer.write('note_all', safe);
}

const KNOWN = fc.record(
  {
    thought: trickyText,
    goal: trickyText,
    answer: anyJson,
    plan: fc.constantFrom<Json[]>('premium', [], null, 3),
    tool: fc.constantFrom<Json[]>('none', '', null),
  },
  { requiredKeys: [], noNullPrototype: true },
);
const unknown = fc.constantFrom('unit', 'score', 'city', 'sources', 'confidence', 'price');

test(
  'law 5: an object with a field of its own is no envelope, and is the answer as it was written',
  () => {
    fc.assert(
      fc.property(
        KNOWN,
        unknown,
        anyJson,
        fc.constantFrom(0, 1, 2),
        fc.constantFrom(...MODES),
        (known, key, value, indent, textCalls) => {
          const text = JSON.stringify({ ...known, [key]: value }, null, indent);
          const reply = parseReply(text, { tools: TOOLS, textCalls });
          expect(reply).toMatchObject({ calls: [], answer: text });
          expect([reply.plan, reply.planError]).toEqual([undefined, undefined]);
        },
      ),
      runs(500),
    );
  },
  PATIENCE,
);

test(
  'law 5: prose around JSON that is no envelope is kept',
  () => {
    fc.assert(
      fc.property(anyJson, fc.constantFrom(...MODES), fc.boolean(), (value, textCalls, fenced) => {
        const json = JSON.stringify({ city: 'Oslo', value });
        const text = fenced
          ? `It sent this:\n\`\`\`json\n${json}\n\`\`\`\nSave it.`
          : `It sent ${json} and then it closed.`;
        expect(parseReply(text, { tools: TOOLS, textCalls })).toMatchObject({ calls: [], answer: text });
      }),
      runs(300),
    );
  },
  PATIENCE,
);

/** Texts that look like values of another type. */
const lookalike = fc.constantFrom(
  '{"theme":"dark"}',
  '[1, 2]',
  '42',
  '1.50',
  '007',
  'true',
  'null',
  'None',
  '"quoted"',
  ' padded ',
  'last line\n',
  'one\n\ntwo\n',
  '&lt;b&gt;',
  '',
);

test(
  'law 6: arguments between tags are read by the type that the tool declares',
  async () => {
    const judge = agentIn('json');
    const text = fc.oneof(
      lookalike,
      trickyText.filter((value) => !/[<\p{Cc}]/u.test(value)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...tagging),
        text,
        fc.integer(),
        fc.boolean(),
        async (writer, value, count, flag) => {
          const args = { text: value, count, flag };
          const { executed } = await judge(writer.write('note', args).text, 'stop');
          expect(executed).toEqual([{ tool: 'note', args }]);
        },
      ),
      runs(200),
    );
  },
  PATIENCE,
);

test('every law is tried on every format', () => {
  expect([quoting.length + tagging.length, WRITERS.includes(ENVELOPE)]).toEqual([WRITERS.length, true]);
  expect(MARKED.length).toBeGreaterThan(15);
});

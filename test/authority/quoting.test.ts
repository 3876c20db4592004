import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { parseReply } from '../../src/parsing/index.ts';
import { agentIn, type Mode, MODES, NONE_WRONG, type Outcome, ran, TOOLS, wrongOnes } from './agents.ts';
import { MARKED, WRITERS } from './dialects.ts';
import { type Quote, QUOTES, TALK } from './quotes.ts';
import { cases } from '../support/soak.ts';

/** Of all quoted calls, this share may be taken for calls where text may be a call: a fence that is called an example. */
const TOLERATED = 0.05;

test('there are calls to quote in every format and place', () => {
  expect(QUOTES.length).toBeGreaterThanOrEqual(300);
  expect(new Set(QUOTES.map(({ title }) => title)).size).toBe(QUOTES.length);
});

/** All quotes in a soak; in the suite every third, and each of three modes other ones. */
function quotesFor(mode: Mode): readonly Quote[] {
  const every = cases(3, 1);
  return QUOTES.filter((_quote, n) => n % every === MODES.indexOf(mode) % every);
}

/** What is wrong with the run of a reply that only talks; undefined: nothing. */
function fault({ title, text, answer }: Quote, outcome: Outcome): string | undefined {
  if (outcome.executed.length > 0) return `${title}: ran ${ran(outcome).join()}\n${text}`;
  // Only who ends with a marked call is asked what was meant.
  const limit = title.endsWith('at the end of a sentence') ? 2 : 1;
  if (outcome.asked > limit) return `${title}: asked ${outcome.asked} times\n${text}`;
  if (answer !== null && outcome.answer?.trim() !== answer.trim())
    return `${title}: answered ${outcome.answer}\n${text}`;
  return undefined;
}

test.each(['native', 'held to native', 'auto'] as const)(
  '%s: a quoted call runs nothing, and the answer is kept as it is',
  async (mode) => {
    const judge = agentIn(mode);
    expect(await wrongOnes(quotesFor(mode), async (quote) => fault(quote, await judge(quote.text)))).toEqual(
      NONE_WRONG,
    );
  },
);

test('json: a quoted call is talk', async () => {
  const judge = agentIn('json');
  const quotes = quotesFor('json');
  const wrong = await wrongOnes(quotes, async (quote) => {
    const outcome = await judge(quote.text);
    return outcome.executed.length > 0 ? fault(quote, outcome) : undefined;
  });
  expect(wrong.count / quotes.length, wrong.first.join('\n\n')).toBeLessThanOrEqual(TOLERATED);
});

test('lenient: a call in a quotation, a comment, a list or a made-up turn is talk', async () => {
  const wrong = await wrongOnes(TALK, ({ title, text }) => {
    const { calls } = parseReply(text, { tools: TOOLS, textCalls: 'lenient' });
    return calls.some(({ complete }) => complete) ? `${title}\n${text}` : undefined;
  });
  expect(wrong).toEqual(NONE_WRONG);
});

const WHOLE = WRITERS.map((writer) => ({ writer, text: writer.write('wipe', { text: 'old', count: 3 }).text }));
/** A fence inside a fence of the same length ends it: that format is left out. */
const FENCED = WHOLE.filter(({ writer }) => writer.name !== 'deepseek-v3').map(({ writer, text }) => ({
  writer,
  text: `\`\`\`\n${text}\n\`\`\``,
}));
/** Tokens of a template at the very end belong to no answer. */
const END_TOKENS = /(?:\s|<\|[^|]*\|>|<\/s>|<｜[^｜]*｜>)+$/;
const bare = (text: string): string => text.replace(END_TOKENS, '').trim();

/** Formats that are JSON or prose as others write it, too: nobody is asked about these. */
const PLAIN = new Set(['envelope', 'bare-json', 'tool-calls-list', 'named-object', 'pythonic']);

test.each(['native', 'held to native'] as const)(
  '%s: a message that is nothing but a call in text runs nothing',
  async (mode) => {
    const judge = agentIn(mode);
    const wrong = await wrongOnes([...WHOLE, ...FENCED], async ({ writer, text }) => {
      const { executed, answer, asked } = await judge(text);
      if (executed.length > 0) return `${writer.name} ran: ${text}`;
      if (asked > (mode === 'held to native' || PLAIN.has(writer.name) ? 1 : 2))
        return `${writer.name}: asked ${asked} times`;
      // The channels of harmony are no text of the answer.
      if (writer.name === 'harmony' || bare(answer ?? '') === bare(text)) return undefined;
      return `${writer.name} answered: ${answer}`;
    });
    expect(wrong).toEqual(NONE_WRONG);
  },
);

test.each(['auto', 'json'] as const)('%s: a message that is nothing but a call runs it', async (mode) => {
  const judge = agentIn(mode);
  const thought = WHOLE.map(({ writer, text }) => ({ writer, text: `<think>\nI clean up.\n</think>\n\n${text}` }));
  const wrong = await wrongOnes([...WHOLE, ...FENCED, ...thought], async ({ writer, text }) => {
    const { executed } = await judge(text, 'stop');
    const right = [{ tool: 'wipe', args: { text: 'old', count: 3 } }];
    return isDeepStrictEqual(executed, right) ? undefined : `${writer.name}: ${text}`;
  });
  expect(wrong).toEqual(NONE_WRONG);
});

test.each(['native', 'held to native', 'auto'] as const)(
  '%s: a marked call behind prose is not run, and not silent',
  async (mode) => {
    const judge = agentIn(mode);
    const wrong = await wrongOnes(MARKED, async (writer) => {
      const outcome = await judge(`Let me clean up.\n\n${writer.write('wipe', { text: 'old' }).text}`);
      const warned = outcome.warnings.filter(({ code }) => code === 'text-call-not-run');
      const named = warned.every(
        ({ message }) => message.includes('wipe') && message.includes('textCalls') && message.includes(modeName(mode)),
      );
      // A model that has never called natively is asked once; it repeats itself, and that is the answer.
      const right =
        outcome.executed.length === 0 &&
        warned.length > 0 &&
        named &&
        outcome.asked === (mode === 'held to native' ? 1 : 2);
      return right ? undefined : `${writer.name}: ${JSON.stringify(outcome)}`;
    });
    expect(wrong).toEqual(NONE_WRONG);
  },
);

const modeName = (mode: string): string => (mode === 'native' ? 'native' : 'auto');

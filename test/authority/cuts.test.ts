import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { parseReply } from '../../src/parsing/index.ts';
import { agentIn, NONE_WRONG, type Outcome, TOOLS, wrongOnes } from './agents.ts';
import { CUTS, type Cut, UNCLOSED, UNREADABLE } from './cuts.ts';
import { cases } from '../support/soak.ts';

test('there is every beginning of calls in every format', () => {
  expect(CUTS.length).toBeGreaterThanOrEqual(1000);
});

/** Reasons to end with which nothing may be closed; closers of an envelope are when the model had ended by itself. */
const REASONS = ['length', undefined, 'stop'];

function reasonFor({ envelope }: Cut, n: number): string | undefined {
  return REASONS[n % (envelope ? 2 : 3)];
}

/** A cut call ran, or a whole one with other arguments than its own. */
function fault({ title, text, whole, args }: Cut, executed: Outcome['executed']): string | undefined {
  if (executed.length === 0) return undefined;
  if (!whole) return `${title} ran: ${text}`;
  const right = isDeepStrictEqual(executed, [{ tool: 'note_all', args }]);
  return right ? undefined : `${title} ran with ${JSON.stringify(executed)}: ${text}`;
}

test.each([
  ['json', cases(15, 1)],
  ['auto', cases(31, 1)],
] as const)('%s: a call that was cut off does not run', async (mode, every) => {
  const judge = agentIn(mode);
  const cuts = CUTS.filter((_cut, n) => n % every === 0);
  const reasons = new Map(cuts.map((cut, n) => [cut, reasonFor(cut, n)]));
  const wrong = await wrongOnes(cuts, async (cut) => fault(cut, (await judge(cut.text, reasons.get(cut))).executed));
  expect(wrong).toEqual(NONE_WRONG);
});

test('lenient: a call that was cut off is not complete', async () => {
  const wrong = await wrongOnes(CUTS, ({ title, text, whole }) => {
    if (whole) return undefined;
    const { calls } = parseReply(text, { tools: TOOLS, textCalls: 'lenient' });
    return calls.some(({ complete, issues = [] }) => complete && issues.length === 0) ? `${title}: ${text}` : undefined;
  });
  expect(wrong).toEqual(NONE_WRONG);
});

test('json: an envelope whose closers are missing runs when the model had ended and its last value is whole', async () => {
  const judge = agentIn('json');
  const wrong = await wrongOnes(UNCLOSED, async ({ text, args }) => {
    const { executed } = await judge(text, 'stop');
    const right = args === null ? [] : [{ tool: 'note_all', args }];
    return isDeepStrictEqual(executed, right) ? undefined : `${text} ran ${JSON.stringify(executed)}`;
  });
  expect(wrong).toEqual(NONE_WRONG);
});

test.each(['length', undefined])(
  'json: an envelope whose closers are missing does not run when it ended by %s',
  async (reason) => {
    const judge = agentIn('json');
    const wrong = await wrongOnes(UNCLOSED, async ({ text }) =>
      (await judge(text, reason)).executed.length === 0 ? undefined : text,
    );
    expect(wrong).toEqual(NONE_WRONG);
  },
);

test.each(['auto', 'json'] as const)(
  '%s: a call whose arguments cannot be read as they were meant does not run',
  async (mode) => {
    const judge = agentIn(mode);
    for (const reason of REASONS) {
      const wrong = await wrongOnes(UNREADABLE, async (text) =>
        (await judge(text, reason)).executed.length === 0 ? undefined : `${reason}: ${text}`,
      );
      expect(wrong).toEqual(NONE_WRONG);
    }
  },
);

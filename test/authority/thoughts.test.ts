import { expect, test } from 'vitest';
import { parseReply } from '../../src/parsing/index.ts';
import { agentIn, NONE_WRONG, ran, TOOLS, wrongOnes } from './agents.ts';
import { ANSWER, THOUGHTFUL } from './thoughts.ts';
import { cases as sampled } from '../support/soak.ts';

test('there are thoughts and quotes with calls of every format', () => {
  expect(THOUGHTFUL.length).toBeGreaterThanOrEqual(200);
});

test.each([
  ['auto', sampled(5, 1)],
  ['json', sampled(5, 1)],
] as const)('%s: what the model only thought or quoted does not run', async (mode, every) => {
  const judge = agentIn(mode);
  const cases = THOUGHTFUL.filter((_one, n) => n % every === 0);
  const wrong = await wrongOnes(cases, async ({ title, text }) => {
    const names = ran(await judge(text, 'stop'));
    return names.includes('wipe') ? `${title}: ${text}` : undefined;
  });
  expect(wrong).toEqual(NONE_WRONG);
});

test('native: neither what was thought nor what follows runs', async () => {
  const judge = agentIn('native');
  const wrong = await wrongOnes(
    THOUGHTFUL.filter((_one, n) => n % sampled(5, 1) === 0),
    async ({ title, text }) => ((await judge(text, 'stop')).executed.length > 0 ? `${title}: ${text}` : undefined),
  );
  expect(wrong).toEqual(NONE_WRONG);
});

test('lenient: what the model only thought or quoted is no call', async () => {
  const wrong = await wrongOnes(THOUGHTFUL, ({ title, text }) => {
    const { calls } = parseReply(text, { tools: TOOLS, textCalls: 'lenient' });
    return calls.some(({ name, complete }) => name === 'wipe' && complete) ? `${title}: ${text}` : undefined;
  });
  expect(wrong).toEqual(NONE_WRONG);
});

test.each(['auto', 'json'] as const)('%s: the call that follows a closed thought runs', async (mode) => {
  const judge = agentIn(mode);
  const cases = THOUGHTFUL.filter(({ clear, then }) => clear && then === 'call');
  const wrong = await wrongOnes(cases, async ({ title, text }) => {
    const { executed } = await judge(text, 'stop');
    return JSON.stringify(executed) === '[{"tool":"note","args":{"text":"done"}}]' ? undefined : `${title}: ${text}`;
  });
  expect(wrong).toEqual(NONE_WRONG);
});

test.each(['native', 'auto', 'json'] as const)(
  '%s: the answer that follows a closed thought is the answer',
  async (mode) => {
    const judge = agentIn(mode);
    const cases = THOUGHTFUL.filter(({ clear, then }) => clear && then === 'answer');
    const wrong = await wrongOnes(cases, async ({ title, text }) => {
      const { answer } = await judge(text, 'stop');
      return answer === ANSWER ? undefined : `${title}: answered ${answer}\n${text}`;
    });
    expect(wrong).toEqual(NONE_WRONG);
  },
);

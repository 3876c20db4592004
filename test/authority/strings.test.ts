import { expect, test } from 'vitest';
import { isJsonObject, parseReply } from '../../src/parsing/index.ts';
import { agentIn, NONE_WRONG, type Outcome, TOOLS, wrongOnes } from './agents.ts';
import { STUFFED, STUFFED_FAR, type Stuffed } from './strings.ts';
import { cases as sampled } from '../support/soak.ts';

const ALL = [...STUFFED, ...STUFFED_FAR];
const shown = ({ title, text }: Stuffed): string =>
  `${title}: ${text.length > 400 ? `${text.length} characters` : text}`;

test('there is every format in the arguments of every other', () => {
  expect(ALL.length).toBeGreaterThanOrEqual(1000);
});

/** The outer call, once and with its argument as it was written; or nothing, where its end cannot be known. */
function fault(one: Stuffed, executed: Outcome['executed']): string | undefined {
  const [call, ...more] = executed;
  if (executed.some(({ tool }) => tool !== 'note')) return `inner call ran: ${shown(one)}`;
  if (more.length > 0) return `ran twice: ${shown(one)}`;
  if (call === undefined) return one.mayBeRefused ? undefined : `did not run: ${shown(one)}`;
  const right = call.args['text'] === one.args['text'] && Object.keys(call.args).length === 1;
  return right ? undefined : `ran with ${JSON.stringify(call.args).slice(0, 120)}: ${shown(one)}`;
}

test('json: markup in an argument is text: the call runs with it, and what it spells does not', async () => {
  const judge = agentIn('json');
  const cases = [...STUFFED, ...STUFFED_FAR].filter((_one, n) => n % sampled(7, 1) === 0);
  const wrong = await wrongOnes(cases, async (one) => fault(one, (await judge(one.text, 'stop')).executed));
  expect(wrong).toEqual(NONE_WRONG);
});

test('lenient: markup in an argument is text', async () => {
  const wrong = await wrongOnes(ALL, (one) => {
    const { calls } = parseReply(one.text, { tools: TOOLS, textCalls: 'lenient' });
    const whole = calls.filter(({ complete, issues = [] }) => complete && issues.length === 0);
    const executed = whole.map(({ name, args }) => ({ tool: name, args: isJsonObject(args) ? args : {} }));
    // Without schemas a text that is JSON may be read as its value; the agent, which has them, must not.
    const decoded = whole.length === 1 && whole[0]?.name === 'note' && typeof executed[0]?.args['text'] !== 'string';
    return decoded ? undefined : fault(one, executed);
  });
  expect(wrong).toEqual(NONE_WRONG);
});

test('auto: a message that is nothing but such a call runs it, and never what its argument spells', async () => {
  const judge = agentIn('auto');
  const wrong = await wrongOnes(
    STUFFED.filter((_one, n) => n % sampled(7, 1) === sampled(3, 0)),
    async (one) => fault(one, (await judge(one.text, 'stop')).executed),
  );
  expect(wrong).toEqual(NONE_WRONG);
});

test('native: neither call runs', async () => {
  const judge = agentIn('native');
  const wrong = await wrongOnes(
    STUFFED.filter((_one, n) => n % sampled(15, 1) === 0),
    async (one) => ((await judge(one.text, 'stop')).executed.length === 0 ? undefined : shown(one)),
  );
  expect(wrong).toEqual(NONE_WRONG);
});

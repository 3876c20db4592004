import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/json/json.ts';
import type { TextCalls } from '../../src/parsing/reply/reply-source.ts';
import { agentIn, type Mode, MODES, NONE_WRONG, ran, wrongOnes } from './agents.ts';
import { ENVELOPE, MARKED } from './dialects.ts';

const WIPE: JsonObject = { text: 'old' };
const call = (more: JsonObject = {}): string => JSON.stringify({ tool: 'wipe', tool_args: WIPE, ...more });
const ENVELOPES: readonly string[] = [
  call(),
  call({ thought: 'It is old.' }),
  call({ thought: 'It is old.', goal: 'Clean notes.' }),
  ...['arguments', 'args', 'parameters'].map((key) => JSON.stringify({ thought: 't', tool: 'wipe', [key]: WIPE })),
];
const NARRATED = ENVELOPES.flatMap((text) => [
  `Let me clear that.\n${text}`,
  `Let me clear that.\n\n${text}\n\nIt will take a moment.`,
  `Clearing it now!\n\`\`\`json\n${text}\n\`\`\`\nDone!`,
  `\`\`\`json\n${text}\n\`\`\`\nThat clears it.`,
  `I looked at the notes.\nAll of them are old:\n\`\`\`\n${text}\n\`\`\``,
]);

test('json: narration around one envelope does not keep it from running', async () => {
  const judge = agentIn('json');
  const wrong = await wrongOnes(NARRATED, async (text) =>
    isDeepStrictEqual((await judge(text, 'stop')).executed, [{ tool: 'wipe', args: WIPE }]) ? undefined : text,
  );
  expect(wrong).toEqual(NONE_WRONG);
});

test.each(['native', 'held to native', 'auto'] as const)(
  '%s: narration around an envelope is an answer',
  async (mode) => {
    const judge = agentIn(mode);
    const wrong = await wrongOnes(NARRATED, async (text) => {
      const { executed, answer } = await judge(text, 'stop');
      return executed.length === 0 && answer?.trim() === text ? undefined : `answered ${answer}: ${text}`;
    });
    expect(wrong).toEqual(NONE_WRONG);
  },
);

test('json: of an object with fields of its own, narrated, nothing runs', async () => {
  const judge = agentIn('json');
  const texts = [call({ status: 'done' }), call({ example: true }), call({ description: 'Clears notes.' })];
  const wrong = await wrongOnes(texts, async (text) =>
    ran(await judge(`This is what the log holds.\n${text}\nNothing else was found.`)).length === 0 ? undefined : text,
  );
  expect(wrong).toEqual(NONE_WRONG);
});

test('json: a call that the user is asked about is proposed, and does not run', async () => {
  const judge = agentIn('json');
  const writers = [...MARKED, ENVELOPE].filter(({ name }) => name !== 'functionary');
  const wrong = await wrongOnes(writers, async (writer) => {
    const { text } = writer.write('wipe', WIPE);
    const bare = ran(await judge(`I would clear the notes.\n\n${text}\n\nShall I do that?`, 'stop'));
    const fenced = ran(await judge(`I would do this:\n\`\`\`\n${text}\n\`\`\`\n**Is that right?**\n`, 'stop'));
    const told = ran(await judge(`Which ones? The old ones.\n\n${text}\n\nThat clears them.`, 'stop'));
    const asked = ran(await judge(`Should I do this?\n\n${text}\n\nPlease confirm.`, 'stop'));
    return bare.length + fenced.length + asked.length === 0 && told.length === 1 ? undefined : writer.name;
  });
  expect(wrong).toEqual(NONE_WRONG);
});

const PLANS = [{ plan: [{ tool: 'wipe', tool_args: WIPE }] }, { steps: [{ tool: 'wipe' }], plan: [{ tool: 'wipe' }] }];

test.each(['native', 'held to native'] as const)('%s: a plan in text is an answer', async (mode) => {
  const judge = agentIn(mode);
  for (const plan of PLANS) {
    const text = JSON.stringify({ thought: 'I clear all.', ...plan });
    expect(await judge(text, 'stop')).toMatchObject({ executed: [], answer: text });
  }
});

const first = MARKED.filter(({ name }) =>
  ['hermes', 'mistral-new', 'kimi', 'cohere', 'function-tags', 'llama'].includes(name),
);

test('json: the format seen first is the only one of a message', async () => {
  const judge = agentIn('json');
  const pairs = first.flatMap((one) =>
    [...first.filter((other) => other !== one), ENVELOPE].map((other) => [one, other] as const),
  );
  const wrong = await wrongOnes(pairs, async ([one, other]) => {
    const text = `${one.write('note', { text: 'a' }).text}\n${other.write('wipe', WIPE).text}`;
    return ran(await judge(text, 'stop')).includes('wipe') ? `${one.name}, ${other.name}: ${text}` : undefined;
  });
  expect(wrong).toEqual(NONE_WRONG);
});

/** Whether a call alone, and one behind prose, may run. */
const OPTIONS: readonly (readonly [TextCalls, whole: boolean, narrated: boolean])[] = [
  ['never', false, false],
  ['whole-reply', true, false],
  ['lenient', true, true],
];

test.each(MODES.flatMap((mode) => OPTIONS.map(([option, whole, narrated]) => ({ mode, option, whole, narrated }))))(
  '$mode with textCalls $option: a call alone runs: $whole, behind prose: $narrated',
  async ({ mode, option, whole, narrated }: { mode: Mode; option: TextCalls; whole: boolean; narrated: boolean }) => {
    const judge = agentIn(mode, option);
    const wrong = await wrongOnes([...MARKED, ENVELOPE], async (writer) => {
      const { text } = writer.write('wipe', WIPE);
      const alone = ran(await judge(text, 'stop')).length === 1;
      const behind = ran(await judge(`Let me clear that.\n${text}`, 'stop')).length === 1;
      return alone === whole && behind === narrated ? undefined : `${writer.name}: ${alone}, ${behind}`;
    });
    expect(wrong).toEqual(NONE_WRONG);
  },
);

const UNCLEAR = 'Let me clear that.\n<tool_call>{"name": "wipe", "arguments": {"text": "old"}}</tool_call>';

test('a model that is asked what its marked call meant may send the call alone', async () => {
  const once = [{ tool: 'wipe', args: WIPE }];
  const native = { content: '', toolCalls: [{ name: 'wipe', arguments: WIPE }] };
  const alone = UNCLEAR.slice(UNCLEAR.indexOf('<'));
  expect(await agentIn('native')([UNCLEAR, native])).toMatchObject({ executed: once, asked: 2 });
  expect(await agentIn('auto')([UNCLEAR, native])).toMatchObject({ executed: once, asked: 2 });
  expect(await agentIn('auto')([UNCLEAR, alone])).toMatchObject({ executed: once, asked: 2 });
});

test('a model that is asked what its marked call meant may answer instead', async () => {
  for (const mode of ['native', 'auto'] as const) {
    const judge = agentIn(mode);
    expect(await judge([UNCLEAR, 'Nothing is left.'])).toMatchObject({
      executed: [],
      asked: 2,
      answer: 'Nothing is left.',
    });
    expect(await judge(UNCLEAR)).toMatchObject({ executed: [], asked: 2, answer: UNCLEAR });
  }
});

test('auto: a model that called natively in this run is held to it', async () => {
  const native = { content: '', toolCalls: [{ name: 'note', arguments: {} }] };
  const text = '<tool_call>{"name": "wipe", "arguments": {"text": "old"}}</tool_call>';
  const judge = agentIn('auto');
  expect(ran(await judge([native, text]))).toEqual(['note']);
  expect(ran(await judge([text]))).toEqual(['wipe']);
});

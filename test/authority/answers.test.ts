import { expect, test } from 'vitest';
import { agentIn, MODES, NONE_WRONG, wrongOnes } from './agents.ts';

const FENCE = '```';

/** Answers that look like the envelope, like calls, or like thoughts, and are none: the user gets them as they are. */
const TEXTS: readonly string[] = [
  '{"answer":42,"unit":"kg"}',
  '{"answer": "yes", "confidence": 0.9}',
  '{"thought":"a nice idea","score":3}',
  '{"thought": "t", "answer": "hi", "sources": [1, 2]}',
  '{"goal":"2:1","home":"Rovers"}',
  '{"plan":"premium","seats":3}',
  '{"plan":["eat","sleep"],"for":"Sunday"}',
  '{"tool":"hammer","price":12}',
  '{"tool":"","price":12}',
  '{"name":"note","age":36}',
  '{"name": "wipe", "description": "A cloth.", "price": 2}',
  '{"city":"Oslo","temperature":21.50}',
  '{\n    "a" : 1,\n  "b":[1,2 ,3]\n}',
  '{"a":1,"a":2}',
  '[1, 2, 3]',
  '[{"name":"Ada"},{"name":"Bob"}]',
  '{"big": 12345678901234567890, "e": 1e2}',
  `Here is the configuration:\n${FENCE}json\n{"port": 80, "host": "a"}\n${FENCE}\nSave it as config.json.`,
  `The server sent:\n${FENCE}json\n{"answer": 42, "unit": "kg"}\n${FENCE}\nThat is heavy.`,
  `It returns {"answer": 42, "unit": "kg"} for every input.`,
  `${FENCE}json\n{"port": 80}\n${FENCE}`,
  `${FENCE}\n<think>\nhm\n</think>\n${FENCE}\nModels write their thoughts so.`,
  `Their thoughts look so:\n${FENCE}\n<think>\nhm\n</think>\n${FENCE}\nIt is cut out.`,
  'Models put what they think between <think> and </think>, and then they answer.',
  'Close the block with `</think>` and go on with the answer.',
  'The tag </think> ends the thought. What follows is the answer.',
  'Write `<think>` first. Nothing more is needed.',
  'Thought: none. Action: none. That is how it goes.',
  'The function wipe(text="a") removes notes; note() adds one.',
  'Dear all,\n\n> what do you think?\n\nI think so, too.\n\n{signature}',
];

test.each(MODES)('%s: an answer that is no envelope is left as it is', async (mode) => {
  const judge = agentIn(mode);
  const wrong = await wrongOnes(TEXTS, async (text) => {
    const { executed, answer } = await judge(text, 'stop');
    return executed.length === 0 && answer?.trim() === text ? undefined : `answered ${answer}: ${text}`;
  });
  expect(wrong).toEqual(NONE_WRONG);
});

/** Envelopes whose answer is a text, beside a thought or a goal and nothing else. */
const ENVELOPES = [
  '{"thought":"t","answer":"hi"}',
  '{"goal":"g","answer":"hi"}',
  '{"thought":"t","goal":"g","answer":"hi"}',
  '{\n  "thought": "t",\n  "answer": "hi"\n}',
];

test.each(MODES)('%s: a message that is an envelope with an answer gives that answer', async (mode) => {
  const judge = agentIn(mode);
  for (const text of ENVELOPES) expect(await judge(text, 'stop')).toMatchObject({ executed: [], answer: 'hi' });
});

/** What is an answer in the envelope's mode and text elsewhere. */
const ONLY_JSON = [
  ['{"answer":"hi"}', 'hi'],
  ['{"thought":"t","answer":42}', '42'],
  ['{"thought":"t","answer":true}', 'true'],
] as const;

test.each(ONLY_JSON)('json: %s answers %s', async (text, answer) => {
  expect(await agentIn('json')(text, 'stop')).toMatchObject({ executed: [], answer });
});

test.each(['native', 'held to native', 'auto'] as const)(
  '%s: an envelope without thought or goal, or whose answer is no text, is text',
  async (mode) => {
    const judge = agentIn(mode);
    for (const text of [...ONLY_JSON.map(([answer]) => answer), '{"plan":"premium","tool":"none"}'])
      expect(await judge(text, 'stop')).toMatchObject({ executed: [], answer: text });
  },
);

/** Fields that name no call. */
const NO_CALLS = [
  '{"thought":"t","tool":"","answer":"hi"}',
  '{"thought":"t","tool":"none","answer":"hi"}',
  '{"thought":"t","tool":"none","tool_args":{},"answer":"hi"}',
  '{"thought":"t","tool":null,"answer":"hi"}',
  '{"thought":"t","plan":[],"answer":"hi"}',
  '{"thought":"t","plan":null,"answer":"hi"}',
];

test('json: an envelope that names no tool gives its answer', async () => {
  const judge = agentIn('json');
  const wrong = await wrongOnes(NO_CALLS, async (text) => {
    const { executed, answer, asked } = await judge(text, 'stop');
    return executed.length === 0 && answer === 'hi' && asked === 1
      ? undefined
      : `answered ${answer}, ${asked}: ${text}`;
  });
  expect(wrong).toEqual(NONE_WRONG);
});

test('json: a plan that is no list of steps runs nothing', async () => {
  const judge = agentIn('json');
  for (const plan of ['"wipe"', '"first wipe, then note"', '{"tool":"wipe"}', '[]', '["wipe"]', 'true'])
    expect((await judge(`{"thought":"t","plan":${plan}}`, 'stop')).executed).toEqual([]);
});

import { expect, test } from 'vitest';
import { NO_EVENTS, type RunSnapshot, type ShownEvent, foldEvent } from '../../src/store/index.ts';

/** The view after events, which are numbered as a run does: what is streamed has the number before it. */
function shown(...events: readonly object[]): RunSnapshot {
  let seq = 0;
  return events.reduce<typeof NO_EVENTS>((fold, one) => {
    if (!('answer' in one && 'thought' in one) && !('output' in one)) seq += 1;
    const event: ShownEvent = JSON.parse(JSON.stringify({ seq, replayed: false, ...one }));
    return foldEvent(fold, event);
  }, NO_EVENTS).view;
}

const started = (runId: string, task: string) => ({ type: 'run.started', runId, task, maxSteps: 5 });
const begun = [started('r', 'Hello'), { type: 'step.started', step: 1, limit: 5 }];
const token = (answer: string, thought = '', more = true) => ({ type: 'model.token', answer, thought, more });
const usage = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
const replied = (strategy: string, text: string) => ({ type: 'model.replied', strategy, text, usage });
const call = { callId: 'c1', tool: 'look', args: { at: 1 } };

const textsOf = ({ messages }: RunSnapshot): readonly string[] => messages.map(({ text }) => text);

test('a message that is queued becomes the task of its run; the others, and the same words of earlier, stay', () => {
  const queued = ['Hello', 'And tea?'].map((text, at) => ({ type: 'message.received', id: `m${at}`, text }));
  const { messages } = shown(...begun, ...queued, started('next', 'Hello'));
  expect(messages.map(({ text, isWaiting }) => [text, isWaiting])).toEqual([
    ['Hello', false],
    ['And tea?', true],
    ['Hello', false],
  ]);
});

test('what is streamed is appended, thoughts too; nothing of another turn, and no empty message', () => {
  expect(shown(...begun, token('', '')).messages).toHaveLength(1);
  const { messages } = shown(...begun, token('One', 'I '), token(' two', 'count'));
  expect(messages.at(-1)).toMatchObject({ text: 'One two', thought: 'I count', isPartial: true });
  expect(textsOf(shown(...begun, { ...token('Late'), seq: 3 }))).toEqual(['Hello']);
  expect(textsOf(shown(...begun, { ...token('Early'), seq: 1 }))).toEqual(['Hello']);
});

test('a reply shows words beside its calls once, and no text that is a call', () => {
  const thought = { type: 'thought', text: 'I look.' };
  expect(shown(...begun, replied('native', 'I look.'), thought).messages.at(-1)).toMatchObject({
    text: 'I look.',
    thought: '',
  });
  const written = shown(...begun, replied('text', '{"tool":"look"}'), thought).messages.at(-1);
  expect(written).toMatchObject({ text: '', thought: 'I look.' });
});

test('the tokens of a run are those of its replies, and at its end those of its result', () => {
  const two = [...begun, replied('native', 'One.'), replied('native', 'Two.')];
  expect(shown(...two).usage).toEqual({ inputTokens: 6, outputTokens: 8, totalTokens: 14 });
  const result = { status: 'answered', reason: 'answered', result: 'Two.', usage };
  expect(shown(...two, { type: 'run.finished', result })).toMatchObject({ usage, status: 'answered', error: null });
});

test('a draft that is abandoned is taken back, but not the calls that it has begun', () => {
  const draft = [...begun, token('I look', 'hm'), { type: 'output.partial', output: { n: 1 } }];
  expect(shown(...draft)).toMatchObject({ output: { n: 1 } });
  const without = shown(...draft, { type: 'model.retrying' });
  expect([textsOf(without), without.output]).toEqual([['Hello'], null]);
  const { messages } = shown(...draft, { type: 'tool.started', ...call }, { type: 'model.retrying' });
  expect(messages.at(-1)).toMatchObject({ text: '', thought: '', isPartial: false });
  expect(messages.at(-1)?.calls).toEqual([{ ...call, status: 'running' }]);
});

test('a run that ends in the middle of a reply and a call shows how far it came', () => {
  const result = { status: 'cancelled', reason: 'cancelled', result: 'Stopped.', partialAnswer: 'I lo', usage };
  const view = shown(...begun, token('I look'), { type: 'tool.started', ...call }, { type: 'run.finished', result });
  expect(view.messages.at(-1)).toMatchObject({ text: 'I lo', isPartial: false, calls: [{ status: 'stopped' }] });
  expect(view.error).toEqual({ code: 'cancelled', message: 'Stopped.' });
});

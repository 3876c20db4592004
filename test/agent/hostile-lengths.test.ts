import { expect, test } from 'vitest';
import { createAgent } from '../../src/index.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { ModelReply } from '../../src/actors/model.ts';
import type { Json } from '../../src/json/json.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { workedMs } from '../support/steady-time.ts';

const LONG = 80_000;
/** The run takes some 100 ms, and 5 s and more where the time of one step grows with the square of the text. */
const MOST_MS = 2000;

/** What a run of an agent costs whose model says this. */
async function costOf(
  replies: readonly (ModelReply | string)[],
  options: Partial<AgentOptions>,
  outputSchema?: object,
) {
  const made = { model: scriptedModel([...replies]), silent: true, ...options };
  const agent =
    outputSchema === undefined ? createAgent(made) : createAgent({ ...made, outputSchema: { ...outputSchema } });
  const before = workedMs();
  await agent.run('Go on.');
  return workedMs() - before;
}

const long = (piece: string): string => piece.repeat(LONG / piece.length);
const returning = (result: Json) => fakeTool('get', [result]);

test('a result full of what keys begin with holds nothing up', async () => {
  const tools = [returning(long('-eyJ'))];
  expect(await costOf([calls(['get']), 'Done.'], { tools })).toBeLessThan(MOST_MS);
});

test.each([
  ['in a word', 'eyJhbGciOieyJIUzI1NiJ9'],
  ['behind a dash', 'eyJhbGciOi-eyJIUzI1NiJ9abc'],
])('a token in which another begins %s is a secret', async (_name, head) => {
  const agent = createAgent({ model: scriptedModel(['Done.']), silent: true });
  const run = agent.run(`Keep ${head}.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl safe.`);
  await run;
  expect(run.recording()).not.toContain('eyJzdWIiOiIxMjM0In0');
});

test('an image that is no image holds nothing up', async () => {
  const tools = [returning([{ type: 'image', mimeType: 'image/png', data: `${long('=')}x` }])];
  expect(await costOf([calls(['get']), 'Done.'], { tools })).toBeLessThan(MOST_MS);
});

test.each([
  ['white space', `It is${long(' ')}so.`],
  ['backticks', `It is${long('`')}so.`],
])('a typed answer that is looked for in %s holds nothing up', async (_name, reply) => {
  const cost = await costOf([reply, reply, reply], { outputMode: 'prompt' }, { type: 'number' });
  expect(cost).toBeLessThan(MOST_MS);
});

test.each([
  ['white space', ' '],
  ['backticks', '`'],
])('an envelope full of %s that is not closed holds nothing up', async (_name, piece) => {
  const content = `\`\`\`json\n{"tool": "get", "tool_args": {"a": "x${long(piece)}y"}`;
  const options = { tools: [returning('x')], toolCalling: 'json', textCalls: 'lenient' } as const;
  expect(await costOf([{ content, finishReason: 'stop' }, 'Done.'], options)).toBeLessThan(MOST_MS);
});

test('a call that was cut off holds nothing up', async () => {
  const content = `{"tool": "get", "tool_args": {"a": "${long(']')}x`;
  const options = { tools: [returning('x')], toolCalling: 'json', textCalls: 'lenient' } as const;
  expect(await costOf([{ content, finishReason: 'length' }, 'Done.', 'Done.'], options)).toBeLessThan(MOST_MS);
});

import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createAgent, recover, tool } from '../../src/index.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { ModelReply } from '../../src/actors/model.ts';
import type { Json } from '../../src/json/json.ts';
import { consoleOutput } from '../../src/output/console/console-output.ts';
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
const takesPath = tool({ name: 'open', description: 'Opens.', execute: () => 'open' });

test('a result full of what keys begin with holds nothing up', async () => {
  const tools = [returning(long('-eyJ'))];
  expect(await costOf([calls(['get']), 'Done.'], { tools })).toBeLessThan(MOST_MS);
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

test('an envelope that is not closed holds nothing up', async () => {
  const tools = [returning('x')];
  const reply = `\`\`\`json\n{"tool": "get", "tool_args": {"a": "x${long(' ')}y"}`;
  expect(await costOf([reply, 'Done.'], { tools, toolCalling: 'json' })).toBeLessThan(MOST_MS);
});

test('arguments that were cut off hold nothing up', async () => {
  const reply = calls(['get', `{"a": "${long(']')}x`]);
  expect(await costOf([reply, 'Done.'], { tools: [returning('x')] })).toBeLessThan(MOST_MS);
});

test('a path of backslashes alone holds nothing up', async () => {
  const onError = { invalidArgs: [recover.sanitize(recover.normalizePathSeparators)] };
  const reply = calls(['open', { path: `${long('\\')} `, mode: 1 }]);
  const strict = { ...takesPath, validateArgs: () => Promise.reject(new Error('no')) };
  expect(await costOf([reply, 'Done.'], { tools: [strict], onError })).toBeLessThan(MOST_MS);
});

test('an answer in another script is shown without holding anything up', async () => {
  const stream = Object.assign(new Writable({ write: (_text, _encoding, done) => done() }), { columns: 80 });
  expect(await costOf([long('é a ')], { silent: false, output: consoleOutput({ stream }) })).toBeLessThan(MOST_MS);
});

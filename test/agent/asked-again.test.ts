import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type Model, ModelError } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fileJournal, replay } from '../../src/journal/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const DOWN = new ModelError('auth', 'no key');

function asking(replies: readonly ScriptedReply[]) {
  const model = scriptedModel(replies);
  const agent = createAgent({ model, tools: [fakeTool('look')], silent: true });
  /** What the model has got in its last request, without the system prompt. */
  const got = () =>
    model.requests
      .at(-1)
      ?.messages.slice(1)
      .map(({ role, content }) => `${role}: ${String(content)}`);
  return { agent, got };
}

test('an input that is given again, as its run came to no answer, is said once', async () => {
  const { agent, got } = asking(['Hi.', DOWN, DOWN, 'Grey.', 'Well.']);
  await agent.run('Hello');
  await agent.run('Bern?');
  await agent.run('Bern?', { again: true });
  const run = agent.run('Bern?', { again: true });
  await run;
  const said = ['user: Hello', 'assistant: Hi.', 'user: Bern?'];
  expect(got()).toEqual(said);
  expect(agent.history.map(({ content }) => content)).toEqual(['Hello', 'Hi.', 'Bern?', 'Grey.']);
  await agent.run('And now?');
  expect(got()).toEqual([...said, 'assistant: Grey.', 'user: And now?']);
  await expect(replay(run.recording(), agent)).resolves.toMatchObject({ result: 'Grey.' });
});

test('so is one whose reply was stopped, or is to be another: the model does not see what it had said', async () => {
  const replies = scriptedModel(['Two.', 'Three.']);
  let isFirst = true;
  const said = Promise.withResolvers<void>();
  const model: Model = {
    complete: (request, io) => {
      if (!isFirst) return replies.complete(request, io);
      isFirst = false;
      io.onToken?.({ kind: 'text', text: 'One' });
      said.resolve();
      return new Promise(() => undefined);
    },
  };
  const agent = createAgent({ model, streaming: true, silent: true });
  const run = agent.run('Count');
  await said.promise;
  await run.cancel('enough');
  expect((await run).partialAnswer).toBe('One');
  await agent.run('Count', { again: true });
  await agent.run('Count', { again: true });
  for (const { messages } of replies.requests)
    expect(messages.slice(1).map(({ content }) => content)).toEqual(['Count']);
  expect(agent.history.map(({ content }) => content)).toEqual(['Count', 'Three.']);
});

test('what tools did stays, and so does what is not the last input, or is not said to be given again', async () => {
  const used = asking([calls(['look']), DOWN, 'Seen.']);
  await used.agent.run('Look');
  await used.agent.run('Look', { again: true });
  expect(used.got()).toEqual(['user: Look', 'assistant: ', 'tool: {"status":"success","data":null}', 'user: Look']);

  const other = asking([DOWN, DOWN, DOWN, DOWN]);
  await other.agent.run('One');
  await other.agent.run('Two', { again: true });
  await other.agent.run('One', { again: true });
  await other.agent.run('One');
  expect(other.got()?.filter((line) => line.startsWith('user'))).toEqual([
    'user: One',
    'user: Two',
    'user: One',
    'user: One',
  ]);
  expect(() => other.agent.run('One', { again: 1 as never })).toThrow("option 'again' must be true or false");
});

test('an answer that was given by its tool is only said, unless a tool of the agent has that name', async () => {
  const answer = calls(['final_answer', { to: 'seats' }]);
  const model = scriptedModel([
    calls(['final_answer', { by: 7 }]),
    answer,
    answer,
    calls(['look'], ['final_answer', { to: 'x' }]),
    answer,
    'Seen.',
  ]);
  const options = { model, silent: true, outputSchema: z.object({ to: z.string() }) };
  const agent = createAgent({ ...options, tools: [fakeTool('look')] });
  expect((await agent.run('Hello')).output).toEqual({ to: 'seats' });
  await agent.run('Hello', { again: true });
  expect(
    model.requests
      .at(-1)
      ?.messages.slice(1)
      .map(({ content }) => content),
  ).toEqual(['Hello']);
  await agent.run('Look');
  await agent.run('Look', { again: true });
  expect(model.requests.at(-1)?.messages.filter(({ content }) => content === 'Look')).toHaveLength(2);

  const other = createAgent({ model, history: agent.history.slice(0, -3), silent: true }); // knows no tool of that name
  await other.run('Look', { again: true });
  expect(model.requests.at(-1)?.messages.filter(({ content }) => content === 'Look')).toHaveLength(2);

  const own = asking([calls(['final_answer']), DOWN, 'Seen.']);
  own.agent.tools.register(fakeTool('final_answer'));
  await own.agent.run('Look');
  await own.agent.run('Look', { again: true });
  expect(own.got()).toHaveLength(4);
});

test('what a child agent did stays, and is not asked for again', async () => {
  const below = scriptedModel(['Found.', 'Found twice.']);
  const clerk = createAgent({ name: 'clerk', model: below, silent: true });
  const model = scriptedModel([calls(['clerk', { task: 'Look' }]), DOWN, 'Seen.']);
  const agent = createAgent({ model, children: [clerk], silent: true });
  expect((await agent.run('Look')).status).toBe('failed');
  expect((await agent.run('Look', { again: true })).result).toBe('Seen.');
  const roles = model.requests
    .at(-1)
    ?.messages.slice(1)
    .map(({ role }) => role);
  expect(roles).toEqual(['user', 'assistant', 'tool', 'user']);
  expect(below.requests).toHaveLength(1);
});

test('a conversation that another process goes on with says it once, too, with its image', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-again-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const input = [
    { type: 'text', text: 'What is this?' },
    { type: 'image', url: 'data:image/png;base64,AAAA' },
  ] as const;
  const model = scriptedModel(['Hi.', DOWN, 'A dot.'], { takesImages: true });
  const talk = () => createAgent({ model, silent: true, journal: fileJournal(folder) }).conversation('ada');
  await talk().run('Hello');
  await talk().run(input);
  await talk().run(input, { again: true });
  expect(
    model.requests
      .at(-1)
      ?.messages.slice(1)
      .map(({ content }) => content),
  ).toEqual(['Hello', 'Hi.', input]);
  expect((await talk().history).map(({ content }) => content)).toEqual(['Hello', 'Hi.', input, 'A dot.']);
});

import { expect, test } from 'vitest';
import type { Model, ModelReply, Usage } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { consoleOutput } from '../../src/output/console/console-output.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const usage = (inputTokens: number, more: Partial<Usage> = {}): Usage => ({
  inputTokens,
  outputTokens: 1,
  totalTokens: inputTokens + 1,
  ...more,
});

/** A model of this name, or of none, that says so and costs so much. */
function model(id: string | undefined, ...replies: readonly ModelReply[]): Model {
  const script = scriptedModel(replies);
  const complete: Model['complete'] = (request, io) => script.complete(request, io);
  return id === undefined ? { complete } : { complete, id };
}

const handOver = (cost: Usage): ModelReply => ({ ...calls(['reader', { task: 'Read.' }]), usage: cost });
const said = (content: string, cost: Usage, more: Partial<ModelReply> = {}): ModelReply => ({
  content,
  usage: cost,
  ...more,
});

function family(above: Model, below: Model) {
  const reader = createAgent({ name: 'reader', description: 'Reads.', model: below, silent: true });
  return createAgent({ model: above, children: [reader], silent: true });
}

test('tokens are counted by the model that answered, those of the agents below too', async () => {
  const agent = family(
    model('big', handOver(usage(10, { cachedInputTokens: 4 })), said('Done.', usage(20, { cachedInputTokens: 6 }))),
    model('small', said('Read.', usage(5, { reasoningTokens: 1 }))),
  );
  const run = agent.run('Go');
  const result = await run;
  expect(result.usage).toEqual({
    inputTokens: 35,
    outputTokens: 3,
    totalTokens: 38,
    cachedInputTokens: 10,
    reasoningTokens: 1,
    byModel: {
      big: { inputTokens: 30, outputTokens: 2, totalTokens: 32, cachedInputTokens: 10 },
      small: { inputTokens: 5, outputTokens: 1, totalTokens: 6, reasoningTokens: 1 },
    },
  });
  expect((await replay(run.recording(), agent)).usage).toEqual(result.usage);
});

test('a model without an id counts in all, and has no share', async () => {
  const agent = family(
    model('big', handOver(usage(10)), said('Done.', usage(20))),
    model(undefined, said('Read.', usage(5))),
  );
  const { usage: spent } = await agent.run('Go');
  expect(spent).toEqual({
    inputTokens: 35,
    outputTokens: 3,
    totalTokens: 38,
    byModel: { big: { inputTokens: 30, outputTokens: 2, totalTokens: 32 } },
  });
  const unnamed = createAgent({ model: model(undefined, said('Hi.', usage(5))), silent: true });
  expect((await unnamed.run('Go')).usage).toEqual(usage(5));
});

test('a model that asks others says which of them answered, whatever its name', async () => {
  const look = fakeTool('look', ['a cat']);
  const agent = createAgent({
    model: model(
      'router',
      { ...calls(['look']), usage: usage(5), model: '__proto__' },
      said('Hi.', usage(5), { model: 'constructor' }),
    ),
    tools: [look],
    silent: true,
  });
  const { usage: spent } = await agent.run('Go');
  const share = JSON.stringify(usage(5));
  expect(JSON.stringify(spent.byModel)).toBe(`{"__proto__":${share},"constructor":${share}}`);
});

test('a recording from before models were named replays to what it was', async () => {
  const agent = createAgent({ model: model('big', said('Hi.', usage(5))), silent: true });
  const run = agent.run('Go');
  await run;
  const old = run.recording().replaceAll(/,"model":"big"|,"byModel":\{"big":\{[^}]*\}\}/g, '');
  expect(run.recording()).toContain('"model":"big"');
  expect(old).not.toContain('"big"');
  expect((await replay(old, agent)).usage).toEqual(usage(5));
});

test('a reply that failed first is not counted twice', async () => {
  const script = scriptedModel([new Error('busy'), said('Hi.', usage(5))]);
  const agent = createAgent({ model: script, silent: true, retry: { backoff: recover.constant(0) } });
  expect((await agent.run('Go')).usage).toEqual({ ...usage(5), byModel: { scripted: usage(5) } });
});

test('what was read from a cache and spent on reasoning is shown', async () => {
  const lines: string[] = [];
  const output = consoleOutput({ stream: { write: (text) => lines.push(text) > 0 }, color: false, showStats: true });
  const agent = createAgent({
    model: model('big', said('Hi.', usage(50, { cachedInputTokens: 40, reasoningTokens: 0 }))),
    output,
  });
  await agent.run('Go');
  expect(lines.join('')).toContain('50 tokens in (40 cached), 1 out');
  expect(lines.join('')).not.toContain('reasoning');
});

import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { recover } from '../../src/recovery/recover.ts';
import type { OnEscalation } from '../../src/recovery/verdicts.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

/** A tool that fails again and again; what it throws is the reason of its escalation. */
const failing = (name: string, ...reasons: readonly string[]) =>
  fakeTool(
    name,
    reasons.map((reason) => new Error(reason)),
    { onError: { executionError: recover.escalate() } },
  );

/** Two turns that escalate, then an answer; gives how often the other model was asked. */
async function asked(options: {
  readonly first: ReturnType<typeof failing>;
  readonly second: ReturnType<typeof failing>;
  readonly onEscalation: OnEscalation;
}) {
  const { first, second, onEscalation } = options;
  const strong = scriptedModel([calls([second.name]), 'From the strong one.']);
  const agent = createAgent({
    model: scriptedModel([calls([first.name]), 'From the agent.']),
    models: { strong },
    tools: first === second ? [first] : [first, second],
    onEscalation,
    silent: true,
  });
  const { result, status } = await agent.run('Go');
  return { turns: strong.requests.length, result, status };
}

describe('a verdict that was carried out once', () => {
  const again: OnEscalation = (_error, to) => to.retryWithModel('strong');

  test('applies to the same error no more', async () => {
    const same = failing('first', 'busy');
    expect(await asked({ first: same, second: same, onEscalation: again })).toMatchObject({
      turns: 1,
      result: 'From the agent.',
    });
  });

  test('applies to another error of the same tool', async () => {
    const same = failing('first', 'busy', 'broken');
    expect(await asked({ first: same, second: same, onEscalation: again })).toMatchObject({
      turns: 2,
      result: 'From the strong one.',
    });
  });

  test('applies to the same error of another tool', async () => {
    expect(
      await asked({ first: failing('first', 'busy'), second: failing('second', 'busy'), onEscalation: again }),
    ).toMatchObject({ turns: 2, result: 'From the strong one.' });
  });

  test('leaves room for another verdict on the same error', async () => {
    const same = failing('first', 'busy');
    let times = 0;
    const onEscalation: OnEscalation = (_error, to) =>
      times++ === 0 ? to.retryWithModel('strong') : to.partialResult('As far as it went.');
    expect(await asked({ first: same, second: same, onEscalation })).toEqual({
      turns: 1,
      result: 'As far as it went.',
      status: 'stopped',
    });
  });
});

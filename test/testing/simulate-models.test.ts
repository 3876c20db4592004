import { describe, expect, test } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { type AgentOptions, createAgent, tool } from '../../src/index.ts';
import { hostileModel, scriptedModel, simulate } from '../../src/testing/index.ts';

const replies = [{ content: '', toolCalls: [{ name: 'look', arguments: { at: 'x' } }] }, 'Seen.'];

/** An agent whose runs are told apart: how often its tool ran in each. */
function looker() {
  const looks: number[] = [];
  const look = tool({
    name: 'look',
    description: 'Looks.',
    effects: 'none',
    execute: () => {
      looks[looks.length - 1] = (looks.at(-1) ?? 0) + 1;
      return 'seen';
    },
  });
  return {
    agent: (options: AgentOptions) => createAgent({ tools: [look], ...options }),
    begin: () => void looks.push(0),
    looks,
  };
}

describe('a model that is given to a simulation', () => {
  test('begins its script anew with each run', async () => {
    const { agent, begin, looks } = looker();
    const { runs, failures } = await simulate(agent, {
      seeds: [1, 2, 3, 4, 5],
      faults: [],
      model: scriptedModel(replies),
      begin,
      check: ({ result }) => result.result === 'Seen.' || result.result,
    });
    expect({ runs, failures, looks }).toEqual({ runs: 5, failures: [], looks: [1, 1, 1, 1, 1] });
  });

  test('keeps how it calls tools', async () => {
    const { agent, begin, looks } = looker();
    const written = ['{"tool": "look", "tool_args": {"at": "x"}}', '{"answer": "Seen."}'];
    const { failures } = await simulate(agent, {
      seeds: [1, 2],
      faults: [],
      model: scriptedModel(written, { toolCalling: 'json' }),
      begin,
      check: ({ result }) => result.result === 'Seen.' || result.result,
    });
    expect({ failures, looks }).toEqual({ failures: [], looks: [1, 1] });
  });

  test('makes other mistakes in each run, and the same for the same seed', async () => {
    const ended = async (seeds: readonly number[], model?: Model) => {
      const ends: string[] = [];
      const check = ({ recording }: { recording(): string }): void => {
        ends.push(recording().replaceAll(/"(?:at|runId)":\s*"[^"]*"/g, ''));
      };
      const { agent } = looker();
      const { failures } = await simulate(agent, {
        seeds,
        faults: [],
        check,
        ...(model === undefined ? {} : { model }),
      });
      expect(failures).toEqual([]);
      return ends;
    };
    const seeds = [1, 2, 3, 4, 5, 6];
    const ends = await ended(seeds, hostileModel());
    expect(new Set(ends).size).toBeGreaterThan(3);
    expect(await ended(seeds, hostileModel())).toEqual(ends);
    expect(await ended([4], hostileModel())).toEqual([ends[3]]);
    expect(await ended(seeds, hostileModel({ model: scriptedModel(replies), rate: 0 }))).not.toEqual(ends);
  });

  test('distorts what another model says, from the beginning in each run', async () => {
    const { agent, begin, looks } = looker();
    const { failures } = await simulate(agent, {
      seeds: [1, 2, 3],
      faults: [],
      model: hostileModel({ model: scriptedModel(replies), rate: 0 }),
      begin,
      check: ({ result }) => result.result === 'Seen.' || result.result,
    });
    expect({ failures, looks }).toEqual({ failures: [], looks: [1, 1, 1] });
  });

  test('is the same for all runs where it is one of your own', async () => {
    let asked = 0;
    const own: Model = { complete: () => Promise.resolve({ content: `Answer ${(asked += 1)}.` }) };
    const answers: string[] = [];
    const check = ({ result }: { readonly result: { readonly result: string } }): void =>
      void answers.push(result.result);
    await simulate(looker().agent, { seeds: [1, 2], faults: [], model: own, check });
    expect(asked).toBeGreaterThanOrEqual(2);
    expect(new Set(answers).size).toBe(2);
  });

  test.each<[string, unknown]>([
    ['a number', 7],
    ['an object', { reply: 'Done.' }],
    ['null', null],
  ])('is refused where it is %s', async (said, model) => {
    const given: object = { model };
    await expect(simulate(looker().agent, given)).rejects.toThrow(
      `simulate: option 'model' must be a list of replies, a recording as text, a model, or a function that makes a model for a seed, and is ${said}.`,
    );
  });
});

test('a hostile model needs no options', async () => {
  const { agent } = looker();
  const said = async () => {
    const model = hostileModel();
    const { states } = await agent({ model, silent: true }).run('Look');
    return { states, made: model.mistakesMade };
  };
  expect(await said()).toEqual(await said());
});

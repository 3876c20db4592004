import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';

const NUDGE = /same call several times/;
const look = (n: number) => calls(['look', { n }]);

async function play(replies: readonly ScriptedReply[], options: AgentOptions = {}) {
  const tools = {
    look: fakeTool('look', [{ tea: 3 }]),
    broken: fakeTool('broken', [new Error('offline')]),
    flaky: fakeTool('flaky', [
      ({ n }) => {
        throw new Error(`error ${String(n)}`);
      },
    ]),
    poll: fakeTool('poll', ['still working'], { polling: true }),
    files_read: fakeTool('files_read'),
  };
  const model = scriptedModel([...replies, 'Done.']);
  const run = createAgent({ model, tools: Object.values(tools), maxSteps: 50, silent: true, ...options }).run('Go');
  const suspected: string[] = [];
  for await (const event of run) if (event.type === 'loop.suspected') suspected.push(event.verdict);
  const result = await run;
  const results = result.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
  return { result, tools, suspected, nudges: results.filter((text) => NUDGE.test(text)).length, results, model };
}

const LOOP = {
  status: 'stopped',
  reason: 'loop',
  success: false,
  result: 'Task stopped due to repeated tool call loop.',
};

describe('the identical call again and again', () => {
  test('is nudged in an error, too, and beside what the tool itself instructs', async () => {
    const failing = calls(['broken']);
    expect((await play([failing, failing, failing])).results).toEqual([
      expect.not.stringMatching(NUDGE),
      expect.not.stringMatching(NUDGE),
      expect.stringMatching(NUDGE),
    ]);
    const telling = fakeTool('telling', [{ status: 'success', instruction: 'Tell the user.' }]);
    const again = calls(['telling']);
    const { results } = await play([again, again, again], { tools: [telling] });
    expect(results.at(-1)).toMatch(/Tell the user\. You have made this same call several times/);
  });

  test('three executions, the third with a nudge, four steps', async () => {
    const { result, tools, nudges, results, suspected } = await play([look(1), look(1), look(1), look(1)]);
    expect(result).toMatchObject({ ...LOOP, stepsTaken: 4 });
    expect(tools.look.calls).toHaveLength(3);
    expect(nudges).toBe(1);
    expect(results[2]).toMatch(NUDGE);
    expect(suspected).toEqual(['nudge', 'refuse']);
    expect(results).toHaveLength(4);
  });

  test.each([2, 3, 6])('is refused at maxConsecutiveRepeats %i', async (limit) => {
    const { result, tools } = await play(
      Array.from({ length: limit }, () => look(1)),
      { maxConsecutiveRepeats: limit },
    );
    expect(result).toMatchObject({ ...LOOP, stepsTaken: limit });
    expect(tools.look.calls).toHaveLength(limit - 1);
  });

  test('counts whatever the order of the keys, 1 or 1.0, and however the name is written', async () => {
    const replies = [
      calls(['files_read', '{"a": 1, "b": {"x": 1, "y": 2}}']),
      calls(['files_read', '{"b": {"y": 2, "x": 1}, "a": 1.0}']),
      calls(['FILES_READ', '{"a":1,"b":{"x":1.0,"y":2}}']),
      calls(['read', '{"a": 1e0, "b": {"x": 1, "y": 2}}']),
    ];
    expect((await play(replies)).result).toMatchObject(LOOP);
  });

  test('in one turn ends the run at the fourth, which is the last that is told of', async () => {
    const same = ['look', { n: 1 }] as const;
    const { result, tools, suspected } = await play([calls(same, same, same, same, same, same)]);
    expect(result).toMatchObject(LOOP);
    expect(tools.look.calls).toHaveLength(3);
    expect(suspected).toEqual(['nudge', 'refuse']);
  });

  test('ends the run by its budget where that is used up first', async () => {
    const same = ['look', { n: 1 }] as const;
    const { result, tools } = await play([calls(same, same, same, same)], { budget: { maxToolCalls: 2 } });
    expect(result).toMatchObject({ status: 'stopped', reason: 'budget' });
    expect(tools.look.calls).toHaveLength(2);
  });

  test('with other arguments is no repetition', async () => {
    const { result, suspected } = await play([1, 2, 3, 4, 5, 6].map(look));
    expect(result.status).toBe('answered');
    expect(suspected).toEqual([]);
  });

  test('with another call between is not consecutive, until it is a cycle', async () => {
    const { result } = await play([look(1), look(1), look(2), look(1), look(1), look(3), look(1), look(1)]);
    expect(result.status).toBe('answered');
  });

  test('four in one batch: three run, the fourth ends the run; each id has its result', async () => {
    const same = ['look', { n: 1 }] as const;
    const { result, tools, nudges, results } = await play([calls(same, same, same, same, ['look', { n: 2 }])]);
    expect(result).toMatchObject({ ...LOOP, stepsTaken: 1 });
    expect(tools.look.calls).toEqual([{ n: 1 }, { n: 1 }, { n: 1 }]);
    expect(nudges).toBe(1);
    expect(results).toHaveLength(5);
  });

  test('of a tool that does not exist counts too', async () => {
    const { result } = await play(Array.from({ length: 4 }, () => calls(['nothing', {}])));
    expect(result).toMatchObject(LOOP);
  });

  test('whose arguments cannot be read counts by their text', async () => {
    const { result } = await play(Array.from({ length: 4 }, () => calls(['look', '{"n": '])));
    expect(result).toMatchObject(LOOP);
  });

  test('as steps of plans counts too', async () => {
    const { result, tools } = await play([
      plan(['look', { n: 1 }], ['look', { n: 1 }]),
      plan(['look', { n: 1 }], ['look', { n: 1 }]),
    ]);
    expect(result).toMatchObject(LOOP);
    expect(tools.look.calls).toHaveLength(3);
  });

  test('of a tool that polls is let through', async () => {
    const { result, suspected } = await play(Array.from({ length: 10 }, () => calls(['poll'])));
    expect(result.status).toBe('answered');
    expect(suspected).toEqual([]);
  });

  test('begins anew with the next run', async () => {
    const model = scriptedModel([look(1), look(1), 'Done.', look(1), look(1), 'Done.']);
    const agent = createAgent({ model, tools: [fakeTool('look')], silent: true });
    await agent.run('Go');
    expect(await agent.run('Go')).toMatchObject({ status: 'answered' });
  });
});

describe('a cycle', () => {
  test.each([2, 3])('of %i calls is nudged in its third round and refused in its fourth', async (period) => {
    const replies = Array.from({ length: period * 4 }, (_, index) => look(index % period));
    const { result, tools, nudges, suspected } = await play(replies);
    expect(result).toMatchObject(LOOP);
    expect(tools.look.calls).toHaveLength(period * 3);
    expect(nudges).toBe(1);
    expect(suspected).toEqual(['nudge', 'refuse']);
  });

  test('of four calls is not one', async () => {
    const { result } = await play(Array.from({ length: 20 }, (_, index) => look(index % 4)));
    expect(result.status).toBe('answered');
  });

  test('that is broken in its third round is no loop', async () => {
    const { result } = await play([0, 1, 0, 1, 0, 2, 0, 1, 0, 1, 0].map(look));
    expect(result.status).toBe('answered');
  });
});

describe('a call that fails the same way again and again', () => {
  const broken = calls(['broken', { a: 1 }]);

  test('counts whatever is called in between', async () => {
    const { result, tools } = await play([broken, look(1), broken, look(2), broken, look(3), broken, look(4)]);
    expect(result).toMatchObject(LOOP);
    expect(tools.broken.calls).toHaveLength(3);
  });

  test('with another error each time does not', async () => {
    let count = 0;
    const flaky = fakeTool('odd', [
      () => {
        throw new Error(`error ${count++}`);
      },
    ]);
    const replies = [1, 2, 3, 4, 5].flatMap((n) => [calls(['odd', { a: 1 }]), look(n)]);
    expect((await play(replies, { tools: [flaky, fakeTool('look')] })).result.status).toBe('answered');
  });

  test('is forgotten once it has worked, whatever is called in between', async () => {
    let times = 0;
    const shaky = fakeTool('shaky', [
      () => {
        times += 1;
        if (times !== 2) throw new Error('offline');
        return 'fine';
      },
    ]);
    const turns = [1, 2, 3].flatMap((n) => [calls(['shaky']), look(n), look(n + 10)]);
    const { result, suspected } = await play([...turns, calls(['shaky'])], {
      tools: [shaky, fakeTool('look', [{ tea: 3 }])],
    });
    expect([result.status, suspected, shaky.calls.length]).toEqual(['answered', [], 4]);
  });

  test('with other arguments each time does not', async () => {
    const replies = [1, 2, 3, 4, 5].map((n) => calls(['flaky', { n }]));
    expect((await play(replies)).result.status).toBe('answered');
  });
});

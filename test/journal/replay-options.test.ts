import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { ReplayDivergenceError } from '../../src/journal/replay/divergence.ts';
import { fork } from '../../src/journal/replay/fork.ts';
import { type ReplayOptions, replay } from '../../src/journal/replay/replay.ts';
import type { AgentState } from '../../src/machines/contract/run-result.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

const never = scriptedModel([]);
const look = fakeTool('look', [{ seen: 'a cat' }], { description: 'Looks around.' });

const OPTIONS: AgentOptions = { instructions: 'You are careful.\nYou look first.', tools: [look], silent: true };

async function recorded(options: AgentOptions = OPTIONS): Promise<string> {
  const model = scriptedModel([calls(['look', { where: 'left' }]), calls(['look', { where: 'right' }]), 'A cat.']);
  const run = createAgent({ ...options, model }).run('What is here?');
  await run;
  return run.recording();
}

async function divergenceOf(recording: string, options: AgentOptions, how?: ReplayOptions) {
  const error: unknown = await replay(recording, createAgent({ model: never, ...options }), how).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ReplayDivergenceError)) throw new Error(`no divergence: ${String(error)}`);
  return error;
}

describe('the report of a divergence', () => {
  test('shows the edited line of a prompt, and that it was the prompt', async () => {
    const error = await divergenceOf(await recorded(), {
      ...OPTIONS,
      instructions: 'You are careful.\nYou ask first.',
    });
    expect(error).toMatchObject({ entry: 2, state: 'PLANNING', cause: 'prompt-edited' });
    expect(error.diff).toBe('/messages/0/content\n  - You look first.\n  + You ask first.');
    expect(error.message).toContain('    /messages/0/content\n      - You look first.\n      + You ask first.');
  });

  test.each([
    ['an edited tool', 'tool-edited', [fakeTool('look', [1], { description: 'Stares.' })], '/tools/0/description'],
    ['a tool that was added', 'toolset-changed', [look, fakeTool('smell')], '/tools/1'],
    ['a tool that was removed', 'toolset-changed', [], '/tools'],
  ] as const)('names %s', async (_what, cause, tools, place) => {
    const error = await divergenceOf(await recorded(), { ...OPTIONS, tools });
    expect(error.cause).toBe(cause);
    expect(error.diff.split('\n')[0]).toBe(place);
  });

  test('names the tools in json mode too, where they stand in the prompt', async () => {
    const model = { toolCalling: 'json' } as const;
    const json = async (): Promise<string> => {
      const run = createAgent({ ...OPTIONS, model: scriptedModel(['{"answer": "A cat."}'], model) }).run(
        'What is here?',
      );
      await run;
      return run.recording();
    };
    const tools = [fakeTool('look', [1], { description: 'Stares.' })];
    expect((await divergenceOf(await json(), { ...OPTIONS, tools })).cause).toBe('tool-edited');
  });

  test('names machines of another version', async () => {
    const other = (await recorded())
      .replace(/"hash":"[^"]+"/, '"hash":"another"')
      .replace('"name":"callTool"', '"name":"x"');
    expect((await divergenceOf(other, OPTIONS)).cause).toBe('code-changed');
  });

  test('names a prompt that code makes now, or made then', async () => {
    const byCode = { ...OPTIONS, instructions: () => 'You are careful.' };
    const made = createAgent({ ...byCode, model: scriptedModel(['A cat.']) }).run('What is here?');
    await made;
    expect((await divergenceOf(made.recording(), OPTIONS)).cause).toBe('prompt-edited');
    expect((await divergenceOf(await recorded(), byCode)).cause).toBe('prompt-edited');
  });

  test('says of two texts that look the same that they are written otherwise', async () => {
    const [composed, apart] = ['Caf\u00e9', 'Cafe\u0301'];
    const differs = async (now: string) =>
      (await divergenceOf(await recorded({ ...OPTIONS, instructions: composed }), { ...OPTIONS, instructions: now }))
        .difference;
    expect(await differs(apart)).toBe(
      `/messages/0/content: "${composed}" → "${apart}" (the same in other code points)`,
    );
    expect(await differs('Cafe')).toBe(`/messages/0/content: "${composed}" → "Cafe"`);
  });

  test('names an interrupted recording', async () => {
    const lines = (await recorded()).split('\n');
    expect((await divergenceOf(lines.slice(0, 3).join('\n'), OPTIONS)).cause).toBe('recording-cut');
  });

  test('stays readable when much differs', async () => {
    const many = Array.from({ length: 40 }, (_, n) => fakeTool(`tool_${n}`));
    const error = await divergenceOf(await recorded(), { ...OPTIONS, tools: many });
    expect(error.diff.split('\n').length).toBeLessThan(100);
    expect(error.diff).toMatch(/… and \d+ more$/);
  });
});

describe('allow', () => {
  const edited = { ...OPTIONS, instructions: 'You are bold.' };
  const otherTools = { ...OPTIONS, tools: [fakeTool('look', [1], { description: 'Stares.' })] };

  test.each([
    ['prompt', edited],
    ['tools', otherTools],
  ] as const)('%s: such an edit is meant, and the recording plays to its end', async (what, options) => {
    const agent = createAgent({ ...options, model: never });
    expect((await replay(await recorded(), agent, { allow: [what] })).result).toBe('A cat.');
  });

  test.each([
    ['tools', edited, 'prompt-edited'],
    ['prompt', otherTools, 'tool-edited'],
  ] as const)('%s: allows nothing else', async (what, options, cause) => {
    expect((await divergenceOf(await recorded(), options, { allow: [what] })).cause).toBe(cause);
  });

  test("tools: an agent below may have other tools, and not another prompt, nor may the agent's own prompt differ", async () => {
    const child = (instructions: string, description = 'Looks around.') =>
      createAgent({
        name: 'scout',
        description: 'Scouts.',
        instructions,
        tools: [fakeTool('look', ['a cat'], { description })],
        silent: true,
        model: scriptedModel([calls(['look']), 'A cat.'], { toolCalling: 'json' }),
      });
    const parent = (scout: ReturnType<typeof child>, instructions = 'You lead.') =>
      createAgent({
        instructions,
        children: [scout],
        silent: true,
        model: scriptedModel([calls(['scout', { task: 'Look' }]), 'It is a cat.']),
      });
    const run = parent(child('You scout.')).run('What is here?');
    await run;
    const allow = { allow: ['tools'] } as const;
    const replayed = (agent: ReturnType<typeof parent>, how?: ReplayOptions) => replay(run.recording(), agent, how);
    await expect(replayed(parent(child('You scout.', 'Stares.')))).rejects.toMatchObject({ cause: 'tool-edited' });
    expect((await replayed(parent(child('You scout.', 'Stares.')), allow)).result).toBe('It is a cat.');
    expect((await replayed(parent(child('You hide.')), { allow: ['prompt'] })).result).toBe('It is a cat.');
    for (const agent of [parent(child('You hide.')), parent(child('You scout.'), 'You follow.')])
      await expect(replayed(agent, allow)).rejects.toMatchObject({ cause: 'prompt-edited' });
  });

  test('a word that nothing can be allowed by is refused: the test would fail with a divergence that is meant', async () => {
    const slip = { allow: ['promt'] };
    expect(() => Reflect.apply(replay, null, ['', createAgent({ model: never }), slip])).toThrow(
      "replay: option 'allow' is 'promt', and must be one of: prompt, tools.",
    );
  });
});

test('what is no agent is refused, such as a function or a promise that gives one', async () => {
  const recording = await recorded();
  const agent = createAgent({ ...OPTIONS, model: never });
  for (const wrong of [undefined, null, () => agent, Promise.resolve(agent), {}])
    for (const [of, name] of [[replay, 'replay'] as const, [fork, 'fork'] as const])
      expect(() => Reflect.apply(of, null, [recording, wrong, { at: 1 }].slice(0, name === 'fork' ? 3 : 2))).toThrow(
        expect.objectContaining({
          code: 'wrong-option',
          message: expect.stringMatching(`^${name}: the second argument`),
        }),
      );
});

describe('until and then', () => {
  test('a model answers behind the recorded part, and local tools run live', async () => {
    const live = fakeTool('look', [{ seen: 'a dog' }], { description: 'Looks around.' });
    const fixed = scriptedModel([calls(['look', { where: 'up' }]), 'A dog, then.']);
    const agent = createAgent({ ...OPTIONS, tools: [live], model: never });
    const run = replay(await recorded(), agent, { until: 5, then: fixed });
    const seen: string[] = [];
    for await (const event of run) if (event.type === 'tool.finished') seen.push(`${event.replayed}`);
    expect(await run).toMatchObject({ result: 'A dog, then.', reason: 'answer' });
    expect(seen).toEqual(['true', 'false']);
    expect(JSON.stringify(fixed.requests[0]?.messages)).toContain('a cat');
    expect(live.calls).toEqual([{ where: 'up' }]);
  });

  test.each([
    ['a state', 'DIRECT_EXECUTION'],
    ['a function', ({ state }: { state: string }) => state === 'DIRECT_EXECUTION.RUNNING_CALLS'],
    ['a number', 3],
  ] as const)('ends at %s', async (_what, until) => {
    const live = fakeTool('look', [{ seen: 'a dog' }], { description: 'Looks around.' });
    const fixed = scriptedModel(['A dog.']);
    const agent = createAgent({ ...OPTIONS, tools: [live], model: never });
    expect((await replay(await recorded(), agent, { until, then: fixed })).result).toBe('A dog.');
    expect(live.calls).toEqual([{ where: 'left' }]);
  });

  test('what was in flight keeps its recorded outcome', async () => {
    const tools = ['slow', 'fast'].map((name) =>
      fakeTool(name, [() => new Promise((resolve) => setTimeout(resolve, name === 'slow' ? 20 : 1, name))]),
    );
    const run = createAgent({ tools, silent: true, model: scriptedModel([calls(['slow'], ['fast']), 'Both.']) }).run(
      'Go',
    );
    await run;
    const recording = run.recording();
    const fastIsDone = recording.split('\n').findIndex((line) => line.includes('"data":"fast"')) + 1;
    const live = [fakeTool('slow', ['never']), fakeTool('fast', ['never'])];
    const then = scriptedModel(['Also both.']);
    const agent = createAgent({ tools: live, silent: true, model: never });
    expect((await replay(recording, agent, { until: fastIsDone, then })).result).toBe('Also both.');
    expect(live.flatMap((one) => one.calls)).toEqual([]);
    expect(JSON.stringify(then.requests[0]?.messages)).toContain('slow');
  });

  test('an interrupted recording goes on where it stops', async () => {
    const cut = (await recorded()).split('\n').slice(0, 5).join('\n');
    const agent = createAgent({ ...OPTIONS, model: never });
    const run = replay(cut, agent, { then: scriptedModel(['Enough.']) });
    expect((await run).result).toBe('Enough.');
    expect(await replay(run.recording(), agent)).toMatchObject({ result: 'Enough.' });
  });

  test('tools that run live get the context', async () => {
    const seen: unknown[] = [];
    const live = tool({
      name: 'look',
      description: 'Looks around.',
      execute: (_args, { context }) => (seen.push(context), 'a dog'),
    });
    const agent = createAgent({ ...OPTIONS, tools: [live], model: never });
    const how = { allow: ['tools'], until: 3, then: scriptedModel(['A dog.', 'A dog.']) } as const;
    await replay(await recorded(), agent, { ...how, context: { userId: 17 } });
    await replay(await recorded(), agent, how);
    expect(seen).toEqual([{ userId: 17 }, undefined]);
  });

  test('a state that no agent has is refused: it would never come, and the whole recording would be played', async () => {
    const recording = await recorded();
    const slip = { until: 'DIRECT_EXECUTON' as AgentState, then: scriptedModel(['Live.']) };
    const message = expect.stringMatching(/'until' is 'DIRECT_EXECUTON', and must be one of: PLANNING, EXECUTING_PLAN/);
    const playing = async () => replay(recording, createAgent(OPTIONS), slip);
    await expect(playing()).rejects.toMatchObject({ code: 'wrong-option', message });
    expect(slip.then.requests).toEqual([]);
  });

  test.each<readonly [what: string, until: ReplayOptions['until'], lines: number]>([
    ['a state', 'ERROR_RECOVERY', 99],
    ['a function', () => false, 99],
    ['a state, in a recording that was cut', 'ERROR_RECOVERY', 5],
  ])('%s that is never reached fails the test, whose model would not be asked', async (_what, until, lines) => {
    const then = scriptedModel(['Live.']);
    const recording = (await recorded()).split('\n').slice(0, lines).join('\n');
    await expect(replay(recording, createAgent({ ...OPTIONS, model: never }), { until, then })).rejects.toMatchObject({
      code: 'wrong-option',
      message: expect.stringMatching(/nothing in the recording reaches what option 'until' names/),
    });
    expect(then.requests).toEqual([]);
  });

  test.each<readonly [what: string, until: ReplayOptions['until']]>([
    ['the end', 'COMPLETION'],
    ['the record of the last reply', ({ entry }) => entry === 11],
  ])('%s is reached, and nothing is left to run live', async (_what, until) => {
    const then = scriptedModel([]);
    const replayed = replay(await recorded(), createAgent({ ...OPTIONS, model: never }), { until, then });
    expect((await replayed).result).toBe('A cat.');
  });

  test.each([[null], [true], [['DIRECT_EXECUTION']]])('until as %j is refused', async (until) => {
    const how = { until, then: never };
    expect(() => Reflect.apply(replay, null, ['', createAgent({ model: never }), how])).toThrow(/'until' is '.*one of/);
  });

  test('a divergence is told before an end that is never reached', async () => {
    const other = { ...OPTIONS, instructions: 'You are bold.' };
    const how = { until: 'ERROR_RECOVERY', then: never } as const;
    expect((await divergenceOf(await recorded(), other, how)).cause).toBe('prompt-edited');
    const noEnd = (await recorded()).replace('"reason":"answer"', '"reason":"loop"');
    expect((await divergenceOf(noEnd, OPTIONS, how)).expected).toBe('the recorded result');
  });

  test('until without then is refused', () => {
    expect(() => replay('', createAgent({ model: never }), { until: 3 })).toThrow(/'until' needs 'then'/);
  });

  test('then is not asked while the recording lasts', async () => {
    const then = scriptedModel([]);
    expect((await replay(await recorded(), createAgent({ ...OPTIONS, model: never }), { then })).result).toBe('A cat.');
  });
});

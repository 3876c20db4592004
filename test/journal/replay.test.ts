import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { ReplayDivergenceError } from '../../src/journal/replay/divergence.ts';
import { replay, transitions } from '../../src/journal/replay/replay.ts';
import { ModelError } from '../../src/actors/model.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls, plan } from '../support/replies.ts';

const never = scriptedModel([]);

/** A run with everything in it: a retry with a backoff, parallel calls, a failure, a plan, code in the check. */
function eventful(more: AgentOptions = {}) {
  const executed: unknown[] = [];
  const weather = tool({
    name: 'get_weather',
    description: 'Current weather.',
    inputSchema: z.object({ city: z.string().describe('City name') }),
    execute: async ({ city }) => {
      executed.push(city);
      await new Promise((resolve) => setTimeout(resolve, city === 'Austin' ? 15 : 1));
      return { city, celsius: 21 };
    },
  });
  const replies = [
    new ModelError('server-error', 'try again', { status: 503 }),
    calls(['get_weather', { city: 'Austin' }], ['get_weather', { city: 'Oslo' }]),
    calls(['broken']),
    plan(['get_weather', { city: 'Rome' }], ['get_weather', { city: '$PREV.city' }]),
    'Warm everywhere.',
  ];
  const options: AgentOptions = {
    name: 'traveller',
    instructions: 'You know the weather.',
    tools: [weather, fakeTool('broken', [new Error('offline')])],
    silent: true,
    retry: { backoff: recover.constant(5) },
    ...more,
  };
  return { options, model: scriptedModel(replies), executed };
}

async function recorded() {
  const { options, model, executed } = eventful();
  const run = createAgent({ ...options, model }).run('How warm is it?');
  const result = await run;
  return { options, recording: run.recording(), moves: run.transitions(), result, executed: executed.length };
}

describe('replay', () => {
  test('yields the identical transitions and result, calls nothing and waits for nothing', async () => {
    const { recording, moves, result } = await recorded();
    const { options, executed } = eventful({ retry: { backoff: recover.constant(5) } });
    const again = replay(recording, createAgent({ ...options, model: never }));
    const replayed = await again;
    expect(again.transitions()).toEqual(moves);
    expect({ ...replayed, durationMs: 0 }).toEqual({ ...result, durationMs: 0 });
    expect(executed).toEqual([]);
    expect(never.requests).toEqual([]);
  });

  test('gives the same events, marked as replayed, with the same numbers', async () => {
    const { options, model } = eventful();
    const run = createAgent({ ...options, model }).run('How warm is it?');
    const live: string[] = [];
    for await (const event of run) live.push(`${event.seq} ${event.type}`);
    const again = replay(run.recording(), createAgent({ ...options, model: never }));
    const replayed: string[] = [];
    for await (const event of again) {
      expect(event.replayed).toBe(true);
      replayed.push(`${event.seq} ${event.type}`);
    }
    expect(replayed).toEqual(live);
  });

  test('does not occupy the agent, touch its history or print', async () => {
    const { recording, options } = await recorded();
    const shown: string[] = [];
    const agent = createAgent({
      ...options,
      model: scriptedModel(['Hi.']),
      output: { finalAnswer: (text) => void shown.push(text) },
    });
    const [again, live] = [replay(recording, agent), agent.run('Hello')];
    await Promise.all([again, live]);
    expect(agent.history.map(({ content }) => content)).toEqual(['Hello', 'Hi.']);
    expect(shown).toEqual(['Hi.']);
  });

  test('plays a recording of a recording: replayed runs record the same lines', async () => {
    const { recording, options } = await recorded();
    const again = replay(recording, createAgent({ ...options, model: never }));
    await again;
    const withoutTimes = (text: string) => text.replaceAll(/"at":\d+/g, '"at":0');
    expect(withoutTimes(again.recording())).toBe(withoutTimes(recording));
  });

  test('names a property that is called as a member of all objects is, where it was added or removed', async () => {
    const buying = (properties: JsonObject) => {
      const buy = tool({
        name: 'buy',
        description: 'Buys.',
        inputSchema: { type: 'object', properties },
        execute: () => 1,
      });
      return createAgent({ model: scriptedModel(['Done.']), tools: [buy], silent: true });
    };
    const [team, none] = [buying({ constructor: { type: 'string' } }), buying({})];
    for (const [before, after] of [[team, none] as const, [none, team] as const]) {
      const run = before.run('Go.');
      await run;
      await expect(replay(run.recording(), after)).rejects.toThrow('/tools/0/inputSchema/properties/constructor: ');
    }
  });

  test.each([
    [
      'the instructions',
      { instructions: 'You know nothing.' },
      /\/messages\/0\/content.*know the weather.*know nothing/s,
    ],
    ['a tool', { tools: [fakeTool('get_weather')] }, /\/tools\/0/],
  ])('fails with ReplayDivergenceError when %s changed', async (_what, change, difference) => {
    const { recording, options } = await recorded();
    const again = replay(recording, createAgent({ ...options, ...change, model: never }));
    const error = await again.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ReplayDivergenceError);
    expect(error).toMatchObject({ code: 'replay-divergence', entry: 2, state: 'PLANNING' });
    expect(String(error)).toMatch(difference);
    await expect(async () => {
      for await (const _event of again);
    }).rejects.toBe(error);
  });

  test('says so when the recording ends before its run did', async () => {
    const { recording, options } = await recorded();
    const cut = recording.split('\n').slice(0, 4).join('\n');
    await expect(replay(cut, createAgent({ ...options, model: never }))).rejects.toThrow(
      /ends here, before its run did/,
    );
  });

  test('takes lines, parsed records and a torn last line; refuses a newer format and a damaged middle', async () => {
    const { recording, options, moves } = await recorded();
    const lines = recording.trim().split('\n');
    const agent = createAgent({ ...options, model: never });
    for (const form of [lines, lines.map((line): object => JSON.parse(line)), `${recording}{"t":"sta`]) {
      const again = replay(form, agent);
      await again;
      expect(again.transitions()).toEqual(moves);
    }
    expect(() => replay(recording.replace('"format":1', '"format":2'), agent)).toThrow(/format 2.*Update signalbox/);
    expect(() => replay(lines.with(2, '{"t":"outc').join('\n'), agent)).toThrow(/Line 3 of the recording is not JSON/);
  });

  test('transitions(recording) needs no agent', async () => {
    const { recording, moves } = await recorded();
    expect(transitions(recording)).toEqual(moves);
  });
});

describe('a recording', () => {
  test('is JSON lines: run, starts, outcomes, timers and the end', async () => {
    const { recording } = await recorded();
    const records = recording
      .trim()
      .split('\n')
      .map((line): { t: string; id?: string; ms?: number } => JSON.parse(line));
    expect(
      records
        .map(({ t }) => t)
        .filter((kind, index, all) => kind !== all[index - 1])
        .slice(0, 5),
    ).toEqual(['run', 'start', 'outcome', 'start', 'timer']);
    expect(records.at(-1)?.t).toBe('end');
    expect(records.find(({ ms }) => ms !== undefined)).toMatchObject({ t: 'start', id: 'timer#1', ms: 5 });
  });

  test('grows with what is new in a turn, not with the conversation', async () => {
    const turns = 60;
    const model = scriptedModel([...Array.from({ length: turns }, (_, n) => calls(['look', { n }])), 'Done.']);
    const run = createAgent({ model, tools: [fakeTool('look')], maxSteps: 100, silent: true }).run('Look around');
    await run;
    const sizes = run
      .recording()
      .trim()
      .split('\n')
      .filter((line) => line.includes('"callLlm","effects"'))
      .map((line) => line.length);
    expect(sizes).toHaveLength(turns + 1);
    expect(sizes.at(-1)).toBeLessThan((sizes[2] ?? 0) * 1.5);
  });
});

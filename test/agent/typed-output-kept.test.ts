import { createActor, toPromise } from 'xstate';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { OutputSchema } from '../../src/agent/options/output-options.ts';
import { fork } from '../../src/journal/replay/fork.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { skill } from '../../src/tools/skill.ts';
import { interruptedAfter, lineCount, timeless } from '../journal/interrupted.ts';
import { calls, plan } from '../support/replies.ts';

const BOOK = z.object({ title: z.string(), year: z.int() });
const DUNE = { title: 'Dune', year: 1965 };

/** The value that a run comes to. */
const timed = <T extends { readonly durationMs: number }>(result: T): T => ({ ...result, durationMs: 0 });

describe('a recording', () => {
  const REPLIES = [
    calls(['look', { n: 1 }], ['final_answer', { title: 'Dune' }]),
    plan(['look', { n: 2 }]),
    calls(['final_answer', { ...DUNE, year: 1 }], ['pay', {}]),
    calls(['final_answer', DUNE]),
  ];
  const OPTIONS = { name: 'reader', silent: true, outputSchema: BOOK } as const;
  const checkOutput = ({ year }: { readonly year: number }) => {
    if (year < 1000) throw new Error('too early');
  };

  /** A model that knows by the request how often it has answered. */
  const remembering = () =>
    scriptedModel(
      Array.from({ length: 9 }, (): ScriptedReply => ({ messages }) => {
        return REPLIES[messages.filter(({ role }) => role === 'assistant').length] ?? 'lost';
      }),
    );

  async function whole() {
    const pay = fakeTool('pay', ['paid'], { effects: 'once' });
    const look = fakeTool('look', [(args) => args], { effects: 'idempotent' });
    const agent = createAgent({ ...OPTIONS, checkOutput, tools: [look, pay], model: scriptedModel(REPLIES) });
    const run = agent.run('Which?', { runId: 'one' });
    const result = await run;
    expect(result).toMatchObject({ success: true, output: DUNE, stepsTaken: 5 });
    expect(result.errorHistory.map(({ code }) => code)).toEqual(['output-invalid', 'output-invalid']);
    expect(pay.calls).toHaveLength(1);
    return { recording: run.recording(), result: timed(result), moves: run.transitions() };
  }

  test('is resumed from each of its lines to the same output, and what runs once never runs twice', async () => {
    const { recording, result, moves } = await whole();
    const paidAt = recording.split('\n').findIndex((line) => line.includes('"callTool"') && line.includes('"pay"'));
    expect(paidAt).toBeGreaterThan(0);
    for (let lines = 1; lines < lineCount(recording); lines++) {
      const pay = fakeTool('pay', ['paid'], { effects: 'once' });
      const look = fakeTool('look', [(args) => args], { effects: 'idempotent' });
      const journal = interruptedAfter(recording, lines);
      const agent = createAgent({ ...OPTIONS, checkOutput, journal, tools: [look, pay], model: remembering() });
      const run = agent.resume('one');
      const resumed = await run;
      const isUnknown = pay.calls.length === 0 && lines === paidAt + 1;
      expect(pay.calls.length, `after line ${lines}`).toBeLessThanOrEqual(lines > paidAt ? 0 : 1);
      if (isUnknown) continue;
      expect(timed(resumed), `after line ${lines}`).toEqual(result);
      expect(run.transitions()).toEqual(moves);
      expect(timeless(journal.text())).toBe(timeless(recording));
    }
  });

  test('is replayed identically, without asking the check', async () => {
    const { recording, result, moves } = await whole();
    let asked = 0;
    const tools = [fakeTool('look', [], { effects: 'idempotent' }), fakeTool('pay', [], { effects: 'once' })];
    const agent = createAgent({ ...OPTIONS, checkOutput: () => void asked++, tools, model: scriptedModel([]) });
    const run = replay(recording, agent);
    expect(timed(await run)).toEqual(result);
    expect(run.transitions()).toEqual(moves);
    expect(asked).toBe(0);
    expect(timeless(run.recording())).toBe(timeless(recording));
    expect(await replay(recording, agent).orThrow()).toEqual(DUNE);
  });

  const recorded = async (outputSchema: OutputSchema | undefined) => {
    const run = createAgent({ name: 'a', silent: true, seed: 1, model: scriptedModel(['{"a": 1}']), outputSchema }).run(
      'Go',
    );
    await run;
    return run.recording();
  };
  const replaying = (outputSchema: OutputSchema | undefined) =>
    createAgent({ name: 'a', silent: true, seed: 1, model: scriptedModel([]), outputSchema });

  test.each<[string, OutputSchema | undefined, OutputSchema | undefined]>([
    ['edited', z.object({ a: z.int() }), z.object({ a: z.number() })],
    ['added', undefined, z.object({ a: z.int() })],
    ['removed', z.object({ a: z.int() }), undefined],
  ])('of a run whose schema was %s since names that as the cause', async (_, before, after) => {
    const recording = await recorded(before);
    await expect(replay(recording, replaying(after))).rejects.toMatchObject({ cause: 'output-schema-edited' });
    expect(await replay(recording, replaying(before))).toMatchObject({ result: '{"a": 1}' });
  });

  test('a changed prompt is not blamed on a schema that is the same', async () => {
    const recording = await recorded(BOOK);
    const agent = createAgent({
      name: 'a',
      silent: true,
      seed: 1,
      instructions: 'New.',
      model: scriptedModel([]),
      outputSchema: BOOK,
    });
    await expect(replay(recording, agent)).rejects.toMatchObject({ cause: 'prompt-edited' });
  });

  test('of a run with a schema of its own replays by the agent, and is resumed by it', async () => {
    const model = scriptedModel([calls(['look']), calls(['final_answer', DUNE])]);
    const look = () => fakeTool('look', [{}], { effects: 'idempotent' });
    const run = createAgent({ name: 'a', silent: true, tools: [look()], model }).run('Go', {
      runId: 'one',
      outputSchema: BOOK,
    });
    const result = timed(await run);
    expect(result.output).toEqual(DUNE);
    const again = createAgent({ name: 'a', silent: true, tools: [look()], model: scriptedModel([]) });
    expect(timed(await replay(run.recording(), again))).toEqual(result);
    for (let lines = 5; lines < lineCount(run.recording()); lines++) {
      const journal = interruptedAfter(run.recording(), lines);
      const later = scriptedModel(
        [0, 1].map((): ScriptedReply => ({ messages }) => {
          return messages.at(-1)?.role === 'tool' ? calls(['final_answer', DUNE]) : calls(['look']);
        }),
      );
      const agent = createAgent({ name: 'a', silent: true, tools: [look()], journal, model: later });
      expect(timed(await agent.resume('one')), `after line ${lines}`).toEqual(result);
    }
  });

  test('is forked behind the answer that did not fit', async () => {
    const model = scriptedModel(['{"title": "Dune"}', 'no', 'no']);
    const run = createAgent({ name: 'a', silent: true, model, outputSchema: BOOK }).run('Go');
    expect(await run).toMatchObject({ reason: 'output-invalid' });
    const agent = createAgent({
      name: 'a',
      silent: true,
      model: scriptedModel([JSON.stringify(DUNE)]),
      outputSchema: BOOK,
    });
    const at = run
      .recording()
      .split('\n')
      .findIndex((line) => line.includes('"content":"no"'));
    expect(await fork(run.recording(), agent, { at })).toMatchObject({ success: true, output: DUNE });
  });
});

test('secrets in an output are open in the result, and never in what is written or shown', async () => {
  const secret = 'tr0ub4dor-and-3';
  const model = scriptedModel(['{"login": {"password": "«secret:1»"}}']);
  const events: unknown[] = [];
  const agent = createAgent({
    model,
    silent: true,
    streaming: true,
    secrets: [secret],
    instructions: `The password is ${secret}.`,
    outputSchema: z.object({ login: z.object({ password: z.string() }) }),
    checkOutput: ({ login }) => {
      if (login.password !== secret) throw new Error('another password');
    },
  });
  const run = agent.run('Log in');
  for await (const event of run) events.push(event);
  expect((await run).output).toEqual({ login: { password: secret } });
  expect(await run.orThrow()).toEqual({ login: { password: secret } });
  expect(run.recording()).not.toContain(secret);
  expect(JSON.stringify(events)).not.toContain(secret);
  expect(JSON.stringify(model.requests)).not.toContain(secret);
});

describe('a task that is handed over', () => {
  const fragile = () =>
    fakeTool('fragile', [new Error('broken')], { onError: { executionError: recover.escalate('beyond me') } });
  function handing(
    above: readonly ScriptedReply[],
    below: readonly ScriptedReply[],
    more: AgentOptions<unknown, OutputSchema> = {},
  ) {
    const expert = createAgent({
      name: 'expert',
      description: 'Knows.',
      model: scriptedModel(below),
      silent: true,
      ...more,
    });
    const model = scriptedModel(above);
    const agent = createAgent({
      model,
      silent: true,
      tools: [fragile()],
      children: [expert],
      outputSchema: BOOK,
      onEscalation: (_error, to) => to.reroute('expert'),
    });
    return { model, agent };
  }

  test.each<[string, string, AgentOptions<unknown, OutputSchema>]>([
    ['text', `It is this: ${JSON.stringify(DUNE)}`, {}],
    [
      'a value of its own schema',
      JSON.stringify({ ...DUNE, more: true }),
      { outputSchema: z.looseObject({ title: z.string() }) },
    ],
  ])('gives an output from %s', async (_, said, more) => {
    const { agent, model } = handing([calls(['fragile'])], [said], more);
    expect(await agent.run('Go')).toMatchObject({ success: true, output: expect.objectContaining(DUNE) });
    expect(model.requests).toHaveLength(1);
  });

  test('is corrected by the agent that handed it over where what came does not fit', async () => {
    const { agent, model } = handing([calls(['fragile']), calls(['final_answer', DUNE])], ['It is Dune.']);
    const result = await agent.run('Go');
    expect(result).toMatchObject({ success: true, output: DUNE, errorHistory: [{}, { code: 'output-invalid' }] });
    expect(model.requests).toHaveLength(2);
    const called = result.messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
    expect(result.messages.flatMap(({ role, toolCallId }) => (role === 'tool' ? [toolCallId] : []))).toEqual(called);
  });

  test('to a skill keeps the schema', async () => {
    const model = scriptedModel([calls(['fragile']), calls(['final_answer', DUNE])]);
    const agent = createAgent({
      model,
      silent: true,
      tools: [fragile()],
      skills: [skill({ name: 'careful', instructions: 'Only look.', tools: [fakeTool('look')] })],
      outputSchema: BOOK,
      onEscalation: (_error, to) => to.reroute('careful'),
    });
    expect(await agent.run('Go')).toMatchObject({ success: true, output: DUNE });
    expect(model.requests[1]?.tools?.map(({ name }) => name)).toEqual(['look', 'make_plan', 'final_answer']);
  });
});

test('agent.logic gives the output to the machine that invokes it', async () => {
  const agent = createAgent({ model: scriptedModel([JSON.stringify(DUNE)]), silent: true, outputSchema: BOOK });
  const result = await toPromise(createActor(agent.logic, { input: { task: 'Which?' } }).start());
  expect(result.output?.year).toBe(1965);
});

test('orThrow gives the value, and what it throws has the result', async () => {
  const agent = (reply: string) =>
    createAgent({ model: scriptedModel([reply, 'no', 'no']), silent: true, outputSchema: z.array(z.int()) });
  expect(await agent('[1, 2]').run('Go').orThrow()).toEqual([1, 2]);
  await expect(agent('no').run('Go').orThrow()).rejects.toMatchObject({
    result: { reason: 'output-invalid', output: null },
    // The problems are in it once.
    message: expect.stringMatching(
      /^Unable to complete task: the answer was not accepted\.\n[^\n]+ \(output-invalid\)$/,
    ),
  });
});

test('a null that the schema takes is an output of its own', async () => {
  const agent = createAgent({ model: scriptedModel(['null']), silent: true, outputSchema: z.object({}).nullable() });
  const result = await agent.run('Go');
  expect(result).toMatchObject({ success: true, output: null });
});

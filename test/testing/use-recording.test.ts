import { existsSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { AgentClosedError } from '../../src/agent/options/agent-errors.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RunInput } from '../../src/agent/options/input-parts.ts';
import type { RunOptions } from '../../src/agent/options/run-options.ts';
import type { SomeRun } from '../../src/agent/run/run.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { ReplayDivergenceError } from '../../src/journal/replay/divergence.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { forbidLiveModels } from '../../src/models/endpoint/live-guard.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { chatModel } from '../../src/models/index.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { scriptedModel, type ScriptedReply } from '../../src/testing/scripted-model.ts';
import { type UseRecordingOptions, useRecording } from '../../src/testing/recordings/use-recording.ts';
import '../../src/testing/vitest.ts';
import { agentOn } from '../agent/agent-on-server.ts';
import { startModelServer } from '../support/model-server.ts';
import { calls } from '../support/replies.ts';

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-recordings-'));
  path = join(folder, 'weather.jsonl');
  for (const name of ['CI', 'SIGNALBOX_RECORD', 'SIGNALBOX_LIVE']) vi.stubEnv(name, '');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

const question = 'What is the weather in Austin?';
const replies: readonly ScriptedReply[] = [calls(['get_weather', { city: 'Austin' }]), 'It is 21 °C in Austin.'];

/** An agent that knows the weather, with the tool that it asks. */
function weatherAgent(more: AgentOptions = {}, celsius = 21) {
  const tool = fakeTool('get_weather', [{ celsius }]);
  const model = scriptedModel(replies);
  const agent = createAgent({ instructions: 'You know the weather.', tools: [tool], model, silent: true, ...more });
  return { agent, tool, model };
}

async function recordedOnce() {
  await useRecording(path).run(weatherAgent().agent, question);
}

const failureOf = async (run: PromiseLike<unknown>): Promise<unknown> =>
  run.then(
    () => null,
    (error: unknown) => error,
  );

describe('useRecording', () => {
  test('records the first run against the live model, and replays it ever after, without model, tools or network', async () => {
    const { agent, server } = await agentOn([
      { toolCalls: [{ name: 'get_weather', arguments: { city: 'Austin' } }] },
      { content: 'It is 21 °C in Austin.' },
    ]);
    const tool = fakeTool('get_weather', [{ celsius: 21 }]);
    agent.tools.register(tool);
    const first = await useRecording(path).run(agent, question);
    await server.close();
    const second = await useRecording(path).run(agent, question);
    expect({ ...second, runId: '', durationMs: 0 }).toEqual({ ...first, runId: '', durationMs: 0 });
    expect([server.requests.length, tool.calls.length]).toEqual([2, 1]);
  });

  test('gives a Run at once, with its events, transitions and history', async () => {
    await recordedOnce();
    const { agent } = weatherAgent({ model: scriptedModel([]) });
    const run = useRecording(path).run(agent, question);
    const seen: string[] = [];
    for await (const event of run) seen.push(event.type);
    expect(seen).toEqual(expect.arrayContaining(['run.started', 'tool.finished', 'run.finished']));
    await expect(run).toMatchTransitions(await readFile(path, 'utf8'));
    expect(agent.history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  test('writes what is the same each time: no clock, no speed, no run id, nothing half written', async () => {
    const quick = { content: 'Warm.', stats: { tokensPerSecond: 17 } };
    const warm = (more: AgentOptions = {}) => weatherAgent({ model: scriptedModel([quick]), ...more }).agent;
    await useRecording(path).run(warm(), question);
    const first = await readFile(path, 'utf8');
    expect(first).not.toContain('tokensPerSecond');
    expect(first).toMatch(/^\{"t":"run",.*"runId":"weather","at":"1970-01-01T00:00:00.000Z"/);
    await rm(path);
    await useRecording(path).run(warm({ seed: seedOf(first) }), question);
    expect(await readFile(path, 'utf8')).toBe(first);
    expect(await readdir(folder)).toEqual(['weather.jsonl']);
  });

  test('holds marks in the place of secrets', async () => {
    const key = 'sk-proj-abcdefghijklmnopqrstuvwx';
    const { agent } = weatherAgent({ secrets: ['correct horse'], instructions: 'The password is correct horse.' });
    await useRecording(path).run(agent, `${question} My key is ${key}.`);
    const text = await readFile(path, 'utf8');
    expect(text).not.toMatch(/correct horse|sk-proj/);
    expect(text).toContain('«secret:1»');
  });

  test.each([
    ['text', 'The word is correct horse, my key sk-proj-abcdefghijklmnopqrstuvwx.', 'The word is wrong.'],
    ['the end of a text', 'The word is correct horse', 'The words is correct horse'],
    ['two, and another text has one', 'Is correct horse correct horse?', 'Is it?'],
    ['two, the second of which is empty', 'Is correct horse correct horse?', 'Is it ?'],
    ['two, the first of which is empty', 'Is correct horse correct horse?', 'Is  it?'],
    ['parts', [{ type: 'text', text: 'Say "correct horse" (2 * 2)' }], [{ type: 'text', text: 'Say "it" (2 ^ 2)' }]],
  ] as const)('replays an input with a secret in it: %s', async (_what, input, other) => {
    const ask = (asked: RunInput, more: AgentOptions = {}, how: UseRecordingOptions = {}) =>
      useRecording(path, how).run(weatherAgent(more).agent, asked);
    const secrets = ['correct horse'];
    const first = await ask(input, { secrets });
    expect(await readFile(path, 'utf8')).not.toMatch(/correct horse|sk-proj/);
    for (const mode of ['replay', 'live'] as const)
      expect((await ask(input, { secrets }, { tools: mode })).result).toBe(first.result);
    expect(await failureOf((async () => ask(other))())).toMatchObject({ cause: 'input-changed' });
  });

  test('replays an input with an image or a file, and refuses it with another one or without', async () => {
    await using server = await startModelServer(() => ({ content: 'A cat.' }));
    const model = chatModel({ baseURL: server.baseURL, model: 'scripted', images: true });
    const { agent } = weatherAgent({ model });
    const ask = async (input: RunInput, use = useRecording(path)) => (await use.run(agent, input)).result;
    const image = (data: string) => ({ type: 'image', mediaType: 'image/png', data: Buffer.from(data) }) as const;
    const shown = [{ type: 'text', text: question }, image('one')] as const;
    expect([await ask(shown), await ask(shown)]).toEqual(['A cat.', 'A cat.']);
    agent.clearHistory();
    const wrapped = useRecording(path).wrap(agent);
    expect((await wrapped.run(shown)).result).toBe('A cat.');
    expect(server.requests).toHaveLength(1);
    for (const other of [question, [shown[0], image('two')], [image('one')]])
      for (const use of [useRecording(path), useRecording(path, { tools: 'live' })])
        await expect(ask(other, use)).rejects.toMatchObject({ cause: 'input-changed' });
  });

  test.each(['.jsonl', 'jsonl', 'a b.jsonl'])('a recording may be named %s', async (name) => {
    const named = join(folder, name);
    await useRecording(named).run(weatherAgent().agent, question);
    const { agent, model } = weatherAgent();
    await expect(useRecording(named).run(agent, question)).toEndWith('answer');
    expect(model.requests).toEqual([]);
  });

  test('a step limit or a signal that would end the run otherwise is a miss; those of the recorded run are none', async () => {
    const ask = (options: RunOptions, more: AgentOptions = {}) =>
      useRecording(path).run(weatherAgent(more).agent, question, options);
    await ask({ maxSteps: 5 });
    for (const [options, difference] of [
      [{ maxSteps: 1 }, '/maxSteps: 5 → 1'],
      [{ signal: AbortSignal.abort() }, '/aborted: false → true'],
    ] as const)
      expect(await failureOf((async () => ask(options))())).toMatchObject({ cause: 'input-changed', difference });
    for (const options of [{ maxSteps: 5 }, {}, { signal: new AbortController().signal }])
      expect((await ask(options, { maxSteps: 7 })).reason).toBe('answer');
    await rm(path);
    for (const signal of [AbortSignal.abort(), AbortSignal.abort('again'), undefined])
      expect((await ask({ signal })).reason).toBe('cancelled');
  });

  test('refuses the recording of a second run that belongs to another conversation', async () => {
    const ask = async (first: string) => {
      const { agent } = weatherAgent({ model: scriptedModel(['First.', 'Second.']) });
      const recorded = useRecording(path);
      await recorded.run(agent, first);
      return (await recorded.run(agent, 'And now?')).result;
    };
    expect(await ask('One')).toBe('Second.');
    expect(await ask('One')).toBe('Second.');
    await rm(path);
    await expect(ask('Another')).rejects.toMatchObject({
      name: 'ReplayDivergenceError',
      cause: 'conversation-changed',
      difference: expect.stringMatching(/history\/0\/content.*One.*Another/),
      path: join(folder, 'weather.2.jsonl'),
    });
  });

  test.each([
    ['whole exchanges', 2, ['1', '2', '3', '4']],
    ['the end of one exchange', 4, [...replies, ...replies, calls(['get_weather', {}]), ...replies, '2', '3']],
  ])('replays a conversation that is longer than the history which is kept: %s', async (_what, limit, said) => {
    const ask = async () => {
      const { agent } = weatherAgent({ model: scriptedModel(said), maxHistoryMessages: limit });
      const recorded = useRecording(path);
      for (const input of ['a', 'b', 'c', 'd']) expect((await recorded.run(agent, input)).status).toBe('answered');
    };
    await ask();
    await ask();
  });

  test('keeps a second run in a second file, and replays the conversation', async () => {
    const hold = (agent: ReturnType<typeof createAgent>) =>
      [question, 'And in Oslo?'].map((text) => () => agent.run(text));
    const live = weatherAgent({ model: scriptedModel([...replies, 'Colder.']) });
    for (const run of hold(useRecording(path).wrap(live.agent))) await run();
    const again = weatherAgent({ model: scriptedModel([]) });
    for (const run of hold(useRecording(path).wrap(again.agent))) await expect(run()).toEndWith('answer');
    expect((await readdir(folder)).toSorted()).toEqual(['weather.2.jsonl', 'weather.jsonl']);
    expect(again.agent.history).toEqual(live.agent.history);
  });

  test('everything else of a wrapped agent is the agent’s, and a conversation of it is refused', async () => {
    const { agent } = weatherAgent();
    const wrapped = useRecording(path).wrap(agent);
    await wrapped.run(question);
    expect(wrapped.history).toHaveLength(4);
    expect([wrapped.name, wrapped.tools, wrapped.options.maxSteps]).toEqual([agent.name, agent.tools, 20]);
    expect((await replay(await readFile(path, 'utf8'), wrapped)).reason).toBe('answer');
    const { clearHistory } = wrapped;
    clearHistory();
    expect(agent.history).toEqual([]);
    expect(() => wrapped.conversation('ada')).toThrow('runs of a conversation are not recorded');
    await wrapped.close();
    expect(() => agent.run(question)).toThrow(AgentClosedError);
    expect(wrapped).toBeInstanceOf(Object.getPrototypeOf(agent).constructor);
  });

  test('members of a wrapped agent can be spied on, and are the agent’s again afterwards', async () => {
    const { agent } = weatherAgent();
    const wrapped = useRecording(path).wrap(agent);
    await wrapped.run(question);
    const history = vi.spyOn(wrapped, 'history', 'get');
    const clear = vi.spyOn(wrapped, 'clearHistory');
    expect(wrapped.history).toHaveLength(4);
    wrapped.clearHistory();
    expect(wrapped.history).toEqual([]);
    expect([history, clear].map(({ mock }) => mock.calls.length)).toEqual([2, 1]);
    history.mockReturnValue([{ role: 'user', content: 'Hi' }]);
    expect(wrapped.history).toHaveLength(1);
    for (const spy of [history, clear]) spy.mockRestore();
    expect(wrapped.history).toEqual([]);
    expect([history, clear].map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
  });

  test('replays a run that is queued behind another, and finds that it belongs to another conversation', async () => {
    const ask = async (first: string) => {
      const { agent } = weatherAgent({ model: scriptedModel(['First.', 'Second.']) });
      const recorded = useRecording(path);
      const before = recorded.run(agent, first);
      const { result } = await recorded.run(agent, 'And now?', { whenBusy: 'queue' });
      expect((await before).result).toBe('First.');
      return [result, agent.history.length];
    };
    expect(await ask('One')).toEqual(['Second.', 4]);
    expect(await ask('One')).toEqual(['Second.', 4]);
    await rm(path);
    expect(await ask('One')).toEqual(['Second.', 4]);
    await rm(path);
    await expect(ask('Another')).rejects.toMatchObject({ cause: 'conversation-changed' });
  });

  test.each([
    ['parked', { park: true }],
    ['released', {}],
  ])('does not keep the recording of a run that was %s, which has no end to replay', async (reason, options) => {
    const ask = fakeTool('get_weather', [], { policy: 'confirm' });
    const { agent } = weatherAgent({ tools: [ask], confirm: 'wait', journal: memoryJournal() });
    const run = useRecording(path).run(agent, question, options);
    if (reason === 'released')
      for await (const event of run) if (event.type === 'approval.requested' && (await run.release())) break;
    const message = expect.stringContaining(
      `weather.jsonl was not written: the run that was to be recorded was ${reason}`,
    );
    expect(await failureOf(run)).toMatchObject({ name: 'UseRecordingError', code: 'recording-failed', message });
    expect(existsSync(path)).toBe(false);
    expect(await agent.pending(run.runId)).toHaveLength(1);
  });

  test('does not keep the recording of a run whose journal failed, which has no end to replay', async () => {
    const open: JournalStore['open'] = (run) => ({
      ...memoryJournal().open(run),
      next: () => Promise.reject(new Error('the disk is gone')),
    });
    expect(await failureOf(useRecording(path).run(weatherAgent({ journal: { open } }).agent, question))).toMatchObject({
      code: 'recording-failed',
      message: expect.stringMatching(/weather.jsonl was not written.*its journal failed.*the disk is gone/),
    });
    expect(existsSync(path)).toBe(false);
  });

  test('does not keep the recording of a model that could not be asked', async () => {
    const { agent } = weatherAgent({ model: scriptedModel([new Error('out of order')]), retry: { maxAttempts: 1 } });
    await expect(useRecording(path).run(agent, question)).rejects.toMatchObject({
      code: 'recording-failed',
      message: expect.stringMatching(/weather.jsonl was not written.*out of order/),
    });
    expect(existsSync(path)).toBe(false);
  });
});

describe('when it records', () => {
  test.each([
    ['CI', 'true', /CI is set/],
    ['SIGNALBOX_RECORD', 'never', /SIGNALBOX_RECORD is never/],
  ])('never with %s=%s: a missing recording is an error, and nobody is asked', (name, value, reason) => {
    vi.stubEnv(name, value);
    const { agent, model } = weatherAgent();
    expect(() => useRecording(path, { record: 'all' }).run(agent, question)).toThrow(reason);
    expect(model.requests).toEqual([]);
  });

  test('CI goes before everything', async () => {
    await recordedOnce();
    vi.stubEnv('CI', '1');
    vi.stubEnv('SIGNALBOX_RECORD', 'all');
    const { agent, model } = weatherAgent();
    await expect(useRecording(path).run(agent, question)).toEndWith('answer');
    expect(model.requests).toEqual([]);
  });

  test.each<readonly [ci: string, variable: string, record: 'all' | 'never', isMade: boolean]>([
    ['0', '', 'all', true],
    ['false', '', 'all', true],
    ['1', '', 'all', false],
    ['', 'all', 'never', false],
    ['', 'never', 'all', false],
  ])('with CI=%s, SIGNALBOX_RECORD=%s and the option %s', async (ci, variable, record, isMade) => {
    vi.stubEnv('CI', ci);
    vi.stubEnv('SIGNALBOX_RECORD', variable);
    const made = await failureOf((async () => useRecording(path, { record }).run(weatherAgent().agent, question))());
    expect(made).toEqual(isMade ? null : expect.objectContaining({ code: 'recording-missing' }));
    expect(existsSync(path)).toBe(isMade);
  });

  test('a conversation with a secret in it is the recorded one, which holds its mark', async () => {
    const rounds = async (said = 'My word is hunter2-hunter2.'): Promise<string> => {
      const { agent } = weatherAgent({ secrets: ['hunter2-hunter2'] });
      agent.setHistory([
        { role: 'user', content: said },
        { role: 'assistant', content: 'Good.' },
      ]);
      return (await useRecording(path).run(agent, question)).result;
    };
    expect([await rounds(), await rounds()]).toEqual(['It is 21 °C in Austin.', 'It is 21 °C in Austin.']);
    expect(await readFile(path, 'utf8')).toContain('«secret:');
    expect(await failureOf((async () => rounds('Another one.'))())).toMatchObject({ cause: 'conversation-changed' });
  });

  test('what cannot be recorded is an error, and live models are forbidden again', async () => {
    onTestFinished(forbidLiveModels());
    const { agent } = await agentOn([{ content: 'Fine.' }]);
    const journal = {
      open: () => {
        throw new Error('no disk');
      },
    };
    const failed = await failureOf((async () => useRecording(path).run(agent, question, { journal }))());
    const message = expect.stringMatching(/no end, because its journal failed.*no disk$/);
    expect(failed).toMatchObject({ name: 'UseRecordingError', code: 'recording-failed', message });
    expect(existsSync(path)).toBe(false);
    expect((await agent.run(question)).error?.code).toBe('live-forbidden');
  });

  test('SIGNALBOX_RECORD=all records anew what is there', async () => {
    await recordedOnce();
    vi.stubEnv('SIGNALBOX_RECORD', 'all');
    await useRecording(path).run(weatherAgent({ model: scriptedModel(['No idea.']) }).agent, question);
    expect(await readFile(path, 'utf8')).toEndWith('answer', 'No idea.');
  });

  test('a word that is no mode is refused', () => {
    vi.stubEnv('SIGNALBOX_RECORD', 'always');
    expect(() => useRecording(path).run(weatherAgent().agent, question)).toThrow(/is 'always', and must be one of/);
  });

  test('forbidLiveModels lets a recording be made, and nothing else', async () => {
    onTestFinished(forbidLiveModels());
    const { agent } = await agentOn([{ content: 'Warm.' }, { content: 'Warm.' }]);
    await expect(useRecording(path).run(agent, question)).toEndWith('answer');
    await expect(agent.run(question)).toEndWith('llm-error');
    vi.stubEnv('SIGNALBOX_LIVE', 'never');
    vi.stubEnv('SIGNALBOX_RECORD', 'all');
    await expect(useRecording(path).run(agent, question)).rejects.toThrow(/SIGNALBOX_LIVE=never/);
  });
});

describe('what is not recorded is a loud miss', () => {
  test('an edited prompt is shown, with the line and what to do', async () => {
    await recordedOnce();
    const { agent } = weatherAgent({ instructions: 'You know the wind.', model: scriptedModel([]) });
    const error = await failureOf(useRecording(path).run(agent, question));
    expect(error).toBeInstanceOf(ReplayDivergenceError);
    expect(error).toMatchObject({ code: 'replay-divergence', entry: 2, path });
    expect(String(error)).toMatch(/know the weather.*know the wind/s);
    expect(String(error)).toMatch(
      /recording: .*weather.jsonl, line 2\nIf the change is intended.*SIGNALBOX_RECORD=all/s,
    );
  });

  test("its stack begins in the test's own line", async () => {
    await recordedOnce();
    const { agent } = weatherAgent({ instructions: 'Other.' });
    for (const run of [
      useRecording(path).run(agent, question),
      useRecording(path).wrap(agent).run(question),
      useRecording(path, { tools: 'live' }).run(agent, question),
    ]) {
      const error = await failureOf(run);
      const [frame] = (error instanceof Error ? (error.stack ?? '') : '').match(/^ +at .*$/m) ?? [];
      expect(frame).toContain('use-recording.test.ts');
    }
  });

  test('so is another question', async () => {
    await recordedOnce();
    const { agent } = weatherAgent();
    expect(() => useRecording(path).run(agent, 'What about Oslo?')).toThrow(/line 1/);
    expect(() => useRecording(path).run(agent, 'What about Oslo?')).toThrow(/weather in Austin.*What about Oslo/s);
  });

  test('nobody listening is no unhandled rejection', async () => {
    await recordedOnce();
    const run = useRecording(path).run(weatherAgent({ instructions: 'Other.' }).agent, question);
    await new Promise((resolve) => setImmediate(resolve));
    expect(run.runId).toBe('weather');
  });
});

describe('modes per actor', () => {
  test('the model replays while tools run live', async () => {
    await recordedOnce();
    const { agent, tool, model } = weatherAgent();
    const run = useRecording(path, { tools: 'live' }).run(agent, question);
    await expect(run).toEndWith('answer', '21 °C');
    expect([tool.calls, model.requests]).toEqual([[{ city: 'Austin' }], []]);
  });

  test('a live tool that says something else is a miss that shows it', async () => {
    await recordedOnce();
    const { agent } = weatherAgent({}, -3);
    const error = await failureOf(useRecording(path, { tools: 'live' }).run(agent, question));
    expect(error).toMatchObject({ name: 'ReplayDivergenceError', entry: 6, state: 'PLANNING' });
    expect(String(error)).toMatch(/the nearest request/);
    expect(String(error)).toMatch(/\/messages\/3\/content: .*celsius.*21.*celsius.*-3/s);
  });

  test('the line of a miss is that in the file, also behind a payload that has lines of its own', async () => {
    const sky = (end: string) => fakeTool('get_weather', [`${'blue '.repeat(2000)}${end}`]);
    await useRecording(path).run(weatherAgent({ tools: [sky('.')] }).agent, question);
    const missed = await failureOf(
      useRecording(path, { tools: 'live' }).run(weatherAgent({ tools: [sky('!')] }).agent, question),
    );
    const lines = (await readFile(path, 'utf8')).split('\n');
    const asked = lines.findLastIndex((line) => line.startsWith('{"t":"start"'));
    expect(lines.slice(0, asked).some((line) => line.startsWith('{"t":"blob"'))).toBe(true);
    expect(missed).toMatchObject({ entry: asked + 1, message: expect.stringContaining(`line ${asked + 1}\n`) });
  });

  test("match: 'order' answers by turn, whatever is asked", async () => {
    await recordedOnce();
    const run = useRecording(path, { tools: 'live', match: 'order' }).run(weatherAgent({}, -3).agent, question);
    await expect(run).toEndWith('answer', '21 °C');
  });

  test('tools replay while the model is live', async () => {
    await recordedOnce();
    const { agent, tool } = weatherAgent({
      model: scriptedModel([calls(['missing']), calls(['get_weather', { city: 'Austin' }]), 'Still warm.']),
    });
    const run = useRecording(path, { model: 'live' }).run(agent, question);
    await expect(run).toEndWith('answer', 'Still warm.');
    await expect(run).toHaveCalledTool('get_weather', { city: 'Austin' });
    expect(tool.calls).toEqual([]);
  });

  test('a call that was never recorded is a miss, and the machine never hears of it', async () => {
    await recordedOnce();
    const model = scriptedModel([calls(['get_weather', { city: 'Oslo' }]), 'Cold.']);
    const error = await failureOf(useRecording(path, { model: 'live' }).run(weatherAgent({ model }).agent, question));
    expect(String(error)).toMatch(/\/args\/city: "Austin" → "Oslo"/);
    expect(model.requests).toHaveLength(1);
  });

  test('the miss shows the recorded call that is most like it, not the next one', async () => {
    const both = [calls(['get_weather', { city: 'Oslo', unit: 'K' }], ['get_weather', { city: 'Rome' }]), 'Done.'];
    await useRecording(path).run(weatherAgent({ model: scriptedModel(both) }).agent, question);
    const model = scriptedModel([calls(['get_weather', { city: 'Rome', days: 3 }]), 'Done.']);
    const error = await failureOf(useRecording(path, { model: 'live' }).run(weatherAgent({ model }).agent, question));
    expect(error).toMatchObject({ entry: 5, difference: '/args/days: nothing → 3' });
  });

  test('a call that was recorded once is not answered twice', async () => {
    await recordedOnce();
    const model = scriptedModel([replies[0] ?? '', replies[0] ?? '', 'Warm.']);
    const error = await failureOf(useRecording(path, { model: 'live' }).run(weatherAgent({ model }).agent, question));
    expect(String(error)).toMatch(/whose answer was given already\n.*c2\/callTool#1 asks again/);
  });

  test('a mode that is none is refused by name', () => {
    // @ts-expect-error -- No such mode.
    expect(() => useRecording(path, { tools: 'mock' })).toThrow(/option 'tools' is 'mock'/);
  });
});

const NAME = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const AGE = { type: 'object', properties: { age: { type: 'number' } }, required: ['age'] };

describe('the schema of a run', () => {
  /** A run that asks for an answer of its own schema, of an agent that may have another. */
  const asking = (ofRun: JsonObject | null, ofAgent: JsonObject | null = null): SomeRun => {
    const model = scriptedModel(['{"name":"Ada"}']);
    const agent = createAgent({ model, silent: true, ...(ofAgent && { outputSchema: ofAgent }) });
    const options: object = ofRun === null ? {} : { outputSchema: ofRun };
    return useRecording(path).run<SomeRun>(agent, 'Who?', options);
  };

  test.each<readonly [what: string, was: JsonObject | null, now: JsonObject | null, ofAgent: JsonObject | null]>([
    ['another', NAME, AGE, null],
    ['none any more', NAME, null, null],
    ["the agent's own", NAME, null, NAME],
    ['one at last', null, NAME, null],
  ])('that is %s is found out: the recorded answer was not asked for by it', async (_what, was, now, ofAgent) => {
    await asking(was);
    const error = { cause: 'output-schema-edited', entry: 1, difference: expect.stringMatching(/^\/outputSchema/) };
    await expect((async () => asking(now, ofAgent))()).rejects.toMatchObject(error);
    expect((await asking(was)).reason).toBe('answer');
  });

  test('in another order is the same, and one of the agent is compared as it is asked for', async () => {
    await asking(NAME, AGE);
    const reversed = Object.fromEntries(Object.entries(NAME).toReversed());
    await expect(asking(reversed, AGE)).toHaveOutput({ name: 'Ada' });
    path = join(folder, 'own.jsonl');
    await asking(null, NAME);
    await expect(asking(null, NAME)).toHaveOutput({ name: 'Ada' });
    await expect(asking(null, AGE)).rejects.toMatchObject({ cause: 'output-schema-edited', entry: 2 });
  });
});

test("a misspelt 'match' is refused, and does not match by order", () => {
  // @ts-expect-error -- No such word.
  const using = () => useRecording(path, { tools: 'live', match: 'requests' });
  expect(using).toThrow(/option 'match' is 'requests', and must be one of: request, order/);
});

test('a damaged recording is refused with its line', async () => {
  await recordedOnce();
  const lines = (await readFile(path, 'utf8')).split('\n');
  await writeFile(path, lines.with(2, '{"t":"outc').join('\n'));
  expect(() => useRecording(path).run(weatherAgent().agent, question)).toThrow(/[Ll]ine 3/);
});

function seedOf(recording: string): number {
  const seed: unknown = Reflect.get(Object(JSON.parse(recording.split('\n')[0] ?? '')), 'seed');
  return typeof seed === 'number' ? seed : 0;
}

test.each(['steer', 'interrupt'] as const)(
  'refuses a message to the live run, which has no recording: whenBusy %s',
  async (whenBusy) => {
    for (const _mode of ['records', 'replays']) {
      const { agent } = weatherAgent();
      const used = useRecording(path);
      const run = used.run(agent, question, { whenBusy });
      expect(() => used.run(agent, 'And now?', { whenBusy })).toThrow(
        expect.objectContaining({ code: 'wrong-option' }),
      );
      expect(await run).toMatchObject({ result: 'It is 21 °C in Austin.' });
      await failureOf(used.run(agent, 'And now?', { whenBusy }));
    }
    expect(await readdir(folder)).toContain('weather.jsonl');
  },
);

import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { ModelReply } from '../../src/actors/model.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { fork } from '../../src/journal/replay/fork.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { chatModel } from '../../src/models/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { tool } from '../../src/tools/tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { startModelServer } from '../support/model-server.ts';
import { calls } from '../support/replies.ts';

const OPTIONS: AgentOptions = { name: 'watcher', instructions: 'Look first.', silent: true };
const never = scriptedModel([]);

/** Lines: 1 head, 2 model asked, 3 its reply, 4 and 5 tools started, 6 and 7 their outcomes, 8 model asked, 9 its reply. */
async function recorded(options: AgentOptions = {}) {
  const tools = [fakeTool('look', ['a cat']), fakeTool('smell', ['fish'])];
  const model = scriptedModel([calls(['look'], ['smell']), 'A cat, and fish.']);
  const run = createAgent({ ...OPTIONS, ...options, tools, model }).run('What is here?', { runId: 'parent' });
  await run;
  return run.recording();
}

function forking(replies: Parameters<typeof scriptedModel>[0], more: AgentOptions = {}) {
  const tools = [fakeTool('look', ['a dog']), fakeTool('smell', ['smoke'])];
  const model = scriptedModel(replies);
  const journal = memoryJournal();
  return { agent: createAgent({ ...OPTIONS, tools, model, journal, ...more }), tools, model, journal };
}

describe('fork', () => {
  test('names the tool that the run has called and this agent has not', async () => {
    const agent = createAgent({ ...OPTIONS, tools: [fakeTool('look', ['a dog'])], model: never });
    const started = fork(await recorded(), agent, { at: 7 });
    await expect(started).rejects.toMatchObject({ code: 'replay-divergence', cause: 'toolset-changed' });
    await expect(started).rejects.toThrow("(callTool of 'smell') is started");
    await expect(started).rejects.toThrow('a tool was added or removed');
  });

  test('goes on live behind the cut, as a run of its own that knows its parent and replays as one', async () => {
    const { agent, tools, model, journal } = forking(['Another answer.']);
    const run = fork(await recorded(), agent, { at: 7, runId: 'child' });
    expect(await run).toMatchObject({ result: 'Another answer.', runId: 'child', toolsUsed: ['look', 'smell'] });
    expect(tools.flatMap((one) => one.calls)).toEqual([]);
    expect(JSON.stringify(model.requests[0]?.messages)).toContain('a cat');
    const kept = await journal.read?.('child');
    expect(kept?.head).toMatchObject({ runId: 'child', parent: { runId: 'parent', entry: 7 } });
    expect(await replay(run.recording(), agent)).toMatchObject({ result: 'Another answer.' });
    expect(await replay([kept?.head ?? {}, ...(kept?.lines ?? [])], agent)).toMatchObject({
      result: 'Another answer.',
    });
    expect(agent.history).toEqual([]);
  });

  test('what was in flight at the cut keeps its outcome; what starts after it runs', async () => {
    const { agent, tools } = forking(['Both.']);
    await fork(await recorded(), agent, { at: 6 });
    expect(tools.flatMap((one) => one.calls)).toEqual([]);
    const other = forking(['Both.']);
    await fork(await recorded(), other.agent, { at: 3 });
    expect(other.tools.map((one) => one.calls.length)).toEqual([1, 1]);
  });

  test.each([
    ['an outcome', 6],
    ['the start of a leaf', 4],
  ])('changes what comes of %s', async (_what, at) => {
    const { agent, model } = forking(['Nothing then.']);
    const run = fork(await recorded(), agent, {
      at,
      outcome: { ok: true, value: { status: 'success', data: 'a fox' } },
    });
    await run;
    const messages = JSON.stringify(model.requests[0]?.messages);
    expect(messages).toContain('a fox');
    expect(messages).toContain('fish');
    expect(messages).not.toContain('a cat');
  });

  test('is as old as the shared part, so that a wait that began in it is over when it would have been', async () => {
    const { head, lines } = readRecording(await recorded());
    const aged = [head, ...lines.map((line) => (line.t === 'run' ? line : { ...line, at: 60_000 }))];
    const { agent } = forking(['A minute later.']);
    const run = fork(aged, agent, { at: 7 });
    await run;
    expect(Date.parse(readRecording(run.recording()).head.at)).toBeLessThanOrEqual(Date.now() - 60_000);
  });

  test('asks another question, with another prompt and another model', async () => {
    const { agent, model } = forking(['Yes.'], { instructions: 'Be brief.' });
    expect(await fork(await recorded(), agent, { input: 'Is it a dog?' })).toMatchObject({ result: 'Yes.' });
    expect(model.requests[0]?.messages.map(({ content }) => content)).toEqual(['Be brief.', 'Is it a dog?']);
  });

  test('keeps the answers so far when the prompt is another one', async () => {
    const { agent, model } = forking(['Brief.'], { instructions: 'Be brief.' });
    const run = fork(await recorded(), agent, { at: 7 });
    expect(await run).toMatchObject({ result: 'Brief.' });
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]?.messages[0]?.content).toBe('Be brief.');
    expect(await replay(run.recording(), agent)).toMatchObject({ result: 'Brief.' });
  });

  test('against the rest of the recording, nothing is done that was done the same', async () => {
    const { agent, tools } = forking([]);
    const run = fork(await recorded(), agent, { at: 1, then: 'recorded', missing: 'refuse' });
    expect(await run).toMatchObject({ result: 'A cat, and fish.' });
    expect(tools.flatMap((one) => one.calls)).toEqual([]);
  });

  test('against the rest of the recording, what is new is done, or refused', async () => {
    const recording = await recorded();
    const outcome = { ok: true, value: { status: 'success', data: 'a fox' } } as const;
    const { agent, model } = forking(['A fox.']);
    expect(await fork(recording, agent, { at: 6, outcome, then: 'recorded' })).toMatchObject({ result: 'A fox.' });
    expect(model.requests).toHaveLength(1);
  });

  test('against the rest of the recording, what is new ends the run where it is refused, and is not begun', async () => {
    const { agent, tools, model, journal } = forking([]);
    const says = (reply: ModelReply) => ({ ok: true, value: JSON.parse(JSON.stringify(reply)) }) as const;
    const recording = await recorded();
    const elsewhere = { ok: true, value: { status: 'success', data: 'a fox' } } as const;
    for (const [at, outcome, begun] of [
      [6, elsewhere, 'callLlm'],
      [3, says(calls(['look'], ['smell', { of: 'smoke' }])), 'callTool'],
      [3, says(calls(['smell', { of: 'smoke' }], ['look'])), 'callTool'],
    ] as const) {
      const options = { at, outcome, then: 'recorded', missing: 'refuse' } as const;
      const run = fork(recording, agent, options);
      expect(await run).toMatchObject({ status: 'failed', reason: 'thrown', error: { code: 'not-recorded' } });
      expect(run.recording()).toContain(begun);
      expect(await replay(run.recording(), agent)).toMatchObject({ error: { code: 'not-recorded' } });
    }
    expect(model.requests).toEqual([]);
    expect(tools.flatMap((one) => one.calls)).toEqual([]);
    expect(await journal.list?.({ state: 'ended' })).toHaveLength(3);
  });

  test('against the rest of the recording, what is new is done with the tools that it began with', async () => {
    const { agent, model } = forking([
      () => {
        agent.tools.register(fakeTool('hear'));
        return calls(['look', { at: 'the fox' }]);
      },
      'A fox.',
    ]);
    const outcome = { ok: true, value: { status: 'success', data: 'a fox' } } as const;
    expect(await fork(await recorded(), agent, { at: 6, outcome, then: 'recorded' })).toMatchObject({
      result: 'A fox.',
    });
    expect(model.requests).toHaveLength(2);
    for (const { tools: offered = [] } of model.requests)
      expect(offered.map(({ name }) => name)).toEqual(['look', 'smell', 'make_plan']);
  });

  test('an approval of the rest is given again', async () => {
    const danger = fakeTool('danger', ['done'], { policy: 'confirm' });
    const options = { ...OPTIONS, confirm: 'wait', tools: [danger] } as const;
    const run = createAgent({ ...options, model: scriptedModel([calls(['danger']), 'Done.']) }).run('Go');
    for await (const event of run) if (event.type === 'approval.requested') await run.approve(event.callId);
    const again = createAgent({ ...options, model: never });
    expect(await fork(run.recording(), again, { at: 3, then: 'recorded' })).toMatchObject({ result: 'Done.' });
    expect(danger.calls).toHaveLength(1);
  });

  test.each(['deny', 'allow-once', { decision: 'no' }, { decision: 'deny' }, { decision: 'nobody' }])(
    'a question to a person that is answered with %j runs nothing',
    async (value) => {
      const danger = fakeTool('danger', ['done'], { policy: 'confirm' });
      const confirm = () => 'allow-once' as const;
      const options = { ...OPTIONS, tools: [danger], confirm };
      const run = createAgent({ ...options, model: scriptedModel([calls(['danger']), 'Done.']) }).run('Go');
      await run;
      const again = createAgent({ ...options, model: scriptedModel(['Not done.', 'Not done.']) });
      for (const at of [4, 5]) {
        const forked = fork(run.recording(), again, { at, outcome: { ok: true, value } });
        expect(await forked).toMatchObject({ result: 'Not done.', toolsUsed: [] });
      }
      expect(danger.calls).toHaveLength(1);
    },
  );

  test('another input takes the place of the text and of the images that were recorded with it', async () => {
    const image = { type: 'image', url: 'https://example.com/cat.png' } as const;
    await using server = await startModelServer(() => ({ content: 'Seen.' }));
    const model = chatModel({ baseURL: server.baseURL, model: 'scripted', images: true });
    const agent = createAgent({ ...OPTIONS, model, journal: memoryJournal() });
    const run = agent.run([{ type: 'text', text: 'What is this?' }, image]);
    await run;
    const forked = fork(run.recording(), agent, { input: 'And what is that?' });
    await forked;
    await fork(run.recording(), agent, { at: 1 });
    const asked = server.requests.map(({ body }) => body.messages.at(-1)?.content);
    expect(asked[0]).toHaveLength(2);
    expect(asked.slice(1)).toEqual(['And what is that?', asked[0]]);
    expect(readRecording(forked.recording()).head).not.toHaveProperty('content');
  });

  test('can be cancelled and resumed like any run', async () => {
    const slow = fakeTool('look', [() => new Promise(() => undefined)]);
    const { agent, journal } = forking([], { tools: [slow, fakeTool('smell')] });
    const stop = new AbortController();
    const run = fork(await recorded(), agent, { at: 3, runId: 'child', signal: stop.signal });
    for await (const event of run) if (event.type === 'tool.finished' && !event.replayed) stop.abort();
    expect(await run).toMatchObject({ status: 'cancelled' });
    expect(await createAgent({ ...OPTIONS, journal, model: never }).resume('child')).toMatchObject({
      status: 'cancelled',
    });
  });

  test.each([
    [{}, /'at' must be given/],
    [{ at: 3, then: 'replayed' }, /'then' is 'replayed', and must be one of: live, recorded/],
    [{ at: 3, then: null }, /'then' is 'null'/],
    [{ at: 3, then: 'recorded', missing: 'refused' }, /'missing' is 'refused', and must be one of: live, refuse/],
    [{ input: ' ' }, /'input' must be a text that is not blank/],
    [{ input: 5 }, /'input' must be a text that is not blank/],
    [{ at: 0 }, /after its records 1 to 9, and not after 0/],
    [{ at: 10 }, /not after 10/],
    [{ at: 1, outcome: { ok: true, value: 1 } }, /no outcome to change/],
    ...[5, {}, { ok: true }, { ok: false, error: 'x' }].map(
      (outcome) => [{ at: 6, outcome }, /Option 'outcome' must be \{ ok: true, value \} or/] as const,
    ),
    [{ at: 2, outcome: { ok: true, value: 5 } }, /Option 'outcome': The model's reply cannot be read: it is number/],
    [{ at: 3, outcome: { ok: true, value: { toolCalls: 5 } } }, /toolCalls is not a list/],
    [{ at: 9, outcome: { ok: true, value: { content: 5 } } }, /its content is number/],
    [{ at: 9, outcome: { ok: true, value: {} } }, /its content is missing/],
  ] as const)('refuses %j, and records nothing', async (options, reason) => {
    const { agent, journal } = forking([]);
    const recording = await recorded();
    const begin = (): unknown => Reflect.apply(fork, null, [recording, agent, options]);
    expect(begin).toThrow(reason);
    expect(begin).toThrow(TypeError);
    expect(await journal.list?.()).toEqual([]);
  });

  test('refuses an outcome from which a machine cannot go on, and takes every other', async () => {
    const look = tool({
      name: 'look',
      description: 'Looks.',
      inputSchema: { type: 'object', properties: {} },
      policy: 'confirm',
      validateArgs: (args) => args,
      execute: () => 'a cat',
    });
    const confirm = () => 'allow-once' as const;
    const options = { ...OPTIONS, instructions: () => 'Look first.', tools: [look], confirm };
    const run = createAgent({ ...options, model: scriptedModel([calls(['look']), 'A cat.']) }).run('What is here?');
    await run;
    const lines = run.recording().trim().split('\n');
    const outcomeOf = (leaf: string) =>
      1 + lines.findIndex((line) => line.startsWith('{"t":"outcome"') && line.includes(leaf));
    const journal = memoryJournal();
    const again = createAgent({ ...options, journal, model: scriptedModel([calls(['look']), 'A cat.']) });
    for (const leaf of ['composePrompt', 'checkArgs', 'askApproval']) {
      const how = { at: outcomeOf(leaf), outcome: { ok: true, value: null } } as const;
      expect(() => fork(lines, again, how)).toThrow(TypeError);
      expect(() => fork(lines, again, how)).toThrow(
        new RegExp(`cannot continue with this outcome of agent/.*${leaf}#1`),
      );
    }
    expect(await journal.list?.()).toEqual([]);
    const refused = { ok: false, error: { code: 'thrown', message: 'No.' } } as const;
    for (const leaf of ['composePrompt', 'checkArgs', 'askApproval'])
      expect(await fork(lines, again, { at: outcomeOf(leaf), outcome: refused })).toMatchObject({
        runId: expect.any(String),
      });
  });

  test("a model's turn that only calls needs no content, and one that failed is not looked at", async () => {
    const { agent, tools } = forking(['Fish.']);
    const outcome = { ok: true, value: { toolCalls: [{ name: 'smell' }] } } as const;
    const run = fork(await recorded(), agent, { at: 3, outcome });
    expect(await run).toMatchObject({ result: 'Fish.', toolsUsed: ['smell'] });
    expect(tools.map((one) => one.calls.length)).toEqual([0, 1]);
    expect(await replay(run.recording(), agent)).toMatchObject({ result: 'Fish.' });
    const failed = { ok: false, error: { code: 'auth', message: 'No key.' } } as const;
    expect(await fork(await recorded(), agent, { at: 2, outcome: failed })).toMatchObject({ status: 'failed' });
  });

  test('what a tool gave is not looked at: a tool may give anything', async () => {
    const { agent, model } = forking(['Five.']);
    const outcome = { ok: true, value: { status: 'success', data: { toolCalls: 5 } } } as const;
    expect(await fork(await recorded(), agent, { at: 7, outcome })).toMatchObject({ result: 'Five.' });
    expect(JSON.stringify(model.requests[0]?.messages)).toContain('toolCalls');
  });
});

test('a fork at the head begins as any run does: nothing of it is replayed, and a journal that cannot begin it ends it', async () => {
  const recording = await recorded();
  const replayed: boolean[] = [];
  const { agent } = forking(['Another answer.'], { onEvent: (event) => void replayed.push(event.replayed) });
  expect(await fork(recording, agent, { at: 1 })).toMatchObject({ result: 'Another answer.' });
  expect(replayed).not.toContain(true);
  const open = () => {
    throw Object.assign(new Error('no disk'), { code: 'ENOSPC' });
  };
  const failed = fork(recording, forking([], { journal: { open } }).agent, { at: 1 });
  expect(await failed).toMatchObject({ status: 'failed', error: { code: 'ENOSPC' } });
});

test('a fork that is cancelled before it has begun ends where it was cut, and asks nobody', async () => {
  const { agent, model, tools } = forking([]);
  const run = fork(await recorded(), agent, { at: 7, signal: AbortSignal.abort('not needed') });
  expect(await run).toMatchObject({ status: 'cancelled', error: { message: 'not needed' } });
  expect([model.requests, ...tools.map((one) => one.calls)]).toEqual([[], [], []]);
});

import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { ResumeError } from '../../src/agent/options/agent-errors.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { ModelError } from '../../src/actors/model.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import type { Recording } from '../../src/journal/format/recording.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';
import { interruptedAfter, lineCount, timeless } from './interrupted.ts';

const REPLIES = [
  new ModelError('server-error', 'try again', { status: 503 }),
  calls(['look', { at: 'left' }], ['look', { at: 'right' }]),
  plan(['look', { at: 'up' }], ['look', { at: '$PREV.at' }]),
  'A cat.',
];
const OPTIONS: AgentOptions = {
  name: 'watcher',
  instructions: 'Look first.',
  silent: true,
  retry: { backoff: recover.constant(2) },
};

/** A model that knows by the request how often it has answered: a new one goes on where the last stood. */
function remembering() {
  return scriptedModel(
    Array.from({ length: 9 }, () => ({ messages }: { messages: readonly { role: string }[] }) => {
      const turns = messages.filter(({ role }) => role === 'assistant').length;
      return REPLIES[turns + 1] ?? 'lost';
    }),
  );
}

const look = () => fakeTool('look', [(args) => args], { effects: 'idempotent' });

async function whole() {
  const run = createAgent({ ...OPTIONS, tools: [look()], model: scriptedModel(REPLIES) }).run('What is here?', {
    runId: 'one',
  });
  const result = await run;
  return { recording: run.recording(), result: { ...result, durationMs: 0 }, moves: run.transitions() };
}

describe('agent.resume', () => {
  test('goes on from every line of a recording to the same result, and the file stays one recording', async () => {
    const { recording, result, moves } = await whole();
    for (let lines = 1; lines < lineCount(recording); lines++) {
      const journal = interruptedAfter(recording, lines);
      const agent = createAgent({ ...OPTIONS, journal, tools: [look()], model: remembering() });
      // A backoff that is still to come is not known to a model that remembers.
      if (lines < 3) continue;
      const run = agent.resume('one');
      expect({ ...(await run), durationMs: 0 }, `after line ${lines}`).toEqual(result);
      expect(run.transitions()).toEqual(moves);
      expect(timeless(journal.text())).toBe(timeless(recording));
      expect(timeless(run.recording())).toBe(timeless(recording));
      expect({ ...(await replay(journal.text(), agent)), durationMs: 0 }).toEqual(result);
      expect(agent.history).toEqual(result.messages);
    }
  });

  test('tells what was played as replayed, with the numbers that it had', async () => {
    const { recording } = await whole();
    const journal = interruptedAfter(recording, 13);
    const shown: string[] = [];
    const output = { toolUsage: (name: string) => void shown.push(name) };
    const agent = createAgent({ ...OPTIONS, output, journal, tools: [look()], model: remembering() });
    const run = agent.resume('one');
    const seen: { seq: number; replayed: boolean }[] = [];
    for await (const { seq, replayed } of run) seen.push({ seq, replayed });
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1));
    expect(seen.findIndex(({ replayed }) => !replayed)).toBeGreaterThan(0);
    expect(seen.slice(seen.findIndex(({ replayed }) => !replayed)).some(({ replayed }) => replayed)).toBe(false);
    expect(shown).toEqual(['look', 'look']);
  });

  test('a run that is over has its recorded result, and nothing is written', async () => {
    const { recording, result } = await whole();
    const journal = interruptedAfter(recording, lineCount(recording));
    const before = journal.text();
    const never = scriptedModel([]);
    const agent = createAgent({ ...OPTIONS, journal, tools: [look()], model: never });
    expect({ ...(await agent.resume('one')), durationMs: 0 }).toEqual(result);
    expect(journal.text()).toBe(before);
    expect(never.requests).toEqual([]);
  });

  test('what must run once is not repeated: its outcome is unknown, and the model is told so', async () => {
    const pay = fakeTool('pay');
    const first = createAgent({ ...OPTIONS, tools: [pay], model: scriptedModel([calls(['pay']), 'Paid.']) });
    const run = first.run('Pay', { runId: 'one' });
    await run;
    const again = fakeTool('pay');
    const model = scriptedModel([({ messages }) => JSON.stringify(messages.at(-1)?.content), 'Unsure.']);
    const journal = interruptedAfter(run.recording(), 4);
    const agent = createAgent({ ...OPTIONS, journal, tools: [again], model });
    const { result } = await agent.resume('one');
    expect(result).toMatch(/while 'pay' was running.*nobody knows whether it took effect/);
    expect(result).toMatch(/call of 'pay' took effect: it may have/);
    expect(result).not.toMatch(/callTool|alternative/);
    expect(again.calls).toEqual([]);
  });

  test('an approval that was awaited is awaited on, and may be given at once', async () => {
    const danger = fakeTool('danger', ['done'], { policy: 'confirm' });
    const options = { ...OPTIONS, confirm: 'wait', tools: [danger] } as const;
    const model = scriptedModel([calls(['danger', {}]), 'Done.']);
    const agent = createAgent({ ...options, model });
    const run = agent.run('Go', { runId: 'one' });
    for await (const event of run) if (event.type === 'approval.requested') break;
    const journal = interruptedAfter(run.recording(), 99);
    const later = createAgent({ ...options, journal, model: scriptedModel(['Done.']) });
    expect(await later.pending('one')).toMatchObject([{ runId: 'one', callId: 'c1', tool: 'danger' }]);
    const resumed = later.resume('one');
    expect(await resumed.approve('c1')).toBe(true);
    expect(await resumed).toMatchObject({ result: 'Done.', toolsUsed: ['danger'] });
    expect(danger.calls).toHaveLength(1);
    await agent.close();
  });

  test('an approval can be given to a run that nobody writes; whoever resumes it finds it', async () => {
    const danger = fakeTool('danger', ['done'], { policy: 'confirm' });
    const options = { ...OPTIONS, confirm: 'wait', tools: [danger] } as const;
    const first = createAgent({ ...options, model: scriptedModel([calls(['danger', {}], ['danger', { n: 2 }])]) });
    const run = first.run('Go', { runId: 'one' });
    for await (const event of run) if (event.type === 'approval.requested' && event.callId === 'c2') break;
    const journal = interruptedAfter(run.recording(), 99);
    await first.close();
    const answering = createAgent({ ...options, journal });
    expect(await answering.approve('one', 'c9')).toBe(false);
    expect(await answering.approve('two', 'c1')).toBe(false);
    expect(await answering.approve('one', 'c1')).toBe(true);
    expect(await answering.approve('one', 'c1')).toBe(false);
    expect(await answering.reject('one', 'c2', 'too much')).toBe(true);
    expect(await answering.pending('one')).toEqual([]);
    expect(danger.calls).toEqual([]);
    const model = scriptedModel([({ messages }) => JSON.stringify(messages.slice(-2))]);
    const result = await createAgent({ ...options, journal, model }).resume('one');
    expect(danger.calls).toEqual([{}]);
    expect(result.result).toMatch(/done.*too much/s);
  });

  test('a wait that ran out meanwhile is over: a late approval is refused', async () => {
    const danger = fakeTool('danger', ['done'], { policy: 'confirm' });
    const options: AgentOptions = { ...OPTIONS, confirm: 'wait', tools: [danger], timeouts: { approvalMs: 60_000 } };
    const first = createAgent({ ...options, model: scriptedModel([calls(['danger'])]) });
    const run = first.run('Go', { runId: 'one' });
    for await (const event of run) if (event.type === 'approval.requested') break;
    const twoMinutesAgo = new Date(Date.now() - 120_000).toISOString();
    const journal = interruptedAfter(run.recording().replace(/"at":"[^"]+"/, `"at":"${twoMinutesAgo}"`), 99);
    await first.close();
    const later = createAgent({ ...options, journal, model: scriptedModel(['Too late.']) });
    expect(await later.pending('one')).toEqual([]);
    expect(await later.approve('one', 'c1')).toBe(false);
    expect(await later.resume('one')).toMatchObject({ result: 'Too late.' });
    expect(danger.calls).toEqual([]);
    expect(journal.text()).toContain('{"t":"timer"');
  });

  test('an approval in time has stopped its deadline: it does not come up once the run goes on', async () => {
    const options: AgentOptions = { ...OPTIONS, confirm: 'wait', timeouts: { approvalMs: 60_000 } };
    const began = Promise.withResolvers<null>();
    const hangs = fakeTool('slow', [() => (began.resolve(null), new Promise(() => undefined))], {
      policy: 'confirm',
      effects: 'none',
    });
    const first = createAgent({ ...options, tools: [hangs], model: scriptedModel([calls(['slow'])]) });
    const run = first.run('Go', { runId: 'one' });
    for await (const event of run) if (event.type === 'approval.requested') break;
    expect(await run.approve('c1')).toBe(true);
    await began.promise;
    const twoMinutesAgo = new Date(Date.now() - 120_000).toISOString();
    const journal = interruptedAfter(run.recording().replace(/"at":"[^"]+"/, `"at":"${twoMinutesAgo}"`), 99);
    await first.close({ graceMs: 1 });
    const slow = fakeTool('slow', ['done'], { policy: 'confirm', effects: 'none' });
    const later = createAgent({ ...options, tools: [slow], journal, model: scriptedModel(['Done.']) });
    expect(await later.resume('one')).toMatchObject({ result: 'Done.', toolsUsed: ['slow'] });
    expect(journal.text()).not.toContain('{"t":"timer"');
  });

  test('a wait lasts what is left of it', async () => {
    const backoff = recover.constant(60_000);
    const down = new ModelError('server-error', 'down', { status: 503 });
    const first = createAgent({ ...OPTIONS, retry: { backoff }, model: scriptedModel([down]) });
    const run = first.run('Go', { runId: 'one' });
    for await (const event of run) if (event.type === 'model.retrying') break;
    const almost = new Date(Date.now() - 59_980).toISOString();
    const journal = interruptedAfter(run.recording().replace(/"at":"[^"]+"/, `"at":"${almost}"`), 99);
    await first.close();
    const agent = createAgent({ ...OPTIONS, retry: { backoff }, journal, model: scriptedModel(['Up again.']) });
    expect((await agent.resume('one')).result).toBe('Up again.');
  });

  test('a run that was taken up five times for nothing is ended, and stays ended', async () => {
    const { recording } = await whole();
    const lines = recording.split('\n').slice(0, 6);
    const restarts = Array.from({ length: 5 }, () => '{"t":"restart","at":9}');
    const journal = interruptedAfter([...lines, ...restarts].join('\n'), 99);
    const agent = createAgent({ ...OPTIONS, journal, tools: [look()], model: scriptedModel([]) });
    const result = await agent.resume('one');
    expect(result).toMatchObject({ status: 'failed', reason: 'thrown', error: { code: 'crash-loop' } });
    expect(await agent.resume('one')).toMatchObject({ error: { code: 'crash-loop' } });
    expect(await replay(journal.text(), agent)).toMatchObject({ error: { code: 'crash-loop' } });
  });

  test('four times for nothing is not yet too often, nor is any number with something between', async () => {
    const { recording, result } = await whole();
    const restart = '{"t":"restart","at":9}';
    const lines = recording.split('\n').slice(0, 6);
    const spread = [...lines.slice(0, 3), restart, restart, restart, ...lines.slice(3), restart, restart, restart];
    const journal = interruptedAfter(spread.join('\n'), 99);
    const agent = createAgent({ ...OPTIONS, journal, tools: [look()], model: remembering() });
    expect(await agent.resume('one')).toMatchObject({ result: result.result });
  });

  test('occupies the agent like any run, and its signal and context are the new ones', async () => {
    const { recording } = await whole();
    const journal = interruptedAfter(recording, 4);
    const given: unknown[] = [];
    const tools = [fakeTool('look', [() => new Promise(() => undefined)], { effects: 'none' })];
    const agent = createAgent({ ...OPTIONS, journal, tools, model: scriptedModel([]), onEvent: (e) => given.push(e) });
    const stop = new AbortController();
    const run = agent.resume('one', { signal: stop.signal });
    expect(() => agent.run('Hello')).toThrow(/busy with run one/);
    expect(() => agent.resume('one')).toThrow(/busy with run one/);
    stop.abort(new Error('enough'));
    expect(await run).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
    await agent.close();
    expect(() => agent.resume('one')).toThrow(/closed/);
  });

  test.each([
    ['run-unknown', memoryJournal()],
    ['journal-cannot-resume', { open: () => Promise.reject }],
  ])('is refused with %s, and the agent is free again', async (code, journal) => {
    const agent = createAgent({ ...OPTIONS, journal: journal as never, model: scriptedModel(['Hi.']) });
    const error: unknown = await agent.resume('nowhere').then(null, (thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ResumeError);
    expect(error).toMatchObject({ code, runId: 'nowhere' });
    expect(agent.state).toBe('PLANNING');
    expect(agent.history).toEqual([]);
  });

  test('a run that is being written by somebody else is locked', async () => {
    const journal = memoryJournal();
    const options = {
      ...OPTIONS,
      journal,
      confirm: 'wait',
      tools: [fakeTool('danger', [1], { policy: 'confirm' })],
    } as const;
    const first = createAgent({ ...options, model: scriptedModel([calls(['danger'])]) });
    const run = first.run('Go');
    for await (const event of run) if (event.type === 'approval.requested') break;
    const second = createAgent({ ...options, model: scriptedModel([]) });
    await expect(second.resume(run.runId)).rejects.toMatchObject({ code: 'run-locked' });
    const { requests: _none, ...unreachable } = journal;
    const third = createAgent({ ...options, journal: unreachable, model: scriptedModel([]) });
    await expect(third.approve(run.runId, 'c1')).rejects.toMatchObject({ code: 'run-locked' });
    await first.close();
  });

  test('tools that are different now are known from the next turn on, and the file still replays', async () => {
    const { recording } = await whole();
    const journal = interruptedAfter(recording, 8);
    const model = remembering();
    const tools = [look(), fakeTool('smell')];
    const agent = createAgent({ ...OPTIONS, journal, tools, model });
    expect((await agent.resume('one')).result).toBe('A cat.');
    expect(model.requests.map((request) => request.tools?.map(({ name }) => name))).toEqual([
      ['look', 'smell', 'make_plan'],
      ['look', 'smell', 'make_plan'],
    ]);
    expect(journal.text()).toContain('"tools.changed"');
    expect((await replay(journal.text(), createAgent({ ...OPTIONS, tools: [look()], model }))).result).toBe('A cat.');
  });

  describe('a call with a secret', () => {
    const key = `sk-${'a1'.repeat(15)}`;
    const send = () => fakeTool('send', [(args) => args], { effects: 'idempotent' });
    const interrupted = async (secrets: Record<string, string>) => {
      const first = createAgent({
        ...OPTIONS,
        tools: [send()],
        model: scriptedModel([calls(['send', { key }]), 'Sent.']),
      });
      const run = first.run('Send it', { runId: 'one' });
      await run;
      expect(run.recording()).not.toContain(key);
      return { ...interruptedAfter(run.recording(), 4), secrets: { read: () => secrets, keep: () => undefined } };
    };

    test('gets it from beside the journal, in whatever process', async () => {
      const tool = send();
      const journal = await interrupted({ '«secret:1»': key });
      await createAgent({ ...OPTIONS, journal, tools: [tool], model: scriptedModel(['Sent.']) }).resume('one');
      expect(tool.calls).toEqual([{ key }]);
      expect(journal.text()).not.toContain(key);
    });

    test('is not made when it is lost, whatever other secrets the agent has', async () => {
      const tool = send();
      const journal = await interrupted({});
      const model = scriptedModel(['Sent.']);
      const agent = createAgent({ ...OPTIONS, secrets: ['another secret'], journal, tools: [tool], model });
      const result = await agent.resume('one');
      expect(tool.calls).toEqual([]);
      expect(result.errorHistory[0]?.message).toMatch(/«secret:1» is not known any more/);
    });
  });

  describe('made by other machines', () => {
    const other = (recording: string) => recording.replace(/"hash":"[^"]+"/, '"hash":"another"');

    test('goes on where it plays cleanly', async () => {
      const { recording, result } = await whole();
      const journal = interruptedAfter(other(recording), 6);
      const agent = createAgent({ ...OPTIONS, journal, tools: [look()], model: remembering() });
      expect((await agent.resume('one')).result).toBe(result.result);
    });

    test('is refused where it does not, and nothing is written', async () => {
      const { recording } = await whole();
      const journal = interruptedAfter(other(recording).replace('agent/llmCall/callLlm#1', 'agent/model#1'), 6);
      const before = journal.text();
      const agent = createAgent({ ...OPTIONS, journal, tools: [look()], model: remembering() });
      await expect(agent.resume('one')).rejects.toMatchObject({
        code: 'machine-changed',
        cause: { code: 'replay-divergence', cause: 'code-changed' },
      });
      expect(journal.text()).toBe(before);
    });

    test('goes on after a migration, and is kept as that gave it', async () => {
      const journal = memoryJournal();
      const { recording, result } = await whole();
      const old = other(recording).replaceAll('agent/llmCall/callLlm#1', 'agent/model#1').split('\n').slice(0, 6);
      const remarks = [
        { t: 'restart', at: 1 },
        { t: 'note', at: 1, note: { of: 'a person' } },
      ] as const;
      old.splice(2, 0, ...remarks.map((line) => JSON.stringify(line)));
      old.push(JSON.stringify({ t: 'restart', at: 2 }));
      const migrate = (past: Recording): Recording =>
        JSON.parse(JSON.stringify(past).replaceAll('agent/model#1', 'agent/llmCall/callLlm#1'));
      const store = { ...journal, take: interruptedAfter(old.join('\n'), 99).take ?? journal.take };
      const agent = createAgent({ ...OPTIONS, journal: store, tools: [look()], model: remembering() });
      const run = agent.resume('one', { migrate });
      expect((await run).result).toBe(result.result);
      const kept = await journal.read?.('one');
      expect(kept?.lines.at(-1)).toMatchObject({ t: 'end' });
      expect(JSON.stringify(kept)).not.toContain('agent/model#1');
      expect(kept?.lines).toEqual(expect.arrayContaining([...remarks]));
      // How often it was taken up decides whether it is a crash loop.
      expect(kept?.lines.filter(({ t }) => t === 'restart')).toHaveLength(3);
    });
  });
});

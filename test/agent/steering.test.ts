import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { ModelRequest } from '../../src/actors/model.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { replay } from '../../src/testing/index.ts';
import { calls, plan } from '../support/replies.ts';
import { createActor, toPromise } from 'xstate';

/** Something that is waited for, and opened by hand. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return { opened: promise, open: () => resolve(undefined) };
}

/** A reply or tool that says when it was asked for, and is held until it is let go. */
function held<T>(value: T) {
  const [asked, free] = [gate(), gate()];
  const wait = async (): Promise<T> => {
    asked.open();
    await free.opened;
    return value;
  };
  return { wait, asked: asked.opened, free: free.open };
}

function steered(replies: readonly ScriptedReply[], options: AgentOptions = {}) {
  const model = scriptedModel(replies);
  return { model, agent: createAgent({ model, silent: true, retry: { maxAttempts: 1 }, ...options }) };
}

const said = (request: ModelRequest | undefined): readonly string[] =>
  (request?.messages ?? [])
    .filter(({ role }) => role !== 'system')
    .map(({ role, content }) =>
      role === 'tool' ? 'a result' : `${role}: ${typeof content === 'string' ? content : ''}`,
    );

const WORD = {
  type: 'object',
  properties: { word: { type: 'string' } },
  required: ['word'],
  additionalProperties: false,
} as const;

describe('a steer', () => {
  test('reaches the model before its next request, several in order, and never within a tool call', async () => {
    const work = held('done');
    const look = fakeTool('look', [work.wait]);
    const { model, agent } = steered([calls(['look']), 'Metric it is.'], { tools: [look] });
    const run = agent.run('How far is it?');
    await work.asked;
    const first = run.steer('In metric units.');
    const second = run.steer('And briefly.');
    await expect(Promise.race([first, Promise.resolve('open')])).resolves.toBe('open');
    expect(model.requests).toHaveLength(1);
    work.free();
    expect(await first).toEqual({ delivered: true, step: 2, runId: run.runId });
    expect(await second).toEqual({ delivered: true, step: 2, runId: run.runId });
    const result = await run;
    expect(result).toMatchObject({ status: 'answered', result: 'Metric it is.' });
    expect(result).not.toHaveProperty('undelivered');
    expect(said(model.requests[1]).slice(-3)).toEqual(['a result', 'user: In metric units.', 'user: And briefly.']);
    expect(look.calls).toHaveLength(1);
  });

  test('that arrives beside a finished answer makes the run continue', async () => {
    const answer = held('First.');
    const { model, agent } = steered([answer.wait, 'Second.']);
    const run = agent.run('Say something.');
    await answer.asked;
    const sent = run.steer('No, something else.');
    answer.free();
    expect(await sent).toMatchObject({ delivered: true, step: 2 });
    expect(await run).toMatchObject({ status: 'answered', result: 'Second.', stepsTaken: 2 });
    expect(said(model.requests[1])).toEqual(['user: Say something.', 'assistant: First.', 'user: No, something else.']);
  });

  test('on the last step is returned, and the answer stands', async () => {
    const answer = held('First.');
    const { agent } = steered([answer.wait], { maxSteps: 1 });
    const run = agent.run('Say something.');
    await answer.asked;
    const sent = run.steer('Too late.', { id: 'm1', interrupt: true });
    answer.free();
    expect(await sent).toEqual({ delivered: false, reason: 'answer' });
    expect(await run).toMatchObject({
      status: 'answered',
      result: 'First.',
      undelivered: [{ id: 'm1', text: 'Too late.', kind: 'steer' }],
    });
  });

  test.each(['tool', 'native'] as const)('sets a typed answer aside in mode %s', async (outputMode) => {
    const give = (word: string) =>
      outputMode === 'tool' ? calls(['final_answer', { word }, word]) : JSON.stringify({ word });
    const answer = held(give('one'));
    const model = scriptedModel([answer.wait, give('two')]);
    const agent = createAgent({ model, silent: true, outputSchema: WORD, outputMode });
    const run = agent.run('Say a word.');
    await answer.asked;
    const sent = run.steer('Another.');
    answer.free();
    expect(await sent).toMatchObject({ delivered: true, step: 2 });
    expect(await run).toMatchObject({ status: 'answered', output: { word: 'two' } });
    const asked = said(model.requests[1]);
    expect(asked.at(-1)).toBe('user: Another.');
    expect(asked.filter((text) => text === 'a result')).toHaveLength(outputMode === 'tool' ? 1 : 0);
  });

  test('sets a typed answer aside that is being checked by code', async () => {
    const check = held(undefined);
    const agent = createAgent({
      model: scriptedModel([calls(['final_answer', { word: 'one' }]), calls(['final_answer', { word: 'two' }])]),
      silent: true,
      outputSchema: WORD,
      outputMode: 'tool',
      checkOutput: (value: unknown) => (JSON.stringify(value).includes('one') ? check.wait() : undefined),
    });
    const run = agent.run('Say a word.');
    await check.asked;
    const sent = run.steer('Another.');
    check.free();
    expect(await sent).toMatchObject({ delivered: true, step: 2 });
    expect(await run).toMatchObject({ output: { word: 'two' }, stepsTaken: 2 });
  });

  test('with interrupt voids the request in flight', async () => {
    const first = held('Never heard.');
    let aborted = false;
    const model = scriptedModel(['Heard.']);
    let asked = 0;
    const agent = createAgent({
      silent: true,
      model: {
        id: 'slow',
        complete: (request, io) => {
          if (asked++ > 0) return model.complete(request, io);
          io.signal.addEventListener('abort', () => (aborted = true));
          return first.wait().then((content) => ({ content }));
        },
      },
    });
    const run = agent.run('Speak.');
    await first.asked;
    expect(await run.steer('Faster.', { interrupt: true })).toMatchObject({ delivered: true, step: 2 });
    expect(aborted).toBe(true);
    first.free();
    expect(await run).toMatchObject({ result: 'Heard.' });
    expect(said(model.requests[0])).toEqual(['user: Speak.', 'user: Faster.']);
  });

  test('with interrupt leaves running tools alone', async () => {
    const work = held('done');
    let aborted = false;
    const look = fakeTool('look', [
      (_args, { signal }) => {
        signal.addEventListener('abort', () => (aborted = true));
        return work.wait();
      },
    ]);
    const { model, agent } = steered([calls(['look']), 'Done.'], { tools: [look] });
    const run = agent.run('Look.');
    await work.asked;
    const sent = run.steer('Now!', { interrupt: true });
    work.free();
    expect(await sent).toMatchObject({ delivered: true, step: 2 });
    await run;
    expect([aborted, look.calls.length, said(model.requests[1]).at(-2)]).toEqual([false, 1, 'a result']);
  });

  test('is one message, however often it is sent under the same id', async () => {
    const work = held('done');
    const last = held('Done.');
    const { model, agent } = steered([calls(['look']), last.wait], { tools: [fakeTool('look', [work.wait])] });
    const run = agent.run('Look.');
    await work.asked;
    const sent = [
      run.steer('Once.', { id: 'm' }),
      run.steer('Once.', { id: 'm' }),
      agent.steer(run.runId, 'Once.', { id: 'm' }),
    ];
    work.free();
    expect(new Set((await Promise.all(sent)).map((one) => JSON.stringify(one))).size).toBe(1);
    await last.asked;
    expect(await run.steer('Once.', { id: 'm' })).toEqual({ delivered: true, step: 2, runId: run.runId });
    last.free();
    await run;
    expect(said(model.requests[1]).filter((text) => text === 'user: Once.')).toHaveLength(1);
    expect(await run.steer('Once.', { id: 'm' })).toEqual({ delivered: true, step: 2, runId: run.runId });
  });

  test('is refused beyond maxSteers, counting those that were delivered', async () => {
    const [one, two] = [held('a'), held('b')];
    const tools = [fakeTool('look', [one.wait, two.wait])];
    const { agent } = steered([calls(['look', { n: 1 }]), calls(['look', { n: 2 }]), 'Done.'], { tools, maxSteers: 2 });
    const run = agent.run('Look twice.');
    await one.asked;
    const first = run.steer('1');
    one.free();
    await first;
    await two.asked;
    const second = run.steer('2');
    expect(await run.steer('3')).toEqual({ delivered: false, reason: 'too-many' });
    two.free();
    expect(await second).toMatchObject({ delivered: true, step: 3 });
    const result = await run;
    expect([result.status, result.undelivered]).toEqual(['answered', undefined]);
  });

  test.each([
    ['a cancel', 'cancelled', (run: { cancel(): unknown }) => run.cancel(), 'never'],
    ['a failure of the model', 'llm-error', () => undefined, new Error('down')],
  ] as const)('is returned after %s', async (_what, reason, end, reply) => {
    const answer = held(reply);
    const { agent } = steered([answer.wait]);
    const run = agent.run('Go.');
    await answer.asked;
    const sent = run.steer('Hello?', { id: 'm' });
    const queued = run.queue('Next?', { id: 'q' });
    void end(run);
    answer.free();
    expect(await sent).toEqual({ delivered: false, reason });
    const { undelivered } = await run;
    expect(undelivered).toContainEqual({ id: 'm', text: 'Hello?', kind: 'steer' });
    expect(await queued).toMatchObject({ delivered: true });
  });

  test('to a run that is over is refused, and a blank one throws', async () => {
    const { agent } = steered(['Done.']);
    const run = agent.run('Go.');
    await run;
    expect(await run.steer('Late.')).toEqual({ delivered: false, reason: 'over' });
    expect(() => run.steer('  ')).toThrow('run.steer: the message must be a text that is not blank.');
    expect(() => run.queue('Go.', { id: '' })).toThrow("run.queue: option 'id' must be a text that is not empty.");
    // @ts-expect-error -- no such option
    expect(() => run.steer('Go.', { interupt: true })).toThrow('interrupt');
  });

  test('sent during a plan waits for the end of the plan', async () => {
    const step = held('one');
    const look = fakeTool('look', [step.wait, 'two']);
    const { model, agent } = steered([plan(['look', { n: 1 }], ['look', { n: 2 }]), 'Done.'], { tools: [look] });
    const run = agent.run('Look twice.');
    await step.asked;
    const sent = run.steer('Hurry.');
    step.free();
    expect(await sent).toMatchObject({ delivered: true });
    await run;
    expect([look.calls.length, model.requests.length]).toEqual([2, 2]);
    expect(said(model.requests[1]).at(-1)).toBe('user: Hurry.');
  });

  test('sent while a call waits for a person is delivered after it, and the call is still asked about', async () => {
    const danger = fakeTool('danger', ['boom'], { policy: 'confirm' });
    const { model, agent } = steered([calls(['danger']), 'Done.'], { tools: [danger], confirm: 'wait' });
    const run = agent.run('Do it.');
    let sent: Promise<unknown> = Promise.resolve();
    for await (const event of run) {
      if (event.type === 'approval.requested') sent = run.steer('Careful.');
      if (event.type === 'message.received') {
        expect(run.pending).toHaveLength(1);
        await run.approve(run.pending[0]?.callId ?? '');
      }
    }
    expect(await sent).toMatchObject({ delivered: true, step: 2 });
    expect(said(model.requests[1]).slice(-2)).toEqual(['a result', 'user: Careful.']);
  });

  test('is emitted when it is received and when it is delivered, once each', async () => {
    const answer = held('First.');
    const { agent } = steered([answer.wait, 'Second.']);
    const run = agent.run('Go.');
    await answer.asked;
    void run.steer('More.', { id: 'm' });
    void run.queue('Next.', { id: 'q' });
    answer.free();
    const events: unknown[] = [];
    for await (const event of run)
      if (event.type === 'message.received' || event.type === 'message.delivered') {
        const { id, text } = event;
        events.push({ ...('kind' in event ? { kind: event.kind } : { step: event.step }), type: event.type, id, text });
      }
    expect(events).toMatchObject([
      { type: 'message.received', id: 'm', text: 'More.', kind: 'steer' },
      { type: 'message.received', id: 'q', text: 'Next.', kind: 'queue' },
      { type: 'message.delivered', id: 'm', text: 'More.', step: 2 },
    ]);
  });

  test('is replayed from the recording, with the same transitions', async () => {
    const answer = held('First.');
    const { agent } = steered([answer.wait, 'Second.']);
    const run = agent.run('Go.');
    await answer.asked;
    void run.steer('More.');
    answer.free();
    const { result } = await run;
    const again = replay(run.recording(), agent);
    expect((await again).result).toBe(result);
    expect(again.transitions()).toEqual(run.transitions());
  });

  test('has marks for secrets in the recording, and the model never sees the secret', async () => {
    const secret = 'correct-horse-battery';
    const answer = held('First.');
    const { model, agent } = steered([answer.wait, 'Second.'], { secrets: [secret], maxSteps: 2 });
    const run = agent.run('Go.');
    await answer.asked;
    const sent = run.steer(`The key is ${secret}.`);
    answer.free();
    await sent;
    const { messages } = await run;
    expect(run.recording()).not.toContain(secret);
    expect(JSON.stringify(model.requests)).not.toContain(secret);
    expect(JSON.stringify(messages)).toContain(secret);
  });

  test('is kept by a run that was let go, is one message there, and is delivered when that is resumed', async () => {
    const journal = memoryJournal();
    const work = held('done');
    const tools = [fakeTool('look', [work.wait, 'again'], { effects: 'idempotent' })];
    const { model, agent } = steered([calls(['look']), 'Done.'], { tools, journal });
    const run = agent.run('Look.');
    await work.asked;
    const sent = run.steer('One.', { id: '1' });
    const queued = run.queue('After.', { id: 'q' });
    for await (const event of run) {
      if (event.type === 'message.received' && event.id === 'q') break;
    }
    expect(await run.release()).toBe(true);
    expect([await sent, await queued]).toEqual([
      { delivered: false, reason: 'kept' },
      { delivered: false, reason: 'kept' },
    ]);
    expect(await agent.steer(run.runId, 'Two.', { id: '2' })).toEqual({ delivered: false, reason: 'kept' });
    expect(await agent.steer(run.runId, 'Two.', { id: '2' })).toEqual({ delivered: false, reason: 'kept' });
    expect(await agent.steer(run.runId, 'One.', { id: '1' })).toEqual({ delivered: false, reason: 'kept' });
    const resumed = agent.resume(run.runId);
    work.free();
    const events = [];
    for await (const event of resumed) events.push(event);
    expect((await resumed).undelivered).toEqual([{ id: 'q', text: 'After.', kind: 'queue' }]);
    expect(said(model.requests[1]).slice(-2)).toEqual(['user: One.', 'user: Two.']);
    expect(await agent.steer(run.runId, 'Two.', { id: '2' })).toMatchObject({ delivered: true, step: 2 });
    expect(await agent.steer(run.runId, 'New.')).toEqual({ delivered: false, reason: 'over' });
    await expect(agent.steer('nowhere', 'Hello?')).resolves.toEqual({ delivered: false, reason: 'over' });
  });

  test('reaches a run of agent.logic by its id, and what is queued there is returned', async () => {
    const answer = held('First.');
    const { agent } = steered([answer.wait, 'Second.']);
    const actor = createActor(agent.logic, { input: { task: 'Go.' } });
    actor.start();
    await answer.asked;
    const { runId } = actor.getSnapshot();
    const sent = agent.steer(runId, 'More.');
    const queued = agent.queue(runId, 'Next.', { id: 'q' });
    answer.free();
    expect(await sent).toMatchObject({ delivered: true, step: 2 });
    expect(await queued).toEqual({ delivered: false, reason: 'answer' });
    expect(await toPromise(actor)).toMatchObject({
      result: 'Second.',
      undelivered: [{ id: 'q', text: 'Next.', kind: 'queue' }],
    });
  });

  test('goes to the agent that was asked, not to its children', async () => {
    const below = held('From below.');
    const child = steered([below.wait], { name: 'helper', description: 'Helps.' });
    const { model, agent } = steered([calls(['helper', { task: 'Help.' }]), 'Done.'], { children: [child.agent] });
    const run = agent.run('Go.');
    await below.asked;
    const sent = run.steer('For you.');
    below.free();
    expect(await sent).toMatchObject({ delivered: true, step: 2 });
    await run;
    expect(child.model.requests).toHaveLength(1);
    expect(JSON.stringify(child.model.requests)).not.toContain('For you.');
    expect(said(model.requests[1]).at(-1)).toBe('user: For you.');
  });
});

import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';
import { startScene } from './scenes.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

async function callThatWaits(run: AsyncIterable<RunEvent>): Promise<string> {
  for await (const event of run) if (event.type === 'approval.requested') return event.callId;
  return '';
}

async function paying() {
  const shown = await inspector();
  const run = startScene('approval', { inspect: shown });
  return {
    run,
    callId: await callThatWaits(run),
    act: (body: unknown) => viewer(shown.url).act(run.runId, body),
    shown,
  };
}

describe('acting from the page', () => {
  test('approves a call that waits, once', async () => {
    const { run, callId, act } = await paying();
    expect(await act({ kind: 'approve', callId })).toEqual({ ok: true });
    expect((await run).toolsUsed).toEqual(['pay']);
    expect(await act({ kind: 'approve', callId })).toMatchObject({ ok: false, message: expect.stringMatching(/over/) });
  });

  test('approves with edited arguments', async () => {
    const { run, callId, act } = await paying();
    await act({ kind: 'approve', callId, args: { to: 'Ann', euros: 5 } });
    await run;
    const finished: unknown[] = [];
    for await (const event of run) if (event.type === 'tool.finished') finished.push(event.args);
    expect(finished).toEqual([{ to: 'Ann', euros: 5 }]);
  });

  test('takes what it is sent as it is, whatever its members are called', async () => {
    const { run, callId, act } = await paying();
    const args: unknown = JSON.parse('{"to":"Ann","__proto__":{"euros":5},"constructor":[1]}');
    expect(await act({ kind: 'approve', callId, args })).toEqual({ ok: true });
    await run;
    expect(run.recording()).toContain('"args":{"to":"Ann","__proto__":{"euros":5},"constructor":[1]}');
    for (const wrong of [[], 'x', 5, null]) {
      expect(await act({ kind: 'approve', callId, args: wrong })).toEqual({
        ok: false,
        message: 'args: expected an object',
      });
      expect(await act({ kind: 'send', event: wrong })).toMatchObject({
        ok: false,
        message: expect.stringMatching(/^event: /),
      });
    }
    for (const type of ['', 5, undefined])
      expect(await act({ kind: 'send', event: { type } })).toMatchObject({
        ok: false,
        message: expect.stringMatching(/with a type/),
      });
  });

  test('rejects with a reason that the model is told', async () => {
    const { run, callId, act } = await paying();
    expect(await act({ kind: 'reject', callId, reason: 'too much' })).toEqual({ ok: true });
    expect(JSON.stringify((await run).messages)).toContain('too much');
  });

  test('cancels a run', async () => {
    const { run, act } = await paying();
    expect(await act({ kind: 'cancel', reason: 'seen enough' })).toEqual({ ok: true });
    expect(await run).toMatchObject({ status: 'cancelled' });
  });

  test('sends any event that a machine takes now, to the actor that is meant, and no other', async () => {
    const { run, act } = await paying();
    expect(await act({ kind: 'send', event: { type: 'nobody.listens' } })).toMatchObject({ ok: false });
    expect(await act({ kind: 'send', event: { type: 'xstate.done.actor.c1', output: {} } })).toMatchObject({
      ok: false,
      message: expect.stringMatching(/itself/),
    });
    const event = { type: 'approval.given', always: false, args: null };
    expect(await act({ kind: 'send', event, to: 'agent/nobody' })).toMatchObject({ ok: false });
    expect(await act({ kind: 'send', event, to: 'agent/c1' })).toEqual({ ok: true });
    expect(await run).toMatchObject({ status: 'answered' });
  });

  test('says what is wrong with an order that makes no sense', async () => {
    const { run, act, shown } = await paying();
    for (const body of [{}, { kind: 'dance' }, { kind: 'approve' }, { kind: 'cancel', extra: 1 }, [], null])
      expect(await act(body)).toMatchObject({ ok: false, message: expect.stringMatching(/^\w/) });
    expect(
      await viewer(shown.url)
        .act('no-such-run', { kind: 'cancel' })
        .catch(() => 'refused'),
    ).toBe('refused');
    expect(run.pending).toHaveLength(1);
    await run.cancel();
  });

  test('forks a run behind large payloads from the entry that the page shows', async () => {
    const shown = await inspector();
    const model = scriptedModel([calls(['read', { n: 1 }]), calls(['read', { n: 2 }]), 'Read.']);
    const text = ({ n }: { readonly n?: unknown }) => ({ text: String(n).repeat(20_000) });
    const read = tool({ name: 'read', description: 'Reads.', execute: text });
    const run = createAgent({ model, tools: [read], silent: true, inspect: shown }).run('Read twice.');
    await run;
    expect(run.recording().match(/^\{"t":"blob"/gm)?.length).toBeGreaterThan(1);
    const { act, frames } = viewer(shown.url);
    const isEnd = (frame: Frame): boolean => frame.t === 'record' && frame.record.t === 'end';
    const replied = (await frames(run.runId, isEnd)).findLast(
      (frame) => frame.t === 'record' && frame.record.t === 'outcome',
    );
    const entry = replied?.t === 'record' ? replied.line : 0;
    const forked = await act(run.runId, { kind: 'fork', entry, outcome: { content: 'Read otherwise.' } });
    const ended = (await frames(forked.session ?? '', isEnd)).at(-1);
    expect(ended).toMatchObject({ line: entry + 1, record: { output: { result: 'Read otherwise.' } } });
  });

  test('forks a run from an entry with another outcome, as a run of its own that is shown too', async () => {
    const shown = await inspector();
    const run = startScene('approval', { inspect: shown });
    await run.approve(await callThatWaits(run));
    await run;
    const { act, list, frames } = viewer(shown.url);
    const seen = await frames(run.runId, (frame) => frame.t === 'record' && frame.record.t === 'end');
    const paid = seen.find(
      (frame) => frame.t === 'record' && frame.record.t === 'outcome' && /callTool/.test(frame.record.id),
    );
    const entry = paid?.t === 'record' ? paid.line : 0;
    const forked = await act(run.runId, { kind: 'fork', entry, outcome: { receipt: 'none' } });
    expect(forked).toEqual({ ok: true, session: expect.any(String) });
    const child = forked.session ?? '';
    const told = await list(
      (frame) => frame.t === 'session' && frame.session.id === child && frame.session.status !== 'running',
    );
    expect(told.at(-1)).toMatchObject({ session: { parent: { runId: run.runId }, kind: 'run' } });
    const end = (frame: Frame): boolean => frame.t === 'record' && frame.record.t === 'end';
    const changed = (await frames(child, end)).filter((frame) => frame.t === 'record' && frame.record.t === 'outcome');
    expect(JSON.stringify(changed)).toContain('"receipt":"none"');
    expect(await act(run.runId, { kind: 'fork', entry: 9999 })).toMatchObject({
      ok: false,
      message: expect.stringMatching(/cut/),
    });
  });

  test('forks a run that alone was given the inspector, and shows the fork on the same page, with what its tools were given', async () => {
    const shown = await inspector();
    const contexts: unknown[] = [];
    const look = tool({
      name: 'look',
      description: 'Looks.',
      execute: (_, { context }) => {
        contexts.push(context);
        return { sky: 'clear' };
      },
    });
    const model = scriptedModel([calls(['look', {}]), 'It is clear.', calls(['look', {}]), 'It is still clear.']);
    const agent = createAgent({ name: 'assistant', model, silent: true, tools: [look] });
    const run = agent.run('How is the sky?', { inspect: shown, context: { place: 'Oslo' } });
    await run;
    const { act, list, frames } = viewer(shown.url);
    const listed = (await list((frame) => frame.t === 'session')).at(-1);
    expect(listed).toMatchObject({ session: { can: ['fork', 'download'] } });

    const { session: first = '' } = await act(run.runId, { kind: 'fork', entry: 1 });
    await frames(first, (frame) => frame.t === 'record' && frame.record.t === 'end');
    expect(contexts).toEqual([{ place: 'Oslo' }, { place: 'Oslo' }]);
    // A fork can be forked again: it knows where it is shown.
    const { session: second = '' } = await act(first, { kind: 'fork', entry: 5 });
    const told = await list((frame) => frame.t === 'session' && frame.session.id === second);
    expect(told.at(-1)).toMatchObject({ session: { parent: { runId: first } } });
  });

  test('a recording from disk says why it cannot be forked, and how it can', async () => {
    const shown = await inspector();
    const run = startScene('plain');
    await run;
    const id = shown.open(run.recording());
    expect(await viewer(shown.url).act(id, { kind: 'fork', entry: 3 })).toMatchObject({
      ok: false,
      message: expect.stringMatching(/agent that made it is not here.*fork\(recording, agent/),
    });
  });

  test('lists what may be done with a run, and that it is over when it is', async () => {
    const { run, callId, act, shown } = await paying();
    const { list } = viewer(shown.url);
    const running = (await list((frame) => frame.t === 'session')).at(-1);
    expect(running).toMatchObject({
      session: {
        status: 'running',
        kind: 'run',
        can: expect.arrayContaining(['approve', 'cancel', 'send', 'download']),
      },
    });
    const ended = list((frame) => frame.t === 'session' && frame.session.status !== 'running');
    await turn();
    await act({ kind: 'approve', callId });
    await run;
    const last = (await ended).at(-1);
    expect(last).toMatchObject({ session: { status: 'answered', reason: 'answer' } });
    const can = last?.t === 'session' ? last.session.can : [];
    expect(can).toContain('download');
    expect(can.filter((one) => ['approve', 'cancel', 'send'].includes(one))).toEqual([]);
  });
});

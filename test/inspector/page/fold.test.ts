import { expect, test } from 'vitest';
import { ModelError } from '../../../src/actors/model.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { readRecording } from '../../../src/journal/format/recording.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { calls } from '../../support/replies.ts';
import { framesOf } from '../frames-of.ts';
import type { RunEvent } from '../../../src/machines/events/run-events.ts';
import { actorsAt, visitsAt } from '../../../src/inspector/page/model/actor-state.ts';
import { foldTalk, talkAt } from '../../../src/inspector/page/model/fold-talk.ts';
import { TalkDraft } from '../../../src/inspector/page/model/talk-draft.ts';
import { waitingCalls } from '../../../src/inspector/page/model/talk.ts';
import { framesOfScene, modelOf, sessionFrame, sessionOf, step } from './fixture.ts';

test('a run with a plan, an error and a retry becomes a conversation in order', () => {
  const kinds = sessionOf('plan-recovery').talk.items.map(({ kind }) => kind);

  expect(kinds[0]).toBe('task');
  expect(kinds.indexOf('plan')).toBeGreaterThan(kinds.indexOf('model'));
  expect(kinds.indexOf('call')).toBeGreaterThan(kinds.indexOf('plan'));
  expect(kinds.slice(-2)).toEqual(['answer', 'end']);
});

test('a plan shows which steps are done, which failed, and which never ran', () => {
  const plan = sessionOf('plan-recovery').talk.items.find((item) => item.kind === 'plan');

  expect(plan?.kind === 'plan' && plan.steps.map(({ status }) => status)).toEqual(['done', 'failed', 'dropped']);
});

test('a retried model turn keeps what failed, and how often it was tried', () => {
  const turns = sessionOf('plan-recovery').talk.items.flatMap((item) => (item.kind === 'model' ? [item] : []));
  const retried = turns.find(({ retries }) => retries.length > 0);

  expect(retried?.retries).toEqual([{ attempt: 1, code: 'model-error', message: 'The server is busy.' }]);
  expect(retried?.replied?.attempts).toBe(2);
});

/** A session, and what is told of one call in it. */
function toldOf(call: object) {
  const { model, session } = modelOf([sessionFrame()]);
  let seq = 0;
  const tell = (event: object, more: object = {}): void =>
    model.add({
      t: 'event',
      session: 'run',
      at: 1,
      step: 0,
      event: { seq: ++seq, replayed: false, ...call, ...event } as RunEvent,
      ...more,
    });
  return { session, tell };
}

test('what a person changes at an approval is kept; what a repair changes is not taken for it', () => {
  const { session, tell } = toldOf({ callId: 'c1', tool: 'pay' });
  const call = () => session.talk.items.find((item) => item.kind === 'call');
  tell({ type: 'approval.requested', args: { cents: 9 }, reason: '' });
  tell({ type: 'tool.started', args: { cents: 7 } });
  expect(call()).toMatchObject({ proposed: { cents: 9 }, args: { cents: 7 } });
  tell({ type: 'recovery.step', step: 'fix', attempt: 1, error: 'Cents are too few.' });
  tell({ type: 'tool.started', args: { cents: 8 } });
  expect(call()).toMatchObject({
    proposed: { cents: 9 },
    args: { cents: 8 },
    recovery: [{ step: 'fix #1', error: 'Cents are too few.' }],
  });

  tell({ type: 'approval.requested', callId: 'c2', args: { a: 1, b: 2 }, reason: '' });
  tell({ type: 'tool.started', callId: 'c2', args: { b: 2, a: 1 } });
  expect(session.talk.items.at(-1)).toMatchObject({ callId: 'c2', proposed: null });
});

test('what a server asks during a call, and what it was told, belong to the call', () => {
  const { session, tell } = toldOf({ callId: 'c1', tool: 'book', server: 'desk' });
  const questions = () => session.talk.items.flatMap((item) => (item.kind === 'call' ? item.questions : []));
  tell({ type: 'tool.started', args: {} });
  tell({ type: 'question.asked', kind: 'elicitation', message: 'Which seat?' });
  expect(questions()).toMatchObject([{ server: 'desk', message: 'Which seat?', action: null }]);
  tell({ type: 'question.answered', kind: 'sampling', action: 'accept', content: 'no', usage: null });
  expect(questions()).toMatchObject([{ action: null }]);
  tell({ type: 'question.answered', kind: 'elicitation', action: 'accept', content: { seat: '12A' }, usage: null });
  expect(questions()).toMatchObject([{ action: 'accept', content: { seat: '12A' } }]);
});

test('a call shows how far it is, each time it is run anew; a page that is open for hours keeps none of it', () => {
  const { session, tell } = toldOf({ callId: 'c1', tool: 'copy' });
  const progress = () => session.talk.items.flatMap((item) => (item.kind === 'call' ? [item.progress] : []));
  tell({ type: 'tool.progress', progress: 1, total: null, message: null });
  expect(progress()).toEqual([]);
  tell({ type: 'tool.started', args: {} });
  expect(progress()).toEqual(['']);
  const kept = session.told.length;
  tell({ type: 'tool.progress', progress: 2, total: null, message: null });
  expect(progress()).toEqual(['2']);
  tell({ type: 'tool.progress', progress: 3, total: 10, message: 'page 3' });
  expect(progress()).toEqual(['3 of 10: page 3']);
  tell({ type: 'tool.progress', callId: 'c2', progress: 9, total: 10, message: null });
  expect(progress()).toEqual(['3 of 10: page 3']);
  expect(session.told).toHaveLength(kept);
  tell({ type: 'tool.started', args: {} });
  expect(progress()).toEqual(['']);
});

test('a call that waits for a person waits until it is settled', () => {
  const frames = framesOfScene('approval');
  const { model, session } = modelOf(frames);
  expect(waitingCalls(session.talk).map(({ tool }) => tool)).toEqual(['pay']);

  const denial = { type: 'tool.denied', callId: 'c1', tool: 'pay', args: {}, reason: 'no', seq: 999, replayed: false };
  model.add({ t: 'event', session: session.info.id, at: 9, step: 99, event: { ...denial, type: 'tool.denied' } });

  expect(waitingCalls(session.talk)).toEqual([]);
});

test('the conversation at an earlier step is what had been said by then', () => {
  const session = sessionOf('parallel');
  const answered = session.told.find(({ event }) => event.type === 'answer')?.step ?? 0;

  expect(talkAt(session.told, answered - 1).items.some(({ kind }) => kind === 'answer')).toBe(false);
  expect(talkAt(session.told, session.steps.length).items).toEqual(session.talk.items);
});

test('however one looks around in a long run, the conversation is what had been said by then', () => {
  const { session, tell } = toldOf({ tool: 'count', server: 'desk' });
  for (let n = 0; n < 2000; n += 1) {
    const callId = `c${String(n)}`;
    tell({ type: 'approval.requested', callId, args: { n }, reason: '' });
    if (n % 3 !== 0) tell({ type: 'tool.started', callId, args: { n: n % 2 === 0 ? n : -n } });
    if (n % 5 !== 0) tell({ type: 'tool.finished', callId, args: { n }, ok: n % 7 !== 0, result: n, durationMs: n });
    if (n % 400 === 399) tell({ type: 'run.finished', result: {} });
  }
  const told = session.told.map((one, place) => ({ ...one, step: place }));
  const fresh = (position: number) => {
    const draft = new TalkDraft();
    for (const one of told.slice(0, position + 1)) foldTalk(draft, one);
    return draft.items;
  };
  const last = told.length - 1;
  expect(last).toBeGreaterThan(4200);
  for (const position of [last, 2047, 2048, 4095, 4096, 17, 2049, last, 4100, -1, last])
    expect(talkAt(told, position).items).toEqual(fresh(position));
});

test('tokens stream into their turn; a new attempt voids those before, and so does the first one when it comes again', () => {
  const { model, session } = modelOf([sessionFrame()]);
  const token = (text: string, attempt: number, index: number, kind: 'text' | 'reasoning' = 'text') =>
    model.add({
      t: 'event',
      session: 'run',
      at: 1,
      step: 0,
      event: {
        type: 'model.token',
        kind,
        text,
        attempt,
        index,
        thought: '',
        answer: '',
        seq: 1,
        replayed: false,
      },
    });
  const started = { type: 'step.started', step: 1, limit: 20, kind: 'model', seq: 1, replayed: false } as const;
  model.add({ t: 'event', session: 'run', at: 0, step: 0, event: started });
  token('Hel', 1, 0);
  token('Good', 2, 0);
  token('bye', 2, 1);

  expect(session.talk.items.at(-1)).toMatchObject({ kind: 'model', raw: 'Goodbye', attempt: 2 });
  token('Goodbye, you', 2, 0);
  expect(session.talk.items.at(-1)).toMatchObject({ raw: 'Goodbye, you' });
  // What it thinks is shown as a thought, and not a second time as what it says.
  token('Hm.', 2, 0, 'reasoning');
  expect(session.talk.items.at(-1)).toMatchObject({ raw: '' });
  token('Good', 2, 1);
  token('Hm!', 2, 2, 'reasoning');
  expect(session.talk.items.at(-1)).toMatchObject({ raw: 'Good' });
});

test('what a model had said when its run was cancelled is shown in its turn, also where no token was recorded', () => {
  const { session, tell } = toldOf({});
  tell({ type: 'step.started', step: 1, limit: 20, kind: 'model' });
  tell({ type: 'run.finished', result: { status: 'cancelled', partialAnswer: 'The sun is' } });
  expect(session.talk.items.find(({ kind }) => kind === 'model')).toMatchObject({
    answer: 'The sun is',
    endedAt: 1,
  });
});

test('a turn without a reply is over when its run or the call of its agent is, and no turn before that or with a reply is changed', async () => {
  const down = new ModelError('auth', 'No such key.');
  const below = createAgent({
    name: 'clerk',
    model: scriptedModel([calls(['look']), down]),
    tools: [fakeTool('look')],
    silent: true,
  });
  const model = scriptedModel([calls(['clerk', { task: 'Look' }]), calls(['wait']), down]);
  const agent = createAgent({ model, children: [below], tools: [fakeTool('wait')], silent: true });
  const run = agent.run('Ask the clerk');
  expect((await run).status).toBe('failed');
  const { told } = modelOf(framesOf(readRecording(run.recording()), { id: 'run', version: '' })).session;
  const turns = (end: number) => {
    const draft = new TalkDraft();
    for (const one of told.slice(0, end)) foldTalk(draft, one);
    return draft.items.flatMap((item) =>
      item.kind === 'model' ? [`${item.by?.name ?? 'root'} ${item.replied !== null} ${item.endedAt !== null}`] : [],
    );
  };
  const before = ['root true true', 'clerk true true'];
  const finished = told.findIndex(({ event }) => event.type === 'tool.finished' && event.tool === 'clerk');
  expect(turns(finished)).toEqual([...before, 'clerk false false']);
  expect(turns(finished + 1)).toEqual([...before, 'clerk false true']);
  const after = [...before, 'clerk false true', 'root true true'];
  expect(turns(told.length - 1)).toEqual([...after, 'root false false']);
  expect(turns(told.length)).toEqual([...after, 'root false true']);
});

test('a turn that was given up for another is over, once, and so is no turn of another agent', () => {
  const { session, tell } = toldOf({});
  const turn = { type: 'step.started', step: 1, limit: 20, kind: 'model' };
  const clerk = (at: number) => ({ at, agent: 'agent/c1/clerk' });
  const ended = () => session.talk.items.flatMap((item) => (item.kind === 'model' ? [item.endedAt] : []));
  tell(turn, { at: 1 });
  tell({ ...turn, child: 'clerk' }, clerk(2));
  tell({ ...turn, child: 'scribe' }, { at: 3, agent: 'agent/c11/scribe' });
  expect(ended()).toEqual([null, null, null]);
  tell(turn, { at: 4 });
  expect(ended()).toEqual([4, null, null, null]);
  for (const at of [5, 6])
    tell({ type: 'tool.finished', callId: 'c1', tool: 'clerk', args: {}, ok: false, result: '' }, { at });
  expect(ended()).toEqual([4, 5, null, null]);
  tell({ type: 'run.finished', result: {} }, { at: 7 });
  expect(ended()).toEqual([4, 5, 7, 7]);
});

test('frames that come twice change nothing', () => {
  const frames = framesOfScene('parallel');
  const once = modelOf(frames).session;
  const twice = modelOf([...frames, ...frames]).session;

  expect(twice.steps).toEqual(once.steps);
  expect(twice.talk.items).toEqual(once.talk.items);
});

test('frames of a session that nobody announced are dropped', () => {
  const { model } = modelOf([sessionFrame('known')]);
  model.add({ t: 'step', session: 'unknown', step: step(1, 'A') });

  expect([...model.sessions.keys()]).toEqual(['known']);
});

test('every step that is scrubbed to shows the actors that lived then, in the states they were in', () => {
  const session = sessionOf('parallel');
  for (const position of session.steps.keys()) {
    const moved = session.steps[position];
    const actor = actorsAt(session, position).find(({ path }) => path === moved?.actor);
    expect(actor?.step).toBe(moved);
  }
});

test('calls of one reply live side by side', () => {
  const session = sessionOf('parallel');
  const most = Math.max(
    ...session.steps.map((_, at) => actorsAt(session, at).filter(({ track }) => track.info.src === 'toolCall').length),
  );

  expect(most).toBe(2);
});

test('an actor that was born again under its path begins anew', () => {
  const { model, session } = modelOf([sessionFrame()]);
  const actor = { path: 'agent', parent: null, src: 'agent', drawing: 'd' };
  model.add({ t: 'actor', session: 'run', actor, step: 0 });
  model.add({ t: 'step', session: 'run', step: step(1, 'A') });
  model.add({ t: 'step', session: 'run', step: step(2, 'B', { from: ['A'] }) });
  model.add({ t: 'actor-gone', session: 'run', path: 'agent', step: 2 });
  model.add({ t: 'actor', session: 'run', actor, step: 2 });
  model.add({ t: 'step', session: 'run', step: step(3, 'A') });

  expect(actorsAt(session, 1)).toMatchObject([{ path: 'agent', alive: false }]);
  expect([...(actorsAt(session, 2)[0]?.active ?? [])]).toEqual(['A']);
  expect(session.actors.get('agent')?.lives).toHaveLength(2);
});

test('visits are counted up to the step that is looked at, forwards and backwards', () => {
  const session = sessionOf('plan-recovery');
  const last = session.steps.length - 1;
  const asking = (position: number) => visitsAt(session, 'agent', position).visits.get('PLANNING.ASKING') ?? 0;
  const end = asking(last);

  expect(asking(0)).toBe(0);
  expect(asking(last)).toBe(end);
  expect(end).toBe(3);
});

test('a server that speaks a newer protocol is known to', () => {
  const { model } = modelOf([{ t: 'hello', protocol: 99, version: '9.0.0', sessions: [] }, sessionFrame()]);

  expect(model.server).toMatchObject({ version: '9.0.0', newer: true });
});

test('what is asked about an escalation is no call that waits for ever', () => {
  const { model, session } = modelOf([sessionFrame()]);
  let seq = 0;
  const add = (event: object): void =>
    model.add({
      t: 'event',
      session: 'run',
      at: 1,
      step: 0,
      event: { ...event, seq: ++seq, replayed: false } as never,
    });
  const question = { callId: 'cq1', tool: 'pay', args: { question: 'Again?' }, reason: 'Again?' };

  add({ type: 'recovery.step', callId: 'cq1', tool: 'pay', step: 'askHuman', attempt: 1, error: 'refused' });
  expect(session.talk.items.map(({ kind }) => kind)).toEqual(['note']);
  add({ type: 'approval.requested', ...question });
  expect(waitingCalls(session.talk)).toHaveLength(1);
  add({ type: 'state.changed', from: 'ERROR_RECOVERY', to: 'PLANNING', event: 'always' });
  expect(waitingCalls(session.talk)).toEqual([]);
  for (const [callId, answer, status] of [
    ['cq2', 'yes', 'ok'],
    ['cq3', 'no', 'denied'],
    ['cq4', 'none', 'denied'],
  ]) {
    add({ type: 'approval.requested', ...question, callId });
    add({ type: 'state.changed', from: 'ERROR_RECOVERY', to: 'PLANNING', event: 'always', callId, answer });
    expect(session.talk.items.at(-1)).toMatchObject({ kind: 'call', callId, status });
  }
});

test('a plan of an agent is not touched by what a child does', () => {
  const { model, session } = modelOf([sessionFrame()]);
  let seq = 0;
  const add = (event: object, agent?: string): void => {
    const told = { ...event, seq: ++seq, replayed: false } as never;
    model.add({ t: 'event', session: 'run', at: 1, step: 0, event: told, ...(agent === undefined ? {} : { agent }) });
  };
  add({ type: 'plan.made', iteration: 1, steps: [{ tool: 'look', args: {} }] });
  add({ type: 'tool.started', callId: 'c1.1', tool: 'look', args: {}, child: 'scout' }, 'agent/c1/childAgent');
  add({ type: 'state.changed', from: 'EXECUTING_PLAN', to: 'PLANNING', child: 'scout' }, 'agent/c1/childAgent');
  const plan = session.talk.items.find((item) => item.kind === 'plan');

  expect(plan?.kind === 'plan' && plan.steps.map(({ status }) => status)).toEqual(['waiting']);
  expect(session.talk.items.find(({ kind }) => kind === 'call')?.by).toMatchObject({
    name: 'scout',
    depth: 1,
    call: 'c1',
  });
});

test('a call that has ended stays as it ended when its run does', () => {
  const statuses = sessionOf('parallel').talk.items.flatMap((item) => (item.kind === 'call' ? [item.status] : []));

  expect(statuses).toEqual(['ok', 'ok']);
});

test('a question that is answered closes the questions of its own agent, and of no other', () => {
  const { session, tell } = toldOf({ tool: 'continue', args: {}, reason: '' });
  tell({ type: 'approval.requested', callId: 'q1' });
  tell({ type: 'approval.requested', callId: 'c1.q1', child: 'helper' }, { agent: 'agent/c1/childAgent' });
  expect(waitingCalls(session.talk)).toHaveLength(2);
  tell({ type: 'state.changed', from: 'ERROR_RECOVERY', to: 'PLANNING', answer: 'no' });
  expect(waitingCalls(session.talk).map(({ callId }) => callId)).toEqual(['c1.q1']);
});

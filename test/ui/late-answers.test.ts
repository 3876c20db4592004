import { expect, onTestFinished, test, vi } from 'vitest';
import { type JournalStore, createAgent, recover, tool } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { agUi, runStream, uiStream } from '../../src/ui/index.ts';
import type { ServedAgent } from '../../src/ui/base/answer-approvals.ts';
import { PAY, payCall, payingAgent } from './paying-agent.ts';

/** An agent that asks a person what to do when its only tool fails. */
const asking = (journal: JournalStore) =>
  createAgent({
    model: scriptedModel([{ content: '', toolCalls: [{ name: 'read', arguments: {} }] }, 'Done.']),
    tools: [
      tool({
        name: 'read',
        description: 'Reads.',
        inputSchema: {},
        execute: () => Promise.reject(new Error('no disk')),
        onError: { executionError: recover.escalate('no disk') },
      }),
    ],
    onEscalation: (_error, to) => to.askHuman('Which disk?'),
    silent: true,
    confirm: 'wait',
    journal,
  });

const post = (body: object, path: string): Request =>
  new Request(`http://x${path}`, { method: 'POST', body: JSON.stringify(body) });

/** Ada's chat in which a call waits this long, and a yes to it at every entrance. */
async function waiting(approvalMs: number) {
  const journal = memoryJournal();
  const agent = payingAgent(journal, [PAY, 'Not paid.'], { timeouts: { approvalMs } });
  onTestFinished(() => agent.close());
  const as = { journal, owner: 'ada' };
  const said = { id: 'bills', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Pay.' }] }] };
  const stream = await (await uiStream.serve(agent, post(said, '/api/chat'), as)).text();
  const id = /"approvalId":"([^"]+)"/.exec(stream)?.[1] ?? '';
  const [runId = '', callId, digest] = id.split(':');
  const answers = [{ id, approved: true }];
  const resume = [{ interruptId: id, status: 'resolved', payload: { approved: true } }];
  const entrances: readonly (() => Promise<Response>)[] = [
    () => uiStream.serve(agent, post({ id: 'bills', action: 'answer', answers }, '/api/chat'), as),
    () => agUi.serve(agent, post({ threadId: 'bills', runId: 'r', messages: [], resume }, '/'), as),
    () => runStream.serve(agent, post({ type: 'approve', runId, callId, digest }, '/?id=bills'), as),
  ];
  const answered = async (): Promise<readonly string[]> => {
    const told: string[] = [];
    for (const enter of entrances) told.push(await (await enter()).text());
    return told;
  };
  return { agent, journal, id, runId, callId: callId ?? '', answered };
}

const IN_TIME = /nobody answered in time.*"approval-closed"|"approval-closed".*nobody answered in time/;

test('an answer to a parked run whose time is over is refused with that reason, at every entrance', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { agent, runId, answered } = await waiting(3_600_000);
  vi.setSystemTime(Date.now() + 3_700_000);
  for (const text of await answered()) expect(text).toMatch(IN_TIME);
  const [woken] = await agent.wake();
  expect([woken?.runId, woken?.result?.result]).toEqual([runId, 'Not paid.']);
  for (const text of await answered()) expect(text).toMatch(/nobody answered in time|The run is over/);
});

test('an answer to a run that went on without it is refused with that reason, at every entrance', async () => {
  const { answered } = await waiting(20);
  const [ui, ag, own] = await answered();
  expect(ui).toMatch(IN_TIME);
  expect(ag).toMatch(IN_TIME);
  expect(own).toContain('The run is over.');
});

test('an answer behind another one says nothing of time', async () => {
  const { agent, runId, callId, answered } = await waiting(3_600_000);
  await agent.reject(runId, callId, 'too much');
  await agent.resume(runId);
  for (const text of await answered()) {
    expect(text).toMatch(/denied by user: too much|The run is over/);
    expect(text).not.toContain('in time');
  }
});

test.each([
  ['a call', (journal: JournalStore) => payingAgent(journal), {}],
  ['a question', asking, { args: { answer: 'The second.' } }],
])('a no behind a yes to %s is told that, and the yes again is taken', async (_what, agentOf, how) => {
  const journal = memoryJournal();
  const agent = agentOf(journal);
  onTestFinished(() => agent.close());
  const as = { journal, owner: 'ada' };
  const said = { id: 'bills', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }] };
  const stream = await (await uiStream.serve(agent, post(said, '/api/chat'), as)).text();
  const id = /"approvalId":"([^"]+)"/.exec(stream)?.[1] ?? '';
  const [runId = '', callId = ''] = id.split(':');
  await agent.approve(runId, callId, how);
  await agent.resume(runId);
  const answer = async (approved: boolean): Promise<Response> =>
    uiStream.serve(agent, post({ id: 'bills', action: 'answer', answers: [{ id, approved }] }, '/api/chat'), as);
  expect(await (await answer(false)).text()).toContain('no longer waits: it was approved before');
  expect((await answer(true)).status).toBe(200);
});

test('a no again is taken, whatever arguments stand beside it', async () => {
  const { agent, journal, id, runId, callId } = await waiting(3_600_000);
  await agent.reject(runId, callId, 'too much');
  await agent.resume(runId);
  const answers = [{ id, approved: false, args: { euros: 1 } }];
  const again = post({ id: 'bills', action: 'answer', answers }, '/api/chat');
  expect((await uiStream.serve(agent, again, { journal, owner: 'ada' })).status).toBe(200);
});

test.each([
  ['is in order', 'is in order'],
  ['', undefined],
])('the reason %o of an approval reaches the tool as %o', async (reason, known) => {
  const reasons: (string | undefined)[] = [];
  const journal = memoryJournal();
  const paying = tool({
    name: 'pay',
    description: 'Pays.',
    policy: 'confirm',
    inputSchema: {},
    execute: (_args, { approvalReason }) => void reasons.push(approvalReason),
  });
  const agent = payingAgent(journal, undefined, { tools: [paying] });
  onTestFinished(() => agent.close());
  const as = { journal, owner: 'ada' };
  const said = { id: 'bills', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }] };
  const stream = await (await uiStream.serve(agent, post(said, '/api/chat'), as)).text();
  const id = /"approvalId":"([^"]+)"/.exec(stream)?.[1] ?? '';
  const answer = async (approved: unknown): Promise<number> => {
    const answers = [{ id, approved, reason }];
    return (await uiStream.serve(agent, post({ id: 'bills', action: 'answer', answers }, '/api/chat'), as)).status;
  };
  // A text is no yes, whatever it says.
  expect(await answer('false')).toBe(400);
  expect(await answer(true)).toBe(200);
  await vi.waitFor(() => expect(reasons).toEqual([known]));
});

test('an answer to a call whose run was stopped is told that', async () => {
  const { agent, runId, answered } = await waiting(3_600_000);
  await agent.cancel(runId);
  const [ui, ag] = await answered();
  expect([ui, ag]).toEqual([expect.stringContaining('the run ended'), expect.stringContaining('the run ended')]);
});

test.each([
  ['without a deadline', undefined],
  ['with one', 3_600_000],
])('an answer that another one overtakes, %s, says so, and the others count', async (_how, approvalMs) => {
  const journal = memoryJournal();
  const twice = { content: '', toolCalls: [payCall('printer'), payCall('baker')] };
  const agent = payingAgent(
    journal,
    [twice, 'Paid one.'],
    approvalMs === undefined ? {} : { timeouts: { approvalMs } },
  );
  onTestFinished(() => agent.close());
  const as = { journal, owner: 'ada' };
  const said = { id: 'bills', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Pay.' }] }] };
  const stream = await (await uiStream.serve(agent, post(said, '/api/chat'), as)).text();
  const answers = [...stream.matchAll(/"approvalId":"([^"]+)"/g)].map(([, id]) => ({ id, approved: true }));
  const overtaken: ServedAgent = {
    name: agent.name,
    conversation: (id, options) => agent.conversation(id, options),
    approve: async (runId, callId, options) => {
      if (callId !== 'c1') return agent.approve(runId, callId, options);
      // Another answer is there first; its record may still be on its way.
      if (approvalMs !== undefined) {
        await agent.reject(runId, callId, 'too much');
        await agent.resume(runId, { park: true });
      }
      return false;
    },
    reject: (...args) => agent.reject(...args),
    cancel: (...args) => agent.cancel(...args),
    steer: (...args) => agent.steer(...args),
    queue: (...args) => agent.queue(...args),
  };
  const request = post({ id: 'bills', action: 'answer', answers }, '/api/chat');
  const text = await (await uiStream.serve(overtaken, request, as)).text();
  expect(text).toMatch(/"approval-closed".*it was answered meanwhile/);
  const [run] = (await journal.list?.()) ?? [];
  const left = (await agent.pending(run?.runId ?? '')).map(({ callId }) => callId);
  expect(left).toEqual(approvalMs === undefined ? ['c1'] : []);
});

/** Ada's chat in which a run waits for people, and answers to it at every entrance; each gives what it is told. */
async function answering(agent: ReturnType<typeof payingAgent>, journal: JournalStore) {
  onTestFinished(() => agent.close());
  const as = { journal, owner: 'ada' };
  const said = { id: 'bills', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }] };
  const stream = await (await uiStream.serve(agent, post(said, '/api/chat'), as)).text();
  const id = /"approvalId":"([^"]+)"/.exec(stream)?.[1] ?? '';
  const [runId = '', callId, digest] = id.split(':');
  const ui = async (args?: object): Promise<string> => {
    const answers = [{ id, approved: true, args }];
    return (await uiStream.serve(agent, post({ id: 'bills', action: 'answer', answers }, '/api/chat'), as)).text();
  };
  const ag = async (edited: object): Promise<string> => {
    const resume = [{ interruptId: id, status: 'resolved', payload: { approved: true, ...edited } }];
    return (await agUi.serve(agent, post({ threadId: 'bills', runId: 'r', messages: [], resume }, '/'), as)).text();
  };
  const own = async (args: object): Promise<string> => {
    const body = { type: 'approve', runId, callId, digest, args };
    return (await runStream.serve(agent, post(body, '/?id=bills'), as)).text();
  };
  const isOver = () => vi.waitFor(async () => expect((await journal.list?.())?.[0]?.state).toBe('ended'));
  return { runId, ui, ag, own, isOver };
}

const OTHER = 'The call no longer waits: it was approved before, with other arguments.';

test('a yes with other arguments than the call was approved with is told that, and the same again is taken', async () => {
  const journal = memoryJournal();
  const twice = { content: '', toolCalls: [payCall('printer'), payCall('baker')] };
  const { runId, ui, own } = await answering(payingAgent(journal, [twice, 'Paid.']), journal);
  const taken = JSON.stringify({ runId });
  expect(await ui({ to: 'printer', euros: 10 })).toBe(taken);
  await vi.waitFor(async () => expect(JSON.stringify(await journal.read?.(runId))).toContain('paid 10'));
  for (const answer of [ui, own]) expect(await answer({ to: 'printer', euros: 11 })).toContain(OTHER);
  for (const same of [{ to: 'printer', euros: 10 }, { euros: 10, to: 'printer' }, undefined])
    expect(await ui(same)).toBe(taken);
});

test('a yes with other arguments to a call of the last of eight nested agents is told that, and the same again is taken', async () => {
  const journal = memoryJournal();
  const named = (level: number) => ({ name: `level-${level}`, description: 'Pays bills.' });
  const twice = { content: '', toolCalls: [payCall('printer'), payCall('baker')] };
  let agent = payingAgent(journal, [twice, 'Paid.'], named(7));
  for (let level = 6; level >= 0; level--) {
    const down = { content: '', toolCalls: [{ name: `level-${level + 1}`, arguments: { task: 'Pay.' } }] };
    agent = payingAgent(journal, [down, 'Done.'], { ...named(level), tools: [], children: [agent] });
  }
  const { runId, ui, own } = await answering(agent, journal);
  const taken = JSON.stringify({ runId });
  expect(await ui({ to: 'printer', euros: 10 })).toBe(taken);
  await vi.waitFor(async () => expect(JSON.stringify(await journal.read?.(runId))).toContain('paid 10'));
  for (const answer of [ui, own]) expect(await answer({ to: 'printer', euros: 11 })).toContain(OTHER);
  expect(await ui({ to: 'printer', euros: 10 })).toBe(taken);
});

test('a yes with other arguments to a call that was approved as it was shown is told that', async () => {
  const journal = memoryJournal();
  const { runId, ui, isOver } = await answering(payingAgent(journal), journal);
  await ui();
  await isOver();
  expect(await ui({ to: 'printer', euros: 11 })).toContain(OTHER);
  expect(await ui({ to: 'printer', euros: 40 })).toBe(JSON.stringify({ runId }));
});

test('another answer to a question that has one is told that, and the same again is taken', async () => {
  const journal = memoryJournal();
  const { runId, ui, ag, isOver } = await answering(asking(journal), journal);
  await ui({ answer: 'The second.' });
  await isOver();
  for (const told of [await ui({ answer: 'The first.' }), await ag({ answer: 'The first.' })])
    expect(told).toContain(OTHER);
  expect(await ui({ answer: 'The second.' })).toBe(JSON.stringify({ runId }));
  expect(await ag({ answer: 'The second.' })).toContain('RUN_FINISHED');
});

test('the same answer with a secret is taken again, for the journal has none to compare it with', async () => {
  const journal = memoryJournal();
  const { runId, ui, isOver } = await answering(payingAgent(journal, undefined, { secrets: ['hunter2'] }), journal);
  await ui({ to: 'hunter2', euros: 10 });
  await isOver();
  expect(await ui({ to: 'hunter2', euros: 10 })).toBe(JSON.stringify({ runId }));
});

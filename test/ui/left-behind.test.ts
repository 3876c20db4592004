import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fileJournal } from '../../src/journal/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { agUi, runStream, uiStream } from '../../src/ui/index.ts';
import { calls } from '../support/replies.ts';
import { pay, payCall, payingAgent } from './paying-agent.ts';

const SERVERS = { runStream, uiStream, agUi };

/** What a page posts to say something. */
function said(kind: keyof typeof SERVERS, text: string): Request {
  const bodies = {
    runStream: { type: 'send', text },
    uiStream: { id: 'a', messages: [{ id: text, role: 'user', parts: [{ type: 'text', text }] }] },
    agUi: { threadId: 'a', runId: text, messages: [{ id: text, role: 'user', content: text }], tools: [], context: [] },
  };
  const body = JSON.stringify({ ...bodies[kind], trigger: 'submit-message', state: {}, forwardedProps: {} });
  const headers = { 'content-type': 'application/json' };
  return new Request('http://app.example/api?id=a', { method: 'POST', headers, body });
}

/** What a page asks that comes back to its chat. */
function back(kind: keyof typeof SERVERS): Request {
  if (kind === 'runStream') return new Request('http://app.example/api?id=a');
  if (kind === 'uiStream') return new Request('http://app.example/api/a/stream');
  const headers = { 'content-type': 'application/json' };
  const body = { threadId: 'a', runId: 'back', messages: [], tools: [], context: [], state: {}, forwardedProps: {} };
  return new Request('http://app.example/api', { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Processes of an app, one after the other. Their tool says for whom it looked, and the first time hangs. */
function app() {
  const folder = mkdtempSync(join(tmpdir(), 'ui-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const seen: unknown[] = [];
  return (replies: Parameters<typeof payingAgent>[1], hang = false) => {
    const journal = fileJournal(folder);
    const look = (_args: object, { context, signal }: { context: unknown; signal: AbortSignal }) => {
      seen.push(context);
      return hang ? new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve(''))) : 'seen';
    };
    const tools = [pay, fakeTool('look', [look, look, look], { effects: 'none' })];
    const agent = payingAgent(journal, replies, { tools });
    onTestFinished(() => agent.close({ runs: 'release' }));
    const say = async (kind: keyof typeof SERVERS, text: string): Promise<Response> =>
      SERVERS[kind].serve(agent, said(kind, text), { journal, owner: 'ada', context: { user: 'ada' } });
    // A page that stays, as long as it has to see this.
    const comesBack = async (kind: keyof typeof SERVERS, text: string): Promise<void> => {
      const served = await SERVERS[kind].serve(agent, back(kind), { journal, owner: 'ada', context: { user: 'ada' } });
      let read = '';
      for await (const part of served.body ?? []) {
        read += Buffer.from(part).toString();
        if (read.includes(text)) return;
      }
      expect(read).toContain(text);
    };
    return { agent, journal, seen, say, comesBack };
  };
}

for (const kind of ['runStream', 'uiStream', 'agUi'] as const) {
  test(`${kind}: a message after a restart continues the run before it, and what was queued, for the same user`, async () => {
    const start = app();
    const first = start([calls(['look'])], true);
    await first.say('runStream', 'Look.');
    await expect.poll(() => first.seen.length).toBe(1);
    await first.say('runStream', 'Look again.');
    await first.agent.close({ runs: 'release' });
    const next = start(['Seen.', calls(['look']), 'Seen again.', 'Next.']);
    expect((await next.say(kind, 'And now?')).status).toBe(200);
    const all = async () => (await next.journal.list?.()) ?? [];
    await expect.poll(async () => (await all()).filter(({ state }) => state === 'ended').length).toBe(3);
    expect((await all()).map(({ input }) => input)).toEqual(['And now?', 'Look again.', 'Look.']);
    // Hung, then again, then for what was queued.
    expect(next.seen).toEqual([{ user: 'ada' }, { user: 'ada' }, { user: 'ada' }]);
  });

  test(`${kind}: what a server that was closed has kept in its queue is run for the same user`, async () => {
    const start = app();
    const first = start([calls(['look'])], true);
    await first.say('runStream', 'Look.');
    await expect.poll(() => first.seen.length).toBe(1);
    await first.say('runStream', 'Look again.');
    await first.agent.close();
    const next = start([calls(['look']), 'Seen again.', 'Next.']);
    expect((await next.say(kind, 'And now?')).status).toBe(200);
    const all = async () => (await next.journal.list?.()) ?? [];
    await expect.poll(async () => (await all()).filter(({ state }) => state === 'ended').length).toBe(3);
    expect(next.seen).toEqual([{ user: 'ada' }, { user: 'ada' }]);
  });

  test(`${kind}: a page that comes back continues a run of which one call waits for a person, and another was under way`, async () => {
    const start = app();
    const first = start([{ content: '', toolCalls: [{ name: 'look' }, payCall('printer')] }], true);
    await first.say('runStream', 'Look and pay.');
    const run = async () => (await first.journal.list?.())?.[0];
    await expect.poll(() => [first.seen.length, first.agent.pending().length]).toEqual([1, 1]);
    await first.agent.close({ runs: 'release' });
    expect((await run())?.state).toBe('waiting');

    const next = start(['Paid.']);
    await next.comesBack(kind, 'seen');
    expect(next.seen).toEqual([{ user: 'ada' }, { user: 'ada' }]);
    await expect.poll(async () => (await run())?.state).toBe('waiting');
    // Now it waits for the person alone, and whoever comes back changes nothing.
    const before = await run();
    await next.comesBack(kind, 'printer');
    expect(await run()).toEqual(before);
    expect(next.seen).toHaveLength(2);
  });
}

test('runStream: a message after a restart is answered once it is in line, however long the run before it takes', async () => {
  const start = app();
  const first = start([calls(['look'])], true);
  await first.say('runStream', 'Look.');
  await expect.poll(() => first.seen.length).toBe(1);
  await first.agent.close({ runs: 'release' });
  const next = start([], true);
  const answer = await next.say('runStream', 'And now?');
  expect(await answer.json()).toEqual({ ok: true });
  expect(await next.journal.list?.()).toMatchObject([{ input: 'Look.', state: 'running' }]);
  await next.agent.close({ runs: 'release' });
  const last = start(['Seen.', 'Next.']);
  await last.comesBack('runStream', 'Next.');
  await expect.poll(async () => (await last.journal.list?.())?.map(({ state }) => state)).toEqual(['ended', 'ended']);
  expect((await last.journal.list?.())?.map(({ input }) => input)).toEqual(['And now?', 'Look.']);
});

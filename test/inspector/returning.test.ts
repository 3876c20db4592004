import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { type Inspector, createInspector } from '../../src/inspector/create-inspector.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { freePort } from '../support/free-port.ts';
import { calls } from '../support/replies.ts';
import { pageFolder } from './page-folder.ts';
import { serverSentEvents, viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const TOKEN = 'the-same-for-both-of-them';

/** An agent whose tool waits for a person. */
function payer(inspect: Inspector, options: AgentOptions) {
  return createAgent({
    tools: [fakeTool('pay', [{ receipt: 7 }], { policy: 'confirm', inputSchema: { type: 'object' } })],
    confirm: 'wait',
    silent: true,
    inspect,
    ...options,
  });
}

const asking = () => scriptedModel([calls(['pay', { to: 'Ann' }]), 'Paid.']);

/** Hears a session as a browser's `EventSource` does, until the test is over: a stream that breaks is asked for again, from after the last line. */
function listener(url: string, session: string) {
  const over = new AbortController();
  const { signal } = over;
  onTestFinished(() => over.abort());
  const to = new URL(url);
  to.pathname = `/api/sessions/${session}/stream`;
  const lines: string[] = [];
  let asked = 0;
  const hear = async (): Promise<void> => {
    for (let last = '0'; !signal.aborted; asked += 1) {
      try {
        const response = await fetch(to, { headers: { 'last-event-id': last }, signal });
        // A browser does not ask again where it was refused.
        if (!response.ok) return;
        for await (const event of serverSentEvents(response)) {
          if (event.type === 'end') return;
          last = event.id ?? last;
          lines.push(...event.texts);
        }
      } catch {
        // The stream broke, or nobody listens at the address for now.
        await new Promise((resolve) => void setTimeout(resolve, 20));
      }
    }
  };
  return { lines, ended: hear(), asked: () => asked };
}

const linesIn = (recording: string) => recording.trim().split('\n').map(plain);

/** Without digests, which are not sent, and clocks: the work that is begun again on the way to where a run stood has its own. */
function plain(line: string): unknown {
  const { digest: _digest, key: _key, at: _at, ...rest } = JSON.parse(line) as Record<'digest' | 'key' | 'at', unknown>;
  return rest;
}

test.each(['the same inspector', 'the next process, at the same address'])(
  'who watches a run that is let go and resumed in %s is sent what follows, each line once, and then no more',
  async (where) => {
    const address = { port: await freePort(), token: TOKEN, page: pageFolder() };
    await using first = await createInspector(address);
    const journal = memoryJournal();
    const run = payer(first, { model: asking(), journal }).run('Pay Ann', { park: true });
    const heard = listener(first.url, run.runId);
    expect((await run).status).toBe('waiting');
    await expect.poll(() => heard.lines.length).toBe(linesIn(run.recording()).length);

    if (where !== 'the same inspector') await first.close();
    await using next = where === 'the same inspector' ? first : await createInspector(address);
    // It comes back before the run does.
    const before = heard.asked();
    if (next !== first) await expect.poll(heard.asked).toBeGreaterThan(before);
    const resumed = payer(next, { model: scriptedModel(['Paid.']), journal }).resume(run.runId);
    await expect.poll(() => resumed.pending.length).toBe(1);
    await resumed.approve('c1');
    expect((await resumed).status).toBe('answered');
    await heard.ended;
    expect(heard.lines.map(plain)).toEqual(linesIn(resumed.recording()));
  },
);

test('a stream of a session that never was waits, and what else there is of it is not found', async () => {
  const shown = await inspector();
  const { get } = viewer(shown.url);
  const heard = listener(shown.url, 'nobody');
  await createAgent({ model: scriptedModel(['Hello.']), silent: true, inspect: shown }).run('Greet');
  for (const part of ['lines', 'recording', 'export', 'frames', 'steps/1', 'nothing', ''])
    expect([part, (await get(`/api/sessions/nobody/${part}`)).status]).toEqual([part, 404]);
  expect([heard.lines, heard.asked()]).toEqual([[], 0]);
  const posted = new URL(shown.url);
  posted.pathname = '/api/sessions/nobody/stream';
  expect((await fetch(posted, { method: 'POST', headers: { 'content-type': 'application/json' } })).status).toBe(404);
});

test('a resumed run is none of those that are over: it stays while others end, and then is the latest of them', async () => {
  const shown = await inspector({ keep: 2 });
  const { list } = viewer(shown.url);
  const ids = async (): Promise<readonly string[]> => {
    const [hello] = await list(({ t }) => t === 'hello');
    return hello?.t === 'hello' ? hello.sessions : [];
  };
  const other = () => createAgent({ model: scriptedModel(['Hello.']), silent: true, inspect: shown }).run('Greet');
  const journal = memoryJournal();
  const run = payer(shown, { model: asking(), journal }).run('Pay Ann', { park: true });
  await run;
  const resumed = payer(shown, { model: scriptedModel(['Paid.']), journal }).resume(run.runId);
  await expect.poll(() => resumed.pending.length).toBe(1);
  for (let n = 0; n < 3; n += 1) await other();
  expect(await ids()).toContain(run.runId);
  expect(await ids()).toHaveLength(3);
  await resumed.approve('c1');
  await resumed;
  await other();
  expect(await ids()).toContain(run.runId);
  expect(await ids()).toHaveLength(2);
});

import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Delivery } from '../../src/agent/options/run-options.ts';
import type { RunPort, WatchedRun } from '../../src/inspector/index.ts';
import { liveJournal } from '../../src/journal/index.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

test('a request that is interrupted while it is written, before it was sent, is never sent', async () => {
  let sent: Promise<Delivery> | undefined;
  const journal: JournalStore = {
    open: (head) =>
      liveJournal(head, {
        append: async (records) => {
          if (records.some((record) => record.t === 'start' && record.name === 'callLlm'))
            sent ??= run.steer('In French.', { interrupt: true });
        },
        close: () => undefined,
      }),
  };
  const model = scriptedModel(['Bonjour.']);
  const run = createAgent({ model, silent: true, journal }).run('Hello');
  expect(await run).toMatchObject({ status: 'answered', result: 'Bonjour.' });
  expect(await sent).toMatchObject({ delivered: true });
  expect(model.requests).toHaveLength(1);
  expect(JSON.stringify(model.requests[0])).toContain('In French.');
});

test('a run that has ended listens to its signal no more', async () => {
  const { signal } = new AbortController();
  const agent = createAgent({ model: scriptedModel(['Hi.']), silent: true });
  const run = agent.run('Hello', { signal });
  expect(getEventListeners(signal, 'abort')).not.toEqual([]);
  await run;
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('whoever begins to watch in the middle of a reply sees what was said of it, and no secret', async () => {
  const secret = 'swordfish-4711';
  const said = Promise.withResolvers<undefined>();
  const model: Model = {
    id: 'm',
    complete: (_, { onToken, signal }) => {
      onToken?.({ kind: 'text', text: `The word is ${secret}, as you know. And ` });
      said.resolve(undefined);
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  };
  const runs: WatchedRun[] = [];
  const inspect: RunPort = { attach: (run) => (runs.push(run), { ended: () => undefined }) };
  const run = createAgent({ model, silent: true, streaming: true, secrets: [secret], inspect }).run('Hello');
  await said.promise;
  const shown = JSON.stringify(runs[0]?.said());
  expect(shown).toContain('The word is');
  expect(shown).not.toContain(secret);
  await run.cancel();
  expect(runs[0]?.said()).toEqual([]);
});

test('what an interrupted request comes to is not recorded, for nobody waits for it any more', async () => {
  const [asked, refused, second] = [1, 2, 3].map(() => Promise.withResolvers<undefined>());
  const replies = [
    async () => {
      asked?.resolve(undefined);
      await refused?.promise;
      return 'Hello.';
    },
    async () => {
      refused?.resolve(undefined);
      await second?.promise;
      return 'Bonjour.';
    },
  ];
  const model: Model = { id: 'm', complete: async () => ({ content: (await replies.shift()?.()) ?? '' }) };
  const run = createAgent({ model, silent: true }).run('Hello');
  await asked?.promise;
  const sent = run.steer('In French.', { interrupt: true });
  await refused?.promise;
  await new Promise((resolve) => setImmediate(resolve));
  second?.resolve(undefined);
  expect(await run).toMatchObject({ status: 'answered', result: 'Bonjour.' });
  expect(await sent).toMatchObject({ delivered: true });
  expect(run.recording().match(/"t":"outcome"[^\n]*callLlm/g)).toHaveLength(1);
});

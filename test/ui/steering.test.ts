import { expect, onTestFinished, test } from 'vitest';
import { type JournalStore, type Model, createAgent } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { chatTransport, runStream, uiStream } from '../../src/ui/index.ts';
import { withCacheLock } from '../support/cache-lock.ts';

/** A model that waits until it is let, and a chat of it. */
async function talk(journal: JournalStore, maxSteers = 20) {
  const allowed = Promise.withResolvers<void>();
  const model: Model = {
    complete: async (_request, { signal }) => {
      await allowed.promise;
      signal.throwIfAborted();
      return { content: 'Done.' };
    },
  };
  const agent = createAgent({ model, silent: true, journal, maxSteers });
  const options = { journal, owner: 'ada' };
  const post = async (body: object): Promise<Response> =>
    uiStream.serve(agent, new Request('http://x/api', { method: 'POST', body: JSON.stringify(body) }), options);
  const ask = async (body: object): Promise<Response> =>
    runStream.serve(agent, new Request('http://x/?id=trip', { method: 'POST', body: JSON.stringify(body) }), options);
  const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Go.' }] };
  await (await post({ id: 'trip', messages: [message] })).body?.cancel();
  const [run] = (await journal.list?.()) ?? [];
  const runId = run?.runId ?? '';
  const steered = async (): Promise<readonly unknown[]> =>
    ((await journal.read?.(runId))?.lines ?? []).flatMap((line) => (line.t === 'event' ? [line.event.text] : []));
  const steer = async (text: string, id: unknown = text): Promise<Response> =>
    post({ id: 'trip', action: 'steer', text, message: id });
  const serve = (request: Request): Promise<Response> => uiStream.serve(agent, request, options);
  return { agent, ask, serve, steer, steered, runId, answer: allowed.resolve };
}

test('a page without TLS, whose browser makes no UUIDs, can steer', async () => {
  const { agent, steered, answer, serve } = await talk(memoryJournal());
  const { randomUUID } = crypto;
  onTestFinished(() => void Object.defineProperty(crypto, 'randomUUID', { value: randomUUID, configurable: true }));
  const transport = chatTransport({ api: 'http://x/api', fetch: (input, init) => serve(new Request(input, init)) });
  Object.defineProperty(crypto, 'randomUUID', { value: undefined, configurable: true });
  await transport.steer('trip', 'In metric units.');
  expect(await steered()).toEqual(['In metric units.']);
  answer();
  await agent.close();
});

test('a page that is loaded again follows the run at once, though the page before has not let go of its stream', async () => {
  const { agent, answer, serve } = await talk(memoryJournal());
  const ask = withCacheLock((input, init) => serve(new Request(input, init)));
  const load = () => chatTransport({ api: 'http://x/api', fetch: ask }).reconnectToStream({ chatId: 'trip' });
  const [before, after] = [await load(), await load()];
  expect((await after?.getReader().read())?.value?.type).toBe('start');
  await before?.cancel();
  answer();
  await agent.close();
});

/** A journal that shows what is written after a while, as a store far away does. */
function slowly(journal: JournalStore, ms: number): JournalStore {
  return {
    ...journal,
    open: (run) => {
      const opened = journal.open(run);
      return {
        ...opened,
        send: async (event, to) => {
          await new Promise((resolve) => setTimeout(resolve, ms));
          return opened.send(event, to);
        },
      };
    },
  };
}

test('a request to steer is answered when it is written down, however long that takes, and before the model has it', async () => {
  const journal = slowly(memoryJournal(), 150);
  const { agent, ask, steer, steered, runId, answer } = await talk(journal);
  expect((await steer('In metric units.')).status).toBe(202);
  expect(await steered()).toEqual(['In metric units.']);
  expect(await (await ask({ type: 'steer', runId, text: 'Be brief.' })).json()).toEqual({ ok: true });
  expect(await steered()).toEqual(['In metric units.', 'Be brief.']);
  expect((await steer('In metric units.')).status, 'the same message again').toBe(202);
  expect((await steer('With no id of its own.', '')).status).toBe(202);
  expect(await steered()).toHaveLength(3);
  answer();
  await agent.close();
});

test('a message that the run does not take is refused, and says why', async () => {
  const journal = memoryJournal();
  const { agent, ask, steer, steered, runId, answer } = await talk(journal, 1);
  expect((await steer('One.')).status).toBe(202);
  const refused = await steer('Two.');
  expect([refused.status, await refused.json()]).toEqual([
    409,
    { error: { code: 'too-many', message: 'The run accepts no more messages.' } },
  ]);
  expect(await (await ask({ type: 'steer', runId, text: 'Three.' })).json()).toMatchObject({
    ok: false,
    error: { code: 'too-many' },
  });
  expect(await steered()).toEqual(['One.']);
  answer();
  await agent.close();
  expect((await steer('Late.')).status).toBe(409);
});

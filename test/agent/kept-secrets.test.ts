import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { JournalStore } from '../../src/journal/index.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { openStore } from '../journal/open-store.ts';
import { temporaryFolder } from '../journal/temporary-folder.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { calls } from '../support/replies.ts';

const ADA = 'the-key-of-ada';
const BOB = 'the-key-of-bob';

/** An agent as each request to a server makes it: for one user, with the key of that user. */
function sender(journal: JournalStore, secrets: readonly string[], replies: readonly ScriptedReply[]) {
  const inputSchema = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] };
  const send = fakeTool('send', ['sent'], { policy: 'confirm', inputSchema });
  const model = scriptedModel(replies);
  return { send, agent: createAgent({ model, tools: [send], secrets, journal, confirm: 'wait', silent: true }) };
}

const asking = (key: string): ReturnType<typeof calls> => calls(['send', { key }]);

describe.for(['file', 'sqlite', 'postgres'])('the secrets of a run, in a store of the kind %s', (kind) => {
  let server: PostgresServer | undefined;
  let count = 0;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  beforeAll(async () => {
    folder = await temporaryFolder();
    if (kind === 'postgres' && NO_POSTGRES === '') server = await startPostgres();
  });
  afterAll(async () => {
    await folder[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  /** Opens the same store again and again, as one process after another does. */
  const place = (): (() => ReturnType<typeof openStore>) => {
    const name = `store_${count++}`;
    const at = { file: join(folder.path, name), sqlite: join(folder.path, `${name}.sqlite`) }[kind];
    return () => openStore(kind, at ?? `${server?.url} ${name}`);
  };

  for (const where of ['its own process', 'another'])
    test.skipIf(kind === 'postgres' && NO_POSTGRES !== '')(
      `stay as they are when a run of the same id is refused in ${where}`,
      async () => {
        const open = place();
        const store = open();
        const parked = await sender(store, [ADA], [asking(ADA)]).agent.run(`Send ${ADA}`, { runId: 'run', park: true });
        expect(parked.status).toBe('waiting');
        const other = where === 'another' ? open() : store;
        const refused = sender(other, [BOB, ADA], ['Done.']).agent.run(`Send ${BOB} and ${ADA}`, { runId: 'run' });
        expect(await refused).toMatchObject({ status: 'failed', error: { code: 'run-exists' } });
        const { agent, send } = sender(open(), [], ['Sent.']);
        expect(await agent.approve('run', 'c1')).toBe(true);
        expect(await agent.resume('run')).toMatchObject({ status: 'answered' });
        expect(send.calls).toEqual([{ key: ADA }]);
        // Nor are those of a refused run left behind one that has ended.
        const again = sender(other, [BOB], ['Done.']).agent.run(`Send ${BOB}`, { runId: 'run' });
        expect(await again).toMatchObject({ status: 'failed', error: { code: 'run-exists' } });
        const late = open();
        const taken = await late.take('run');
        expect(late.secrets.read('run')).toEqual({});
        await taken?.sink.close();
      },
    );

  test.skipIf(kind === 'postgres' && NO_POSTGRES !== '')(
    'are there for the next process, though it was let go before it did anything',
    async () => {
      const open = place();
      const { agent } = sender(open(), [ADA], []);
      const run = agent.run(`Send ${ADA}`, { runId: 'run' });
      await agent.close({ runs: 'release' });
      expect(await run).toMatchObject({ status: 'waiting', reason: 'released' });
      const store = open();
      const next = sender(store, [], [({ messages }) => asking(String(messages.at(-1)?.content).slice(5)), 'Sent.']);
      const resumed = next.agent.resume('run');
      for await (const event of resumed) if (event.type === 'approval.requested') void resumed.approve(event.callId);
      expect(await resumed).toMatchObject({ status: 'answered' });
      expect(next.send.calls).toEqual([{ key: ADA }]);
    },
  );

  test.skipIf(kind === 'postgres' && NO_POSTGRES !== '')(
    'that come while a resumed run waits for a time are there at once, before it does anything',
    async () => {
      const open = place();
      const failing = (journal: JournalStore, secrets: readonly string[]) =>
        createAgent({
          model: scriptedModel([calls(['look'])]),
          tools: [fakeTool('look', [new Error('Not now.')])],
          onError: { executionError: recover.retry({ backoff: recover.constant(120_000) }) },
          secrets,
          journal,
          silent: true,
        });
      expect(await failing(open(), []).run('Go', { runId: 'run', park: true })).toMatchObject({ reason: 'parked' });
      const store = open();
      const resumed = failing(store, [BOB]).resume('run');
      const steered = resumed.steer(`Send ${BOB}`);
      await vi.waitFor(() => expect(Object.values(store.secrets?.read('run') ?? {})).toEqual([BOB]));
      void resumed.cancel();
      expect(await steered).toMatchObject({ delivered: false });
    },
  );
});

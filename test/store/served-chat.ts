import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { onTestFinished } from 'vitest';
import { type AgentOptions, type JournalStore, createAgent, tool } from '../../src/index.ts';
import { fileJournal } from '../../src/journal/index.ts';
import { type RunStore, type RunStoreOptions, type RunSnapshot, runStore } from '../../src/store/index.ts';
import { runStream } from '../../src/ui/index.ts';
import { modelAt } from '../support/transports.ts';
import { type Scripted, startModelServer } from '../support/model-server.ts';

/** What the calls of `pay` were made with. */
export const paid: number[] = [];

/** Asks before it runs. */
export const pay = tool({
  name: 'pay',
  description: 'Pays an amount.',
  policy: 'confirm',
  inputSchema: { type: 'object', properties: { amount: { type: 'number', maximum: 100 } }, required: ['amount'] },
  execute: ({ amount }) => {
    paid.push(Number(amount));
    return { paid: amount };
  },
});

/** A reply that calls `pay`. */
export const payCall = (amount: number): Scripted => ({ toolCalls: [{ name: 'pay', arguments: { amount } }] });

/** How a chat is served in a test. */
interface Serving {
  readonly options?: AgentOptions;
  readonly owner?: (request: Request) => string | undefined;
  /** Stands between client and server. */
  readonly around?: (request: Request, answer: () => Promise<Response>) => Promise<Response>;
}

/** An agent on a scripted model server, and its chats on an HTTP server; all end with the test. */
export async function servedChat(
  script: readonly Scripted[],
  { options = {}, owner = () => 'ann', around = (_request, answer) => answer() }: Serving = {},
) {
  paid.length = 0;
  const model = await startModelServer(script);
  onTestFinished(model.close);
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-chat-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  /** An agent with a journal of its own in the same folder, as each process has. */
  const process = async (journal: JournalStore = fileJournal(folder)) => {
    const agent = createAgent({
      model: modelAt({ baseURL: model.baseURL, model: 'scripted', apiKey: 'none' }),
      tools: [pay],
      confirm: 'wait',
      streaming: true,
      silent: true,
      journal,
      ...options,
    });
    onTestFinished(() => agent.close());
    const url = await onHttp((request) => {
      const by = owner(request);
      return around(request, () =>
        runStream.serve(agent, request, { journal, ...(by === undefined ? {} : { owner: by }) }),
      );
    });
    return { agent, journal, url };
  };
  return { model, process, ...(await process()) };
}

/** Serves requests on loopback; gives the address. */
export async function onHttp(fetch: (request: Request) => Response | Promise<Response>): Promise<string> {
  const server = serve({ fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false });
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

/** A store that is followed until the test ends, with every view that it had. */
export function followed(source: string | RunStore, options: RunStoreOptions = {}) {
  const store = typeof source === 'string' ? runStore(source, { retryMs: 5, ...options }) : source;
  const views: RunSnapshot[] = [];
  const leave = store.subscribe(() => views.push(store.getSnapshot()));
  onTestFinished(leave);
  const until = async (isTrue: (view: RunSnapshot) => boolean): Promise<RunSnapshot> => {
    while (!isTrue(store.getSnapshot()))
      await new Promise<void>((resolve) => {
        const stop = store.subscribe(() => {
          stop();
          resolve();
        });
      });
    return store.getSnapshot();
  };
  return { store, views, until, leave };
}

/** The run has ended, and nothing more is sent. */
export const isDone = ({ status, connection }: RunSnapshot): boolean =>
  !['idle', 'working', 'waiting'].includes(status) && connection === 'closed';

/** The journal of an agent's chats holds this many runs. */
export async function runsIn(journal: JournalStore): Promise<number> {
  return (await journal.list?.())?.length ?? 0;
}

// A chat server: each user has a conversation that survives a restart, and what is sent while the agent works steers it.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type Server, createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { createAgent, tool } from 'signalbox';
import { sqliteJournal } from 'signalbox/journal';
import { scriptedModel } from 'signalbox/testing';
import { z } from 'zod';

const folder = await mkdtemp(join(tmpdir(), 'signalbox-chat-'));
const searching = Promise.withResolvers<void>();
const steered = Promise.withResolvers<void>();

const search = tool({
  name: 'search_trains',
  description: 'Searches for trains.',
  effects: 'none',
  execute: async () => {
    searching.resolve();
    await steered.promise;
    return ['08:10', '09:40'];
  },
});

/** What a process serves: one agent for all users. */
async function serve(): Promise<{ readonly server: Server; readonly url: string; readonly stop: () => Promise<void> }> {
  const journal = sqliteJournal(join(folder, 'chats.sqlite'));
  const agent = createAgent({ name: 'travel', silent: true, model: model(), tools: [search], journal });
  const server = createServer(async (request, response) => {
    const { user, text } = z.object({ user: z.string(), text: z.string() }).parse(await json(request));
    // While a run of this user is live, the text is told to it, and both requests get its answer.
    const run = agent.conversation(user).run(text, { whenBusy: 'steer' });
    const { status, result } = await run;
    response.writeHead(status === 'answered' ? 200 : 502).end(result);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const stop = async (): Promise<void> => {
    server.close();
    await agent.close({ runs: 'release' });
  };
  return { server, url, stop };
}

const say = async (url: string, user: string, text: string): Promise<string> =>
  (await fetch(url, { method: 'POST', body: JSON.stringify({ user, text }) })).text();

const first = await serve();
const trains = say(first.url, 'ada', 'When does a train leave for Lisbon?');
await searching.promise;
const more = say(first.url, 'ada', 'After nine, please.');
console.log(`alan: ${await say(first.url, 'alan', 'Hello!')}`);
steered.resolve();
console.log(`ada: ${await trains}`);
console.log(`the same answer: ${(await trains) === (await more)}`);
await first.stop();

const second = await serve();
console.log(`ada, after a restart: ${await say(second.url, 'ada', 'What did I ask?')}`);
await second.stop();
await rm(folder, { recursive: true, force: true });

/** Replaces a real model: searches when it is asked for trains, and says what it was told. */
function model() {
  const reply: Parameters<typeof scriptedModel>[0][number] = ({ messages }) => {
    const said = messages.filter(({ role }) => role === 'user').map(({ content }) => String(content));
    const found = messages.some(({ role }) => role === 'tool');
    if (said[0]?.includes('train') === true && !found)
      return { content: '', toolCalls: [{ name: 'search_trains', arguments: {} }] };
    return found ? `At 09:40. You said: ${said.join(' ')}` : 'Hello.';
  };
  return scriptedModel(Array.from({ length: 10 }, () => reply));
}

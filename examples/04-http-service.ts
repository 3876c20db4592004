// An agent behind an HTTP endpoint. Each request gets its own agent, because creating one costs nothing. The conversation is
// kept outside, and `context` tells the tools which user is asking; the model can neither see nor change it.
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { type Message, createAgent, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';
import { z } from 'zod';

const balances = new Map([
  ['ada', 120],
  ['alan', 75],
]);
const conversations = new Map<string, readonly Message[]>();
const User = z.object({ user: z.string() });

const balance = tool({
  name: 'my_balance',
  description: 'The balance of the account of whoever is asking.',
  effects: 'none',
  execute: (_args, { context }) => ({ euros: balances.get(User.parse(context).user) ?? 0 }),
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { user, question } = z.object({ user: z.string(), question: z.string() }).parse(await json(request));
  const agent = createAgent({
    name: 'bank',
    silent: true,
    model: modelFor(user),
    tools: [balance],
    history: conversations.get(user) ?? [],
  });
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const { status, result } = await agent.run(question, { context: { user }, signal: gone.signal });
  conversations.set(user, agent.history);
  response.writeHead(status === 'answered' ? 200 : 502, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ status, result, messages: agent.history.length }));
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => response.writeHead(400).end(String(error)));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;

for (const [user, question] of [
  ['ada', 'How much do I have?'],
  ['alan', 'And I?'],
  ['ada', 'Say that again.'],
]) {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ user, question }) });
  console.log(`${user}: ${await response.text()}`);
}
server.close();

/** Replaces a real model: looks up the account once, then answers from the result. */
function modelFor(user: string) {
  const sentence = `You have ${balances.get(user)} euros, ${user}.`;
  if (conversations.has(user)) return scriptedModel([`As I said: ${sentence}`]);
  return scriptedModel([{ content: '', toolCalls: [{ name: 'my_balance' }] }, sentence]);
}

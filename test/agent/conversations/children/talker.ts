// Talks in conversations until it is done or killed, and notes which messages were accepted. Argument: a `Talking` as JSON.
import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { createAgent } from '../../../../src/agent/create-agent.ts';
import { tool } from '../../../../src/tools/tool.ts';
import { openStore } from '../../../journal/open-store.ts';
import type { Talking } from '../talking.ts';

const { kind, place, log, life, conversations, isLast }: Talking = JSON.parse(process.argv[2] ?? '{}');

const agent = createAgent({
  name: 'talker',
  silent: true,
  journal: openStore(kind, place),
  maxHistoryMessages: 0,
  tools: [
    tool({
      name: 'look',
      description: 'Looks.',
      effects: 'none',
      inputSchema: { type: 'object' },
      execute: () => wait(2 + Math.random() * 4),
    }),
  ],
  model: {
    id: 'talker',
    complete: async ({ messages }) => {
      await wait(1 + Math.random() * 6);
      return messages.at(-1)?.role === 'tool' || Math.random() < 0.4
        ? { content: 'Yes.' }
        : { content: '', toolCalls: [{ name: 'look', arguments: {} }] };
    },
  },
});

async function noting(run: AsyncIterable<{ readonly type: string; readonly id?: string }>): Promise<void> {
  for await (const event of run) {
    if (event.type !== 'message.received') continue;
    appendFileSync(log, `${event.id}\n`);
    console.log('accepted');
  }
}

async function talk(id: string): Promise<void> {
  const conversation = agent.conversation(id);
  const named = (what: string): string => `${id}-${life}-${what}`;
  const run = conversation.run(named('input'), { runId: named('input') });
  const noted = [noting(run)];
  const sent: PromiseLike<unknown>[] = [run];
  for (const n of [1, 2, 3]) {
    await wait(Math.random() * 12);
    const [steer, queue, next] = [named(`steer${n}`), named(`queue${n}`), named(`next${n}`)];
    sent.push(run.steer(steer, { id: steer, interrupt: n === 2 }), run.queue(queue, { id: queue }));
    if (run.state.state === 'COMPLETION') continue;
    const waiting = conversation.run(next, { runId: next, whenBusy: 'queue' });
    noted.push(noting(waiting));
    sent.push(waiting);
  }
  await Promise.all([...sent, ...noted]);
}

console.log('talking');
if (isLast) {
  for (const { status, error } of await Promise.all(
    conversations.map((id) => agent.conversation(id).run(`${id}-last`)),
  ))
    if (status !== 'answered') throw new Error(JSON.stringify(error));
  await agent.close();
} else await Promise.all(conversations.map(talk));

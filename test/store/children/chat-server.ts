// A server of chats that a test kills: [folder, model, port] as JSON.
import { serve } from '@hono/node-server';
import { createAgent, tool } from '../../../src/index.ts';
import { fileJournal } from '../../../src/journal/index.ts';
import { chatModel } from '../../../src/models/index.ts';
import { runStream } from '../../../src/ui/index.ts';

const [folder, baseURL, port]: readonly [string, string, number] = JSON.parse(process.argv[2] ?? '[]');
const journal = fileJournal(folder);
const look = tool({
  name: 'look',
  description: 'Looks.',
  effects: 'none',
  execute: async () => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    return { seen: 'tea' };
  },
});
const agent = createAgent({
  model: chatModel({ baseURL, model: 'scripted', apiKey: 'none' }),
  tools: [look],
  streaming: true,
  silent: true,
  journal,
});
const handle = (request: Request): Promise<Response> => runStream.serve(agent, request, { journal, owner: 'ann' });
serve({ fetch: handle, port, hostname: '127.0.0.1' }, () => process.send?.('ready'));

// A process that serves chats: `chat-process.ts <folder> <port>`. Its model says words slowly, and waits for the file `go` with the last.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { type Model, createAgent } from '../../../src/index.ts';
import { fileJournal } from '../../../src/journal/index.ts';
import { uiStream } from '../../../src/ui/index.ts';

const [folder = '', port = '0'] = process.argv.slice(2);
const journal = fileJournal(join(folder, 'runs'));
const model: Model = {
  complete: async (_request, { onToken, signal }) => {
    for (const text of ['One ', 'two ', 'three.']) {
      const mayGo = (): boolean => text !== 'three.' || existsSync(join(folder, 'go'));
      while (!mayGo()) {
        signal.throwIfAborted();
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      onToken?.({ kind: 'text', text });
    }
    return { content: 'One two three.' };
  },
};
const agent = createAgent({ model, silent: true, streaming: true, journal });
serve({ fetch: (request) => uiStream.serve(agent, request, { journal, owner: 'ada' }), port: Number(port) }, (at) =>
  console.log(at.port),
);

// Begins a run of a conversation for each line that it is sent, and prints how that ended; an empty line lets the model
// answer. Arguments: kind of store, place.
import { createInterface } from 'node:readline';
import { createAgent } from '../../../../src/agent/create-agent.ts';
import { openStore } from '../../../journal/open-store.ts';

const [kind = '', place = ''] = process.argv.slice(2);
let freed = Promise.withResolvers<null>();
const agent = createAgent({
  silent: true,
  journal: openStore(kind, place),
  model: {
    id: 'waits',
    complete: async ({ messages }) => {
      await freed.promise;
      return { content: `${messages.filter(({ role }) => role === 'user').length}` };
    },
  },
});

async function begin(text: string): Promise<void> {
  freed = Promise.withResolvers();
  const { status, error, result } = await agent.conversation('c').run(text);
  console.log(status === 'answered' ? `answered ${result}` : `${status} ${error?.code}`);
}

console.log('ready');
for await (const text of createInterface(process.stdin))
  if (text === '') freed.resolve(null);
  else void begin(text);

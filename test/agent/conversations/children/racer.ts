// Begins a run of a conversation for each line that it is sent, and prints how that ended. Arguments: kind of store, place.
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { createAgent } from '../../../../src/agent/create-agent.ts';
import { openStore } from '../../../journal/open-store.ts';

const [kind = '', place = ''] = process.argv.slice(2);
const agent = createAgent({
  silent: true,
  journal: openStore(kind, place),
  model: {
    id: 'slow',
    complete: async ({ messages }) => {
      await wait(400);
      return { content: `${messages.filter(({ role }) => role === 'user').length}` };
    },
  },
});
console.log('ready');
for await (const text of createInterface(process.stdin)) {
  const { status, error, result } = await agent.conversation('c').run(text);
  console.log(status === 'answered' ? `answered ${result}` : `${status} ${error?.code}`);
}

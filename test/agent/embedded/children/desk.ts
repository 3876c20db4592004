/**
 * Runs a machine with an agent in it, in the folder that the first argument names: a new one, which persists itself at the
 * moment that the second argument names and then kills its process behind the agent's payment, or the persisted one.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assign, createActor, setup, toPromise } from 'xstate';
import type { Model } from '../../../../src/actors/model.ts';
import { createAgent } from '../../../../src/agent/create-agent.ts';
import { fileJournal } from '../../../../src/journal/file.ts';
import { tool } from '../../../../src/tools/tool.ts';

const [dir = '', moment = ''] = process.argv.slice(2);
const kept = join(dir, 'desk.json');
const isNew = !existsSync(kept);

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  execute: () => appendFileSync(join(dir, 'paid'), 'paid\n'),
});

const model: Model = {
  id: 'desk',
  complete: async ({ messages }) => {
    if (!messages.some(({ role }) => role === 'tool'))
      return { content: '', toolCalls: [{ name: 'pay', arguments: {} }] };
    if (!isNew) return { content: 'It is paid.', toolCalls: [] };
    if (moment === 'paid') persist();
    process.kill(process.pid, 'SIGKILL');
    return new Promise<never>(() => undefined);
  },
};

const agent = createAgent({ model, tools: [pay], journal: fileJournal(join(dir, 'runs')), silent: true });
const desk = setup({
  actors: { agent: agent.logic },
  types: { context: {} as { readonly reply: string } },
}).createMachine({
  initial: 'ASKING',
  context: { reply: '' },
  states: {
    ASKING: {
      invoke: {
        id: 'agent',
        src: 'agent',
        input: { task: 'Pay' },
        onDone: { target: 'ANSWERED', actions: assign({ reply: ({ event }) => event.output.result }) },
      },
    },
    ANSWERED: { type: 'final' },
  },
});

const actor = createActor(desk, isNew ? {} : { snapshot: JSON.parse(readFileSync(kept, 'utf8')) });
function persist(): void {
  writeFileSync(kept, JSON.stringify(actor.getPersistedSnapshot()));
}

if (isNew && moment === 'made') persist();
actor.start();
if (isNew && moment === 'started') persist();
await toPromise(actor);
writeFileSync(join(dir, 'result'), actor.getSnapshot().context.reply);

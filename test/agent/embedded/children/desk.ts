/**
 * Runs a machine with an agent in it, in the folder that the first argument names: a new one, which persists itself at the
 * moment that the second argument names and then kills its process (while the payment waits for its approval, in it, or
 * behind it), or the persisted one.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assign, createActor, setup, toPromise, waitFor } from 'xstate';
import type { Model } from '../../../../src/actors/model.ts';
import { createAgent } from '../../../../src/agent/create-agent.ts';
import { fileJournal } from '../../../../src/journal/stores/file.ts';
import { tool } from '../../../../src/tools/tool.ts';

const [dir = '', moment = ''] = process.argv.slice(2);
const kept = join(dir, 'desk.json');
const isNew = !existsSync(kept);
const needsApproval = ['waiting', 'approved'].includes(moment);

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  policy: needsApproval ? 'confirm' : 'allow',
  execute: () => {
    appendFileSync(join(dir, 'paid'), 'paid\n');
    if (moment === 'paying') process.kill(process.pid, 'SIGKILL');
  },
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

const agent = createAgent({
  model,
  tools: [pay],
  journal: fileJournal(join(dir, 'runs')),
  confirm: 'wait',
  silent: true,
});
const desk = setup({
  actors: { agent: agent.logic },
  types: { context: {} as { readonly reply: string }, children: {} as { readonly agent: 'agent' } },
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

/** Approves the payment: in the process in which it is asked for, or only in the next. */
async function approve(): Promise<void> {
  const { agent: clerk } = actor.getSnapshot().children;
  if (clerk === undefined) throw new Error('The machine has no agent.');
  await waitFor(clerk, ({ pending }) => pending.length > 0);
  if (isNew) persist();
  if (isNew && moment === 'waiting') process.kill(process.pid, 'SIGKILL');
  clerk.send({ type: 'approval.given' });
}

if (isNew && moment === 'made') persist();
actor.start();
if (isNew && ['started', 'paying'].includes(moment)) persist();
if (needsApproval && (isNew || moment === 'waiting')) await approve();
await toPromise(actor);
writeFileSync(join(dir, 'result'), actor.getSnapshot().context.reply);

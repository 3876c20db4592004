// One stage of a run that crosses processes; each but the last kills itself. Argument: JSON with kind, place, log and stage.
import { appendFileSync } from 'node:fs';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { postgresJournal } from '../../../src/journal/postgres/index.ts';
import { tool } from '../../../src/tools/tool.ts';
import { openStore } from '../../journal/open-store.ts';
import { calls } from '../../support/replies.ts';

const { kind, place, log, stage } = JSON.parse(process.argv[2] ?? '{}');
const die = (): void => void process.kill(process.pid, 'SIGKILL');
const note = (what: string): void => appendFileSync(log, `${stage} ${what}\n`);

const agent = createAgent({
  name: 'mailer',
  silent: true,
  confirm: 'wait',
  // Others take a process for dead that has been silent for so long.
  journal: kind === 'postgres' ? postgresJournal(place, { migrate: true, leaseMs: 1500 }) : openStore(kind, place),
  tools: [
    tool({
      name: 'mail',
      description: 'Mails.',
      policy: 'confirm',
      execute: async () => {
        note('mail');
        return 'sent';
      },
    }),
    tool({
      name: 'mark',
      description: 'Marks.',
      effects: 'idempotent',
      execute: async (_args, { idempotencyKey }) => {
        note(`mark ${idempotencyKey}`);
        if (stage === 'resume') die();
        return 'marked';
      },
    }),
  ],
  model: {
    id: 'model',
    complete: async ({ messages }) => {
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      const reply = [calls(['mail']), calls(['mark'])][turn];
      return reply ?? { content: 'Sent.' };
    },
  },
});

/** Tries again while the process before counts as alive. */
async function insist<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (Reflect.get(Object(error), 'code') !== 'run-locked') throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

if (stage === 'begin') {
  for await (const event of agent.run('Mail it.', { runId: 'run' })) if (event.type === 'approval.requested') die();
} else if (stage === 'approve') {
  const [waiting] = await agent.pending('run');
  note(`approved ${await insist(() => agent.approve('run', waiting?.callId ?? ''))}`);
  note(`approved ${await insist(() => agent.approve('run', waiting?.callId ?? ''))}`);
  die();
} else {
  const { status, result, stepsTaken } = await insist(async () => agent.resume('run'));
  console.log(JSON.stringify({ status, result, stepsTaken }));
  process.exit(0);
}

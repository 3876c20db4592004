// An agent as one state of a larger machine: `agent.logic` takes a task as input, has a RunResult as output, and is recorded
// like any run. Here a support desk asks the agent first, and a person only if the agent gives up.
import { createAgent, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';
import { assign, createActor, setup, waitFor } from 'xstate';
import { z } from 'zod';

const manual = tool({
  name: 'search_manual',
  description: 'Looks a subject up in the manual.',
  inputSchema: z.object({ subject: z.string() }),
  execute: ({ subject }) =>
    subject === 'ink' ? 'Open the lid and press the blue lever.' : { status: 'error', error: 'Nothing found.' },
});

const script = scriptedModel([
  { content: '', toolCalls: [{ name: 'search_manual', arguments: { subject: 'ink' } }] },
  'Open the lid, then press the blue lever.',
  { content: '', toolCalls: [{ name: 'search_manual', arguments: { subject: 'smoke' } }] },
  { content: '', toolCalls: [{ name: 'search_manual', arguments: { subject: 'smoke' } }] },
]);
const agent = createAgent({ name: 'support', model: script, tools: [manual], maxSteps: 2, silent: true });

const desk = setup({
  types: {
    context: {} as { readonly ticket: string; readonly reply: string },
    input: {} as { readonly ticket: string },
  },
  actors: { agent: agent.logic },
}).createMachine({
  id: 'desk',
  context: ({ input }) => ({ ticket: input.ticket, reply: '' }),
  initial: 'ASKING_AGENT',
  states: {
    ASKING_AGENT: {
      invoke: {
        src: 'agent',
        input: ({ context }) => ({ task: context.ticket }),
        onDone: [
          {
            guard: ({ event }) => event.output.success,
            target: 'ANSWERED',
            actions: assign({ reply: ({ event }) => event.output.result }),
          },
          {
            target: 'WAITING_FOR_PERSON',
            actions: assign({ reply: ({ event }) => `handed over: ${event.output.reason}` }),
          },
        ],
        onError: 'WAITING_FOR_PERSON',
      },
    },
    ANSWERED: { type: 'final' },
    WAITING_FOR_PERSON: {},
  },
});

for (const ticket of ['How do I change the ink?', 'There is smoke!']) {
  const actor = createActor(desk, { input: { ticket } }).start();
  const { value, context } = await waitFor(actor, (snapshot) => !snapshot.matches('ASKING_AGENT'));
  console.log(`${ticket} ${value}: ${context.reply}`);
  actor.stop();
}

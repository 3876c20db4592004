import { Agent } from 'node:http';
import { assign, createActor, fromPromise, setup, waitFor } from 'xstate';
import { type Contender, INSTRUCTIONS, TASK, modelFor, weatherIn } from '../harness/job.ts';
import { type Reply, TOOLS, post } from './node-http-loop.ts';

interface Context {
  readonly messages: readonly unknown[];
  readonly reply: Reply | null;
}

/** The least machine that does the job, over `node:http`: it asks, it calls, it is done. An actor of its own for each run. */
export const xstateLoop: Contender = (job) => {
  const agent = new Agent({ keepAlive: true });
  const machine = setup({
    types: { context: {} as Context },
    actors: {
      ask: fromPromise<Reply, Context>(({ input }) => {
        const body = JSON.stringify({ model: modelFor(job.calls), messages: input.messages, tools: TOOLS });
        return post(`${job.baseURL}/chat/completions`, body, agent);
      }),
      call: fromPromise<readonly unknown[], Context>(({ input }) =>
        Promise.resolve(
          (input.reply?.tool_calls ?? []).map((call) => {
            const { city }: { readonly city: unknown } = JSON.parse(call.function.arguments);
            return { role: 'tool', tool_call_id: call.id, content: JSON.stringify(weatherIn(city, job)) };
          }),
        ),
      ),
    },
    guards: { calledTools: (_, { tool_calls: calls }: Reply) => calls !== undefined },
    actions: {
      takeReply: assign(({ context }, reply: Reply) => ({ reply, messages: [...context.messages, reply] })),
      takeResults: assign(({ context }, results: readonly unknown[]) => ({
        messages: [...context.messages, ...results],
      })),
    },
  }).createMachine({
    context: {
      messages: [
        { role: 'system', content: INSTRUCTIONS },
        { role: 'user', content: TASK },
      ],
      reply: null,
    },
    initial: 'ASKING',
    states: {
      ASKING: {
        invoke: {
          src: 'ask',
          input: ({ context }) => context,
          onDone: [
            {
              guard: { type: 'calledTools', params: ({ event }) => event.output },
              target: 'CALLING',
              actions: { type: 'takeReply', params: ({ event }) => event.output },
            },
            { target: 'DONE', actions: { type: 'takeReply', params: ({ event }) => event.output } },
          ],
        },
      },
      CALLING: {
        invoke: {
          src: 'call',
          input: ({ context }) => context,
          onDone: { target: 'ASKING', actions: { type: 'takeResults', params: ({ event }) => event.output } },
        },
      },
      DONE: { type: 'final' },
    },
  });
  const run = async (): Promise<string> => {
    const { context } = await waitFor(createActor(machine).start(), ({ status }) => status !== 'active');
    return context.reply?.content ?? '';
  };
  return Promise.resolve(run);
};

import { createAgent, tool } from 'signalbox';
import { fileJournal } from 'signalbox/journal';
import { chatModel } from 'signalbox/models';
import { z } from 'zod';

export const journal = fileJournal(process.env.RUNS ?? '.signalbox/chats');

const look = tool({
  name: 'look_up',
  description: 'Looks up what a customer has paid.',
  effects: 'none',
  inputSchema: z.object({ customer: z.string() }),
  execute: async ({ customer }) => {
    await new Promise((resolve) => setTimeout(resolve, Number(process.env.LOOK_MS ?? 1500)));
    return { customer, paid: 70 };
  },
});

const refund = tool({
  name: 'refund',
  description: 'Pays money back to a customer.',
  policy: 'confirm',
  inputSchema: z.object({ customer: z.string(), euros: z.number().max(100) }),
  execute: ({ customer, euros }) => `${customer} has ${euros} euros back.`,
});

export const agent = createAgent({
  name: 'clerk',
  instructions: 'You are a clerk of a shop.',
  // MODEL_URL: any server that speaks Chat Completions. Without it, a model on this machine is found.
  ...(process.env.MODEL_URL === undefined
    ? {}
    : { model: chatModel({ baseURL: process.env.MODEL_URL, model: process.env.MODEL ?? 'scripted', apiKey: 'none' }) }),
  tools: [look, refund],
  confirm: 'wait',
  streaming: true,
  silent: true,
  journal,
});

import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

/** What is rejected and handled by no one during `work`: each of them would end a process. */
async function unhandled(work: () => Promise<unknown>): Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  const note = (reason: unknown): void => void seen.push(reason);
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
  try {
    await work();
    await new Promise((resolve) => setTimeout(resolve, 20));
  } finally {
    process.removeListener('unhandledRejection', note);
    for (const other of others) process.on('unhandledRejection', other);
  }
  return seen;
}

test('an asynchronous check of zod that fails ends the call, not the process, and runs once', async () => {
  let asked = 0;
  const known = async (): Promise<boolean> => {
    asked++;
    throw new Error('the database is away');
  };
  const save = tool({
    name: 'save',
    description: 'Saves.',
    inputSchema: z.object({ id: z.number().refine(known) }),
    execute: () => 'saved',
  });
  const agent = createAgent({ model: scriptedModel([calls(['save', { id: 1 }]), 'Not saved.']), tools: [save] });
  const seen = await unhandled(async () => {
    expect(await agent.run('Save 1')).toMatchObject({
      reason: 'answer',
      toolsUsed: [],
      errorHistory: [{ message: expect.stringContaining('the database is away') }],
    });
  });
  expect({ seen, asked }).toEqual({ seen: [], asked: 1 });
});

test('what an asynchronous check of zod accepts, changes or refuses is as without waiting', async () => {
  const got: unknown[] = [];
  const even = async (n: number): Promise<boolean> => n % 2 === 0;
  const save = tool({
    name: 'save',
    description: 'Saves.',
    inputSchema: z.object({
      id: z
        .number()
        .refine(even, 'must be even')
        .transform((n) => n + 1),
    }),
    execute: (args) => void got.push(args),
  });
  const replies = [calls(['save', { id: '2' }]), calls(['save', { id: 3 }]), 'Done.'];
  const { errorHistory } = await createAgent({ model: scriptedModel(replies), tools: [save] }).run('Save');
  expect(got).toEqual([{ id: 3 }]);
  expect(errorHistory).toMatchObject([{ code: 'deserialization', message: expect.stringContaining('must be even') }]);
});

test('an asynchronous check of a typed answer that fails ends the run, not the process, and runs once', async () => {
  let asked = 0;
  const known = async (): Promise<boolean> => {
    asked++;
    throw new Error('the database is away');
  };
  const outputSchema = z.object({ id: z.number().refine(known) });
  const agent = createAgent({ model: scriptedModel(['{"id": 1}']), outputSchema, outputMode: 'prompt' });
  const seen = await unhandled(async () => {
    expect(await agent.run('Which?')).toMatchObject({ reason: 'output-invalid', status: 'failed' });
  });
  expect({ seen, asked }).toEqual({ seen: [], asked: 1 });
});

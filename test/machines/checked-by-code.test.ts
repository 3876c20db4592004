import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

const stamps = (ran: unknown[]) =>
  tool({
    name: 'stamp',
    description: 'Stamps a letter.',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    validateArgs: (args) => {
      if (args['to'] === 'nobody') throw new Error('there is no such address');
      return { ...args, checked: true };
    },
    execute: (args) => ran.push(args),
  });

test('arguments that a tool’s own check rejects never run, and the model is told why', async () => {
  const ran: unknown[] = [];
  const model = scriptedModel([calls(['stamp', { to: 'nobody' }]), calls(['stamp', { to: 'Ann' }]), 'Sent.']);
  const run = createAgent({ model, tools: [stamps(ran)], silent: true }).run('Send it');
  expect(await run).toMatchObject({ status: 'answered', errorHistory: [{ code: 'deserialization', tool: 'stamp' }] });
  expect(ran).toEqual([{ to: 'Ann', checked: true }]);
  expect(JSON.stringify(model.requests[1]?.messages)).toContain('there is no such address');
  const moves = run.transitions().map(({ from, to }) => `${from} → ${to}`);
  expect(moves).toContain('VALIDATING.CHECKING_CODE → RECOVERING.CHOOSING_STEP');
  expect(moves).toContain('VALIDATING.CHECKING_CODE → VALIDATING.CHECKED');
});

test('a tool without a check of its own is not asked for one', async () => {
  const model = scriptedModel([calls(['plain', {}]), 'Done.']);
  const plain = tool({ name: 'plain', description: 'Plain.', execute: () => 1 });
  const run = createAgent({ model, tools: [plain], silent: true }).run('Go');
  await run;
  expect(run.recording()).not.toContain('checkArgs');
});

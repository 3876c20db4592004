// Calls that wait for a person: with `confirm: 'wait'`, a call with the policy `confirm` stays in AWAITING_APPROVAL until
// `run.approve` or `run.reject`, wherever your answer comes from. The model learns of a refusal; it is not an error.
import { createAgent, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';
import { z } from 'zod';

const pay = tool({
  name: 'pay',
  description: 'Pays an invoice.',
  inputSchema: z.object({ to: z.string(), euros: z.number() }),
  policy: 'confirm',
  execute: ({ to, euros }) => `paid ${euros} to ${to}`,
});

const model = scriptedModel([
  {
    content: '',
    toolCalls: [
      { name: 'pay', arguments: { to: 'printer', euros: 40 } },
      { name: 'pay', arguments: { to: 'casino', euros: 4000 } },
    ],
  },
  'The printer is paid; the casino was refused.',
]);

const run = createAgent({ model, tools: [pay], confirm: 'wait', parallelToolCalls: false }).run('Pay the invoices.');
for await (const event of run) {
  if (event.type === 'approval.requested') {
    console.log(`asked: ${event.tool} ${JSON.stringify(event.args)}`);
    const { euros } = z.object({ euros: z.number() }).parse(event.args);
    await (euros < 100 ? run.approve(event.callId) : run.reject(event.callId, 'too much'));
  }
  if (event.type === 'tool.finished') console.log(`done: ${JSON.stringify(event.result.data)}`);
  if (event.type === 'tool.denied') console.log(`denied: ${event.reason}`);
}
console.log((await run).result);

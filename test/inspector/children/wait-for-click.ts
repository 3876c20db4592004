/** A script whose run waits for a click in the page and for nothing else; the inspector is the process's own. */
import { createAgent } from '../../../src/agent/create-agent.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { calls } from '../../support/replies.ts';

const agent = createAgent({
  model: scriptedModel([calls(['pay']), 'Paid.']),
  tools: [fakeTool('pay')],
  defaultPolicy: 'confirm',
  confirm: 'wait',
  inspect: true,
  onEvent: (event) => {
    if (event.type === 'approval.requested') console.log(event.callId);
  },
});
console.log((await agent.run('Pay.', { runId: 'pay' })).result);

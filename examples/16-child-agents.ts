// Agents that use agents: each child is a tool of its parent, and runs as a separate machine inside the call. A child escalates
// the errors that it cannot repair, and the first `onEscalation` on the way up decides. Here a stronger model is asked once.
import { createAgent, recover, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';

const lookUp = tool({
  name: 'look_up',
  description: 'Looks a fact up by its number.',
  inputSchema: {
    type: 'object',
    properties: { number: { type: 'integer', description: 'Number of the fact' } },
    required: ['number'],
  },
  effects: 'none',
  onError: { deserializationError: recover.escalate('the model cannot fill in the form', 'medium') },
  execute: ({ number }) => `fact ${String(number)}: the town has 974 447 people`,
});

// Stand-ins for a small model and a large one.
const small = scriptedModel([
  { content: '', toolCalls: [{ name: 'look_up', arguments: { number: 'the one about people' } }] },
  'The town has 974 447 people.',
]);
const large = scriptedModel([{ content: '', toolCalls: [{ name: 'look_up', arguments: { number: 7 } }] }]);

const researcher = createAgent({
  name: 'researcher',
  description: 'Finds out facts. Give it one question.',
  model: small,
  models: { large },
  tools: [lookUp],
  onEscalation: ({ source, reason, severity }, to) => {
    console.log(`${source} escalates (${severity}): ${reason}`);
    return to.retryWithModel('large');
  },
  silent: true,
});

const chief = createAgent({
  name: 'chief',
  model: scriptedModel([
    { content: '', toolCalls: [{ name: 'researcher', arguments: { task: 'How many people live in the town?' } }] },
    'About a million.',
  ]),
  children: [researcher],
  silent: true,
});

const run = chief.run('Is it a large town?');
for await (const event of run)
  if (event.type === 'tool.started') console.log(`${event.child ?? 'chief'} calls ${event.tool} (${event.callId})`);
const { result, toolsUsed } = await run;
console.log(`${result} (${toolsUsed.join(', ')})`);
console.log([...new Set(run.transitions().map(({ actor }) => actor))].join('\n'));

// Your own output: an object with the methods that you need, and `onEvent` for everything as data. With `streaming`, the
// reply arrives piece by piece. An output that throws never breaks a run.
import { createAgent } from 'signalbox';
import { fakeTool, scriptedModel } from 'signalbox/testing';

const model = scriptedModel([
  { content: 'Let me look.', toolCalls: [{ name: 'look', arguments: {} }] },
  'There is a cat on the mat.',
]);
const counts = new Map<string, number>();

const agent = createAgent({
  model,
  tools: [fakeTool('look', ['a cat on a mat'])],
  streaming: true,
  output: {
    stepHeader: (n, limit) => console.log(`── step ${n} of ${limit}`),
    stateInfo: (text) => console.log(`   ${text}`),
    toolUsage: (name) => console.log(`   uses ${name}`),
    streamToken: (text) => console.log(`   › ${text.trim()}`),
    finalAnswer: (text) => console.log(text),
    completion: () => {
      throw new Error('an output may fail');
    },
  },
  onEvent: ({ type }) => counts.set(type, (counts.get(type) ?? 0) + 1),
});

const { status } = await agent.run('What do you see?');
console.log(`${status}; ${[...counts].map(([type, count]) => `${type} × ${count}`).join(', ')}`);

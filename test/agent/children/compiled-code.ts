/** Runs an agent until V8 has compiled what a turn runs, with full collections between the runs. Run with `--expose-gc`. */
import { createAgent } from '../../../src/agent/create-agent.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { tool } from '../../../src/tools/tool.ts';

const look = tool({ name: 'look', description: 'Looks.', effects: 'none', execute: () => 'nothing' });
const replies = [
  ...Array.from({ length: 10 }, (_, at) => ({ content: '', toolCalls: [{ name: 'look', arguments: { at } }] })),
  'Done.',
];

for (let round = 0; round < 4; round++) {
  for (let run = 0; run < 60; run++) {
    const agent = createAgent({ model: scriptedModel(replies), tools: [look], maxSteps: 12, silent: true });
    // One after the other, so that none is under way when garbage is collected.
    await agent.run('Look.').orThrow();
  }
  globalThis.gc?.();
}

// Memory of agents that wait for their users. Arguments: how many, how many tool calls each has made ('none': no run).
import { type Agent, createAgent, tool } from '../../src/index.ts';
import { chatModel } from '../../src/models/index.ts';
import { collectGarbage } from '../harness/figures.ts';
import { inProcessModel } from '../harness/in-process-model.ts';
import { INSTRUCTIONS, TASK, TOOL_DESCRIPTION, TOOL_NAME, TOOL_SCHEMA } from '../harness/job.ts';

const [countText, callsText] = process.argv.slice(2);
const count = Number(countText);
const calls = callsText === 'none' ? null : Number(callsText);

const weather = tool({
  name: TOOL_NAME,
  description: TOOL_DESCRIPTION,
  inputSchema: TOOL_SCHEMA,
  execute: ({ city }) => ({ city, celsius: 21 }),
});
const model = calls === null ? chatModel({ baseURL: 'http://127.0.0.1:9/v1', model: 'none' }) : inProcessModel(calls);
const agents: Agent[] = [];

async function addAgent(): Promise<void> {
  const agent = createAgent({ instructions: INSTRUCTIONS, model, tools: [weather], silent: true });
  if (calls !== null) await agent.run(TASK).orThrow();
  agents.push(agent);
}

// What is loaded and compiled with the first agents is not theirs.
for (let at = 0; at < 50; at += 1) {
  await addAgent();
}
const before = memory();
for (let at = 0; at < count; at += 1) {
  await addAgent();
}
const after = memory();
console.log(
  JSON.stringify({
    heapMB: (after.heap - before.heap) / 1e6,
    rssMB: (after.rss - before.rss) / 1e6,
    kept: agents.length,
  }),
);

function memory(): { readonly heap: number; readonly rss: number } {
  for (let at = 0; at < 4; at += 1) collectGarbage();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

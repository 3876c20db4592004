// Memory of agents that wait for their users, or for their model. Arguments: how many, how many tool calls each has made
// ('none': no run; 'running': its first request is under way).
import { type Agent, type Model, createAgent, tool } from '../../src/index.ts';
import { chatModel } from '../../src/models/index.ts';
import { collectGarbage } from '../harness/figures.ts';
import { inProcessModel } from '../harness/in-process-model.ts';
import { INSTRUCTIONS, TASK, TOOL_DESCRIPTION, TOOL_NAME, TOOL_SCHEMA } from '../harness/job.ts';

const [countText, callsText] = process.argv.slice(2);
const count = Number(countText);
const isRunning = callsText === 'running';
const calls = callsText === 'none' || isRunning ? null : Number(callsText);

const weather = tool({
  name: TOOL_NAME,
  description: TOOL_DESCRIPTION,
  inputSchema: TOOL_SCHEMA,
  execute: ({ city }) => ({ city, celsius: 21 }),
});
let asked = (): void => undefined;
const silent: Model = {
  id: 'silent',
  complete: () => {
    asked();
    return new Promise(() => undefined);
  },
};
const unasked = chatModel({ baseURL: 'http://127.0.0.1:9/v1', model: 'none' });
const notDone = isRunning ? silent : unasked;
const model = calls === null ? notDone : inProcessModel(calls);
const agents: Agent[] = [];

async function addAgent(): Promise<void> {
  const agent = createAgent({ instructions: INSTRUCTIONS, model, tools: [weather], silent: true });
  if (calls !== null) await agent.run(TASK).orThrow();
  if (isRunning) {
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    agent.run(TASK);
    await isAsked;
  }
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

// What ends a run although the model would continue: the loop guard, the step limit, the budget and the plan limit. An early
// stop is never reported as success, and `reason` says which limit it was.
import { type AgentOptions, createAgent } from 'signalbox';
import { fakeTool, scriptedModel } from 'signalbox/testing';

const look = (n: number) => ({ content: '', toolCalls: [{ name: 'look', arguments: { n } }] });
const plan = {
  content: JSON.stringify({ thought: 'plan again', plan: [{ tool: 'look' }, { tool: 'look', tool_args: { n: 2 } }] }),
};

async function runUntilStopped(title: string, replies: Parameters<typeof scriptedModel>[0], limits: AgentOptions) {
  const tool = fakeTool('look', ['nothing new']);
  const { status, reason, result, stepsTaken } = await createAgent({
    model: scriptedModel(replies),
    tools: [tool],
    ...limits,
  }).run('Look around.');
  console.log(`${title}: ${status} (${reason}) after ${stepsTaken} steps and ${tool.calls.length} calls. ${result}`);
}

await runUntilStopped('loop guard', [look(1), look(1), look(1), look(1)], { maxConsecutiveRepeats: 4 });
await runUntilStopped('step limit', [look(1), look(2), look(3)], { maxSteps: 3 });
await runUntilStopped('budget', [look(1), look(2), look(3)], { budget: { maxToolCalls: 2 } });
await runUntilStopped('plan limit', [plan, plan, plan], { maxPlanIterations: 1 });

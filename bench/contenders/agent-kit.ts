import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import {
  type Contender,
  INSTRUCTIONS,
  TASK,
  TOOL_DESCRIPTION,
  TOOL_NAME,
  modelFor,
  weatherIn,
} from '../harness/job.ts';

/** What is used of AgentKit, which is installed beside the benchmark: it and what it needs are 450 packages. */
interface AgentKit {
  openai(options: object): unknown;
  createTool(options: object): unknown;
  createAgent(options: object): unknown;
  createNetwork(options: object): { run(input: string): Promise<{ readonly state: { readonly results: Results } }> };
}

type Results = readonly { readonly output: readonly { readonly type: string; readonly content?: unknown }[] }[];

/** Inngest's AgentKit: a network of one agent, which is its loop. Needs `npm install --prefix bench/peers`. */
export async function agentKit(): Promise<Contender> {
  const found = createRequire(new URL('../peers/package.json', import.meta.url)).resolve('@inngest/agent-kit');
  const { createAgent, createNetwork, createTool, openai }: AgentKit = await import(pathToFileURL(found).href);
  return (job) => {
    const weather = createTool({
      name: TOOL_NAME,
      description: TOOL_DESCRIPTION,
      parameters: z.object({ city: z.string().describe('City name') }),
      handler: ({ city }: { readonly city: string }) => weatherIn(city, job),
    });
    const model = openai({ model: modelFor(job.calls), baseUrl: job.baseURL, apiKey: 'none' });
    const run = async (): Promise<string> => {
      const agent = createAgent({ name: 'weather', system: INSTRUCTIONS, model, tools: [weather] });
      const network = createNetwork({
        name: 'weather',
        agents: [agent],
        maxIter: job.calls + 1,
        router: ({ lastResult }: { readonly lastResult?: Results[number] }) =>
          lastResult?.output.some(({ type }) => type === 'text') === true ? undefined : agent,
      });
      const { results } = (await network.run(TASK)).state;
      return String(results.at(-1)?.output.at(-1)?.content);
    };
    return Promise.resolve(run);
  };
}

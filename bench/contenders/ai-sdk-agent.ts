import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ToolLoopAgent, jsonSchema, stepCountIs, tool } from 'ai';
import {
  type Contender,
  INSTRUCTIONS,
  TASK,
  TOOL_DESCRIPTION,
  TOOL_SCHEMA,
  modelFor,
  weatherIn,
} from '../harness/job.ts';

/** The Vercel AI SDK's own agent, on its client for compatible servers. */
export const aiSdkAgent: Contender = (job) => {
  const provider = createOpenAICompatible({ name: 'bench', baseURL: job.baseURL, apiKey: 'none' });
  const weather = tool({
    description: TOOL_DESCRIPTION,
    inputSchema: jsonSchema<{ city: string }>({ ...TOOL_SCHEMA }),
    execute: ({ city }) => weatherIn(city, job),
  });
  const run = async (): Promise<string> => {
    const agent = new ToolLoopAgent({
      model: provider(modelFor(job.calls)),
      instructions: INSTRUCTIONS,
      tools: { get_weather: weather },
      stopWhen: stepCountIs(job.calls + 1),
      maxRetries: 0,
    });
    const { text } = await agent.generate({ prompt: TASK });
    return text;
  };
  return Promise.resolve(run);
};

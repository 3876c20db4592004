import { createAgent, tool } from '../../src/index.ts';
import type { AgentOptions } from '../../src/index.ts';
import { type ChatModelOptions, chatModel } from '../../src/models/index.ts';
import {
  type Contender,
  INSTRUCTIONS,
  TASK,
  TOOL_DESCRIPTION,
  TOOL_NAME,
  TOOL_SCHEMA,
  modelFor,
  weatherIn,
} from '../harness/job.ts';

/** A Signalbox agent with default options, a new one for each run; journal in memory and `openai` unless others are given. */
export function signalboxAgent(
  options: Pick<AgentOptions, 'journal' | 'inspect' | 'telemetry'> = {},
  sending: Pick<ChatModelOptions, 'transport'> = {},
): Contender {
  return (job) => {
    const model = chatModel({ baseURL: job.baseURL, model: modelFor(job.calls), ...sending });
    const weather = tool({
      name: TOOL_NAME,
      description: TOOL_DESCRIPTION,
      inputSchema: TOOL_SCHEMA,
      execute: ({ city }) => weatherIn(city, job),
    });
    const run = () => {
      const agent = createAgent({
        instructions: INSTRUCTIONS,
        model,
        tools: [weather],
        maxSteps: job.calls + 1,
        silent: true,
        ...options,
      });
      return agent.run(TASK).orThrow();
    };
    return Promise.resolve(run);
  };
}

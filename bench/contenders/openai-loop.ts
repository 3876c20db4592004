import { OpenAI } from 'openai';
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

type Fetch = typeof globalThis.fetch;

/** A loop written by hand on the `openai` package; with the platform's `fetch` unless another is given. */
export function openaiLoop(fetch?: Fetch): Contender {
  return (job) => {
    const client = new OpenAI({
      baseURL: job.baseURL,
      apiKey: 'none',
      maxRetries: 0,
      ...(fetch === undefined ? {} : { fetch }),
    });
    const tools: OpenAI.ChatCompletionTool[] = [
      {
        type: 'function',
        function: { name: TOOL_NAME, description: TOOL_DESCRIPTION, parameters: { ...TOOL_SCHEMA } },
      },
    ];
    const run = async (): Promise<string> => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'system', content: INSTRUCTIONS },
        { role: 'user', content: TASK },
      ];
      for (;;) {
        const { choices } = await client.chat.completions.create({ model: modelFor(job.calls), messages, tools });
        const reply = choices[0]?.message;
        if (reply?.tool_calls === undefined) return reply?.content ?? '';
        messages.push(reply);
        for (const call of reply.tool_calls) {
          if (call.type !== 'function') continue;
          const { city }: { readonly city: unknown } = JSON.parse(call.function.arguments);
          messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(weatherIn(city, job)) });
        }
      }
    };
    return Promise.resolve(run);
  };
}

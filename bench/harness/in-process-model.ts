import type { Model, ModelReply } from '../../src/actors/model.ts';
import { ANSWER, TOOL_NAME } from './job.ts';

/** A model without a network: asks for as many tool calls as it is told to, then answers. */
export function inProcessModel(calls: number): Model {
  return {
    id: 'in-process',
    complete: ({ messages }) => {
      const done = messages.filter((message) => message.role === 'tool').length;
      const reply: ModelReply =
        done < calls
          ? {
              content: '',
              toolCalls: [{ id: `call_${String(done)}`, name: TOOL_NAME, arguments: { city: `City ${String(done)}` } }],
            }
          : { content: ANSWER };
      return Promise.resolve(reply);
    },
  };
}

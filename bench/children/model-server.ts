// A model server in a process of its own, so that its work is nobody's figure. Says its port, ends with its parent.
import { once } from 'node:events';
import { type Scripted, startModelServer } from '../../test/support/model-server.ts';
import { ANSWER, TOOL_NAME, callsOf } from '../harness/job.ts';

const server = await startModelServer(
  ({ body }): Scripted => {
    const done = body.messages.filter((message) => message.role === 'tool').length;
    if (done >= callsOf(body.model)) return ANSWER;
    return {
      toolCalls: [{ id: `call_${String(done)}`, name: TOOL_NAME, arguments: { city: `City ${String(done)}` } }],
    };
  },
  { forget: true },
);
console.log(JSON.stringify({ baseURL: server.baseURL }));
process.stdin.resume();
await once(process.stdin, 'end');
await server.close();

import { Agent, request as httpRequest } from 'node:http';
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

/** The message of a reply. */
export interface Reply {
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[];
}

/** The floor: a loop written by hand on Node's own HTTP client, which checks, keeps and reports nothing. */
export const nodeHttpLoop: Contender = (job) => {
  const agent = new Agent({ keepAlive: true });
  const run = async (): Promise<string> => {
    const messages: unknown[] = [
      { role: 'system', content: INSTRUCTIONS },
      { role: 'user', content: TASK },
    ];
    for (;;) {
      const body = JSON.stringify({ model: modelFor(job.calls), messages, tools: TOOLS });
      const reply = await post(`${job.baseURL}/chat/completions`, body, agent);
      if (reply.tool_calls === undefined) return reply.content ?? '';
      messages.push(reply);
      for (const call of reply.tool_calls) {
        const { city }: { readonly city: unknown } = JSON.parse(call.function.arguments);
        messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(weatherIn(city, job)) });
      }
    }
  };
  return Promise.resolve(run);
};

/** The tool, as the request says it. */
export const TOOLS = [
  { type: 'function', function: { name: TOOL_NAME, description: TOOL_DESCRIPTION, parameters: TOOL_SCHEMA } },
];

/** Sends one request and reads the message of its reply. */
export function post(url: string, body: string, agent: Agent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += piece));
      response.on('end', () => {
        const { choices }: { readonly choices: readonly [{ readonly message: Reply }] } = JSON.parse(text);
        resolve(choices[0].message);
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

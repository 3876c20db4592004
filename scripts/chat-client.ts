import { setTimeout as wait } from 'node:timers/promises';

/** Sends a request to a server that is starting. */
async function asked(url: string, body?: object): Promise<Response> {
  for (let attempt = 0; ; attempt++)
    try {
      return await fetch(url, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) });
    } catch (error) {
      if (attempt >= 120) throw error;
      await wait(500);
    }
}

/**
 * Talks to the chat of scripts/consumers/chat as a page does that uses the AI SDK: a message, an approval, the messages after
 * a reload, and a stream where nothing is live. Throws where an answer is not what docs/ui.md says.
 */
export async function checkChat(origin: string): Promise<void> {
  const api = `${origin}/api/chat`;
  const first = await asked(api, {
    id: 'a chat',
    messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'What time is it?' }] }],
  });
  const stream = await first.text();
  const [, approvalId = ''] = /"approvalId":"([^"]+)"/.exec(stream) ?? [];
  if (first.status !== 200 || approvalId === '')
    throw new Error(`No approval was asked for: ${first.status} ${stream}`);
  const read = async (): Promise<readonly { role: string; parts: { type: string; approval?: object }[] }[]> =>
    (await asked(`${api}/${encodeURIComponent('a chat')}/messages`)).json();
  const shown = await read();
  const [, reply] = shown;
  const answered = reply?.parts.map((part) =>
    part.approval === undefined
      ? part
      : { ...part, state: 'approval-responded', approval: { id: approvalId, approved: true } },
  );
  const second = await asked(api, { id: 'a chat', messages: [shown[0], { ...reply, parts: answered }] });
  const rest = await second.text();
  if (!rest.includes('"finish"') || !JSON.stringify(await read()).includes('Half past twelve.'))
    throw new Error(`The run did not end with its answer: ${second.status} ${rest}`);
  const { status } = await asked(`${api}/${encodeURIComponent('a chat')}/stream`);
  if (status !== 204) throw new Error(`Nothing is live, and a stream was answered with ${status}.`);
}

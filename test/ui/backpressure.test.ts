import { expect, onTestFinished, test } from 'vitest';
import { type Model, createAgent } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { NO_EVENTS, type SentGroup, foldEvent } from '../../src/store/index.ts';
import { agUi, runStream, uiStream } from '../../src/ui/index.ts';
import { until } from './chat-tabs.ts';
import { payingAgent } from './paying-agent.ts';

const WORD = 'backpressure ';
const WORDS = 4000;
const PROTOCOLS = ['AI SDK', 'AG-UI', 'own'] as const;
type Protocol = (typeof PROTOCOLS)[number];

/** A chat whose model says many words, some of them each time that it is let go on. */
function talker() {
  const journal = memoryJournal();
  const state = { allowed: 0 };
  const model: Model = {
    complete: async (_request, { onToken }) => {
      for (let said = 0; said < WORDS; said += 1) {
        while (said >= state.allowed) await new Promise((resolve) => setTimeout(resolve, 1));
        onToken?.({ kind: 'text', text: WORD });
      }
      return { content: WORD.repeat(WORDS) };
    },
  };
  const agent = createAgent({ model, silent: true, streaming: true, journal });
  onTestFinished(() => agent.close());
  return { agent, journal, allow: (words: number) => (state.allowed = words) };
}

/** The response to the message that begins the run, or to one who looks at it. */
async function connected(protocol: Protocol, { agent, journal }: ReturnType<typeof talker>): Promise<Response> {
  const options = { journal, owner: 'ada' };
  const post = (body: object, path = ''): Request =>
    new Request(`http://x/${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (protocol === 'AI SDK') {
    const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Talk.' }] }];
    return uiStream.serve(agent, post({ id: 'c', messages }), options);
  }
  if (protocol === 'AG-UI') {
    const messages = [{ id: 'm', role: 'user', content: 'Talk.' }];
    return agUi.serve(agent, post({ threadId: 'c', runId: 'r', messages }), options);
  }
  await runStream.serve(agent, post({ type: 'send', text: 'Talk.' }, '?id=c'), options);
  return runStream.serve(agent, new Request('http://x/?id=c'), options);
}

/** What a client of a protocol has of the reply after these messages. */
function replyIn(protocol: Protocol, text: string): string {
  const data = text.split('\n\n').flatMap((message) => /^data: (\{.*)$/m.exec(message)?.[1] ?? []);
  if (protocol === 'own') {
    let fold = NO_EVENTS;
    for (const one of data) {
      const group: SentGroup = JSON.parse(one);
      for (const event of group.events ?? []) fold = foldEvent(fold, event);
    }
    return fold.view.messages.findLast(({ role }) => role === 'assistant')?.text ?? '';
  }
  let reply = '';
  for (const one of data) {
    const { type, delta }: { type: string; delta?: string } = JSON.parse(one);
    if (type === 'reset-step' || type === 'MESSAGES_SNAPSHOT') reply = '';
    if (type === 'text-delta' || type === 'TEXT_MESSAGE_CONTENT') reply += delta ?? '';
  }
  return reply;
}

const WHOLE = WORD.repeat(WORDS).trim();

test.each(PROTOCOLS)(
  '%s: for a client that does not read, nothing is kept, and the run ends without it',
  async (protocol) => {
    const talk = talker();
    const response = await connected(protocol, talk);
    const reader = response.body?.getReader();
    talk.allow(WORDS);
    let isOver = false;
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      isOver = ((await talk.journal.list?.({ state: 'ended' })) ?? []).length === 1;
    }
    // What was ready for it: no more than there was when it connected, one piece.
    const kept = (await reader?.read())?.value;
    expect(kept?.byteLength).toBeLessThan(5000);
    const decoder = new TextDecoder();
    let text = decoder.decode(kept, { stream: true });
    let reads = 0;
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      text += decoder.decode(next.value, { stream: true });
      reads += 1;
    }
    expect(replyIn(protocol, text).trim() === WHOLE).toBe(true);
    expect(reads).toBeLessThan(10);
    // The reply comes once or twice, and once more where it is part of the result; not once a word.
    expect(text.length).toBeLessThan(6 * WHOLE.length);
  },
);

test.each(PROTOCOLS)(
  '%s: a client that reads slowly receives fewer and larger pieces, and all of them',
  async (protocol) => {
    const talk = talker();
    const response = await connected(protocol, talk);
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    let text = '';
    let allowed = 0;
    const lengths: number[] = [];
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      text += decoder.decode(next.value, { stream: true });
      lengths.push(replyIn(protocol, text).length);
      allowed += WORDS / 10;
      talk.allow(allowed);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    expect(replyIn(protocol, text).trim() === WHOLE).toBe(true);
    // It saw the reply grow, in steps of hundreds of words.
    const seen = new Set(lengths.filter((length) => length > 0 && length < WHOLE.length));
    expect(seen.size).toBeGreaterThan(2);
    expect(lengths.length).toBeLessThan(40);
  },
);

test('clients that are gone are forgotten: nothing is read for them', async () => {
  const talk = talker();
  let reads = 0;
  const journal = {
    ...talk.journal,
    read: async (runId: string) => {
      reads += 1;
      return (await talk.journal.read?.(runId)) ?? null;
    },
  };
  const response = await connected('AI SDK', talk);
  await response.body?.cancel();
  const gone: Response[] = [];
  for (let client = 0; client < 20; client += 1)
    gone.push(await runStream.serve(talk.agent, new Request('http://x/?id=c'), { journal, owner: 'ada' }));
  for (const { body } of gone) await body?.cancel();
  await new Promise((resolve) => setTimeout(resolve, 50));
  reads = 0;
  talk.allow(WORDS);
  let isOver = false;
  void talk.journal.list?.().then(async () => {
    while (((await talk.journal.list?.({ state: 'ended' })) ?? []).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    isOver = true;
  });
  await until(() => isOver);
  await new Promise((resolve) => setTimeout(resolve, 250));
  expect(reads).toBe(0);
});

test('a stream that ended because a person is waited for looks at the journal no more', async () => {
  const kept = memoryJournal();
  let looks = 0;
  const journal = {
    ...kept,
    revision: async (runId: string) => {
      looks += 1;
      return (await kept.revision?.(runId)) ?? null;
    },
  };
  const agent = payingAgent(kept);
  onTestFinished(() => agent.close());
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Pay.' }] }];
  const request = new Request('http://x/', { method: 'POST', body: JSON.stringify({ id: 'c', messages }) });
  expect(await (await uiStream.serve(agent, request, { journal, owner: 'ada' })).text()).toContain('[DONE]');
  const body = JSON.stringify({ threadId: 'c', runId: 'r', messages: [] });
  const ag = await agUi.serve(agent, new Request('http://x/', { method: 'POST', body }), { journal, owner: 'ada' });
  expect(await ag.text()).toContain('interrupt');
  expect(looks).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  looks = 0;
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(looks).toBe(0);
});

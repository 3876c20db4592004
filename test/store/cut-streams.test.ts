import { expect, test } from 'vitest';
import {
  NO_EVENTS,
  type RunSnapshot,
  type SentGroup,
  type ShownEvent,
  foldEvent,
  runStore,
} from '../../src/store/index.ts';
import { runStream } from '../../src/ui/index.ts';
import { withCacheLock } from '../support/cache-lock.ts';
import { cases, seedOr } from '../support/soak.ts';
import { followed, isDone, paid, payCall, servedChat } from './served-chat.ts';

/** Numbers from 0 to 1 that a seed decides. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A response whose connection breaks after some bytes, perhaps in the middle of a message. */
function cutAfter(response: Response, bytes: number): Response {
  if (response.body === null) return response;
  let left = bytes;
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      controller.enqueue(piece.subarray(0, left));
      left -= piece.length;
      if (left <= 0) controller.terminate();
    },
  });
  return new Response(response.body.pipeThrough(cut), response);
}

const script = () => [
  { content: 'Let me pay.', toolCalls: [{ name: 'pay', arguments: { amount: 5 } }] },
  { content: 'It is paid: five. Ümlaute, too.', paceMs: 5 },
  payCall(6),
  'Then not.',
];

/** A chat with an approval, something said meanwhile, a second run with a call of the same id, and a rejection. */
async function talk(send: ReturnType<typeof followed>): Promise<RunSnapshot> {
  const { store, until } = send;
  const callId = async (): Promise<string> =>
    (await until(({ pending }) => pending.length > 0)).pending[0]?.callId ?? 'none waits';
  await store.send('Pay five.');
  const id = await callId();
  await store.steer('Tell me when it is done.');
  expect(await store.approve(id, { amount: 4 })).toBe(true);
  const { runId } = await until(isDone);
  await store.send('And six?');
  await until((view) => view.runId !== runId);
  expect(await store.reject(await callId(), 'enough')).toBe(true);
  await until(isDone);
  return store.getSnapshot();
}

const CASES = cases(100, 10_000);

test(`${CASES} chats whose streams are cut anywhere end like the one that was never cut`, async () => {
  const { url, agent, journal } = await servedChat(script());
  const whole = await talk(followed(`${url}/?id=a`));
  expect(paid).toEqual([4]);
  expect(whole.messages.map(({ role, text }) => `${role}: ${text}`)).toEqual([
    'user: Pay five.',
    'assistant: Let me pay.',
    'user: Tell me when it is done.',
    'assistant: It is paid: five. Ümlaute, too.',
    'user: And six?',
    'assistant: ',
    'assistant: Then not.',
  ]);
  expect(whole.messages.flatMap(({ calls }) => calls.map(({ status }) => status))).toEqual(['finished', 'denied']);
  const seed = seedOr(20);
  for (let at = 0; at < CASES; at += 1) {
    const next = random(seed + at);
    const asked: (string | null)[] = [];
    const store = runStore('http://chat/?id=a', {
      retryMs: 0,
      fetch: async (input, init) => {
        const request = new Request(input, init);
        asked.push(request.headers.get('last-event-id'));
        const response = await runStream.serve(agent, request, { journal, owner: 'ann' });
        return next() < 0.8 ? cutAfter(response, Math.ceil(next() * 3000)) : response;
      },
    });
    await new Promise<void>((resolve) => {
      const leave = store.subscribe(() => {
        if (!isDone(store.getSnapshot())) return;
        leave();
        resolve();
      });
    });
    expect(new Set(asked).size, 'it always continues behind what it has').toBeGreaterThan(1);
    expect(store.getSnapshot(), `seed ${seed + at}, asked from ${asked.join(', ')}`).toEqual(whole);
  }
});

test('a stream that is cut while the run goes on shows nothing twice, and ends like one that is not', async () => {
  const next = random(seedOr(7));
  const { url } = await servedChat(script(), {
    around: async (request, answer) => {
      const response = await answer();
      const isCut = request.method === 'GET' && request.headers.get('x-tab') === 'cut' && next() < 0.7;
      return isCut ? cutAfter(response, Math.ceil(next() * 2000)) : response;
    },
  });
  const one = followed(`${url}/?id=a`, { headers: { 'x-tab': 'cut' } });
  const cut = await talk(one);
  for (const { messages } of one.views) expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
  const late = followed(`${url}/?id=a`, { headers: { 'x-tab': 'whole' } });
  expect(await late.until(isDone)).toEqual(cut);
  expect(paid).toEqual([4]);
});

test('events that come a second time change nothing, wherever they begin again', async () => {
  const { url, agent } = await servedChat(script());
  const whole = await talk(followed(`${url}/?id=a`));
  const { runId = '' } = (await agent.conversation('ann/a', { owner: 'ann' }).runs()).at(-1) ?? {};
  const events = await eventsOf(`${url}/?id=a`);
  const once = events.reduce(foldEvent, NO_EVENTS);
  expect(once.view.messages).toEqual(whole.messages);
  const from = events.findIndex((event) => event.type === 'run.started' && event.runId === runId);
  expect(from).toBeGreaterThan(0);
  for (let at = from; at < events.length; at += 1) expect(events.slice(at).reduce(foldEvent, once)).toBe(once);
});

async function eventsOf(url: string): Promise<readonly ShownEvent[]> {
  const text = await (await fetch(url)).text();
  return text.split('\n\n').flatMap((message) => {
    const group: SentGroup = JSON.parse(/^data: (.*)/m.exec(message)?.[1] ?? '{}');
    return group.events ?? [];
  });
}

test('a page that is loaded again shows its chat at once, though the page before has not let go of its connection', async () => {
  const { url } = await servedChat([payCall(5)]);
  const options = { fetch: withCacheLock(fetch) };
  const before = followed(`${url}/?id=a`, options);
  await before.store.send('Pay.');
  await before.until(({ status }) => status === 'waiting');
  const { pending } = await followed(`${url}/?id=a`, options).until(({ status }) => status === 'waiting');
  expect(pending.map(({ tool }) => tool)).toEqual(['pay']);
});

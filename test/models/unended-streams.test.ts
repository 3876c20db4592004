import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { chatModel } from '../../src/models/index.ts';
import { startModelServer, type Scripted } from '../support/model-server.ts';
import { modelAt, overEachTransport } from '../support/transports.ts';
import { ask, askInVain } from './ask.ts';

/** Timers run when the test lets time pass. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets time pass in steps between which the process reads what was sent to it. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    await vi.advanceTimersByTimeAsync(100);
    for (let turns = 0; turns < 5; turns++) await nextTurn();
  }
}

async function serve(scripted: Scripted) {
  stopTime();
  const server = await startModelServer([scripted]);
  onTestFinished(() => server.close());
  const { promise: said, resolve: onToken } = Promise.withResolvers<unknown>();
  return { server, model: modelAt({ baseURL: server.baseURL, model: 'm' }), said, asked: streamed(onToken) };
}

const streamed = (onToken: (token: unknown) => void) => ({ stream: true, io: { responseMs: 60_000, onToken } });

// The events of this reply: the role, the text, the reason why it ends, its usage.
const reply = { content: 'ok', usage: { inputTokens: 5, outputTokens: 2 } };

overEachTransport(() => {
  test('a stream that says why it ends and then falls silent is a reply after a moment, and is hung up on', async () => {
    const { server, model, said, asked } = await serve({ ...reply, stallAfter: 3 });
    const replying = ask(model, asked);
    await said;
    await pass(5000);
    expect(await replying).toMatchObject({ content: 'ok', finishReason: 'stop' });
    await server.abandoned();
  });

  test('what it used still counts, if it comes before the silence', async () => {
    const { model, said, asked } = await serve({ ...reply, stallAfter: 4 });
    const replying = ask(model, asked);
    await said;
    await pass(5000);
    expect((await replying).usage).toMatchObject({ inputTokens: 5, outputTokens: 2 });
  });

  test('what it used still counts, if it comes a second later', async () => {
    const later = Promise.withResolvers<void>();
    const { model, said, asked } = await serve({ ...reply, stallAfter: 3, continues: later.promise });
    const replying = ask(model, asked);
    await said;
    await pass(1000);
    later.resolve();
    expect((await replying).usage).toMatchObject({ inputTokens: 5, outputTokens: 2 });
  });

  test('without a reason why it ends, silence is never the end of a reply', async () => {
    const { model, said, asked } = await serve({ ...reply, stallAfter: 2 });
    const failing = askInVain(model, asked);
    await said;
    await pass(61_000);
    expect((await failing).code).toBe('timeout');
  });
});

const finished = `data: ${JSON.stringify({ choices: [{ delta: { content: 'ok' }, finish_reason: 'stop' }] })}\n\n`;
const more = `data: ${JSON.stringify({ choices: [{ delta: { content: '!' } }] })}\n\n`;

test.each([
  ['comments do not keep a reply open that has its reason to end', ': ping\n\n', 5, 'ok'],
  ['events do', more, 10, `ok${'!'.repeat(10)}`],
])('%s', async (_what, piece, times, content) => {
  stopTime();
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      controller.enqueue(new TextEncoder().encode(sent === 0 ? finished : piece));
      if (sent++ < times) await new Promise((resolve) => setTimeout(resolve, 1000));
      else if (piece === more) await new Promise(() => undefined);
    },
  });
  const fetch = () => Promise.resolve(new Response(body));
  const replying = ask(chatModel({ baseURL: 'http://slow.test/v1', model: 'm', fetch }), { stream: true });
  await pass(14_000);
  expect((await replying).content).toBe(content);
});

test('an error in a stream is its outcome at once, though the server leaves it open, and it is hung up on', async () => {
  stopTime();
  const hungUp = Promise.withResolvers<unknown>();
  const body = new ReadableStream<Uint8Array>({
    start: (to) => to.enqueue(new TextEncoder().encode('data: {"error":{"message":"out of memory","code":500}}\n\n')),
    cancel: hungUp.resolve,
  });
  const fetch = () => Promise.resolve(new Response(body));
  const failure = await askInVain(chatModel({ baseURL: 'http://slow.test/v1', model: 'm', fetch }), { stream: true });
  expect(failure.message).toContain('out of memory');
  await pass(2000);
  await hungUp.promise;
});

test('a process that was busy reads what came in meanwhile before silence counts', async () => {
  const server = await startModelServer([{ ...reply, paceMs: 30 }]);
  onTestFinished(() => server.close());
  const busy = () => {
    const until = performance.now() + 300;
    while (performance.now() < until);
  };
  const onToken = () => void setTimeout(busy, 1);
  const { usage } = await ask(chatModel({ baseURL: server.baseURL, model: 'm' }), {
    stream: true,
    io: { responseMs: 200, onToken },
  });
  expect(usage).toMatchObject({ inputTokens: 5, outputTokens: 2 });
});

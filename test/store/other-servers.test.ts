import { expect, test } from 'vitest';
import { followed, isDone, onHttp, runsIn, servedChat } from './served-chat.ts';

const page = (): Response => new Response('<p>Sign in</p>', { headers: { 'content-type': 'text/html' } });

test('what a page to sign in on answers took no effect: a message that did not arrive is not said to be sent', async () => {
  const asked: string[] = [];
  const url = await onHttp((request) => {
    asked.push(request.method);
    return new URL(request.url).pathname === '/login' ? page() : Response.redirect(new URL('/login', request.url), 303);
  });
  const { store, until, views } = followed(`${url}/?id=a`);
  const view = await until(({ connection }) => connection === 'closed');
  expect(view.error).toEqual({ code: 'request-failed', message: 'HTTP 200, not from runStream.serve' });
  expect(views.some(({ connection }) => connection === 'open')).toBe(false);
  // It is not asked again and again.
  expect(asked).toEqual(['GET', 'GET']);
  expect(await store.send('Hello')).toBe(false);
  expect(store.getSnapshot().error?.code).toBe('request-failed');
});

test('a proxy that asks for a pause is asked again; nothing is an error then', async () => {
  let refusals = 2;
  const { url, journal } = await servedChat(['Hi.'], {
    around: async (request, answer) =>
      request.method === 'GET' && refusals-- > 0 ? new Response('Slower.', { status: 429 }) : answer(),
  });
  const { store, until, views } = followed(`${url}/?id=a`);
  expect(await store.send('Hello')).toBe(true);
  await until(isDone);
  expect(refusals).toBeLessThan(0);
  expect(views.filter(({ error }) => error !== null)).toEqual([]);
  expect(await runsIn(journal)).toBe(1);
});

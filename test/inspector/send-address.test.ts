import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { type Socket, connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Inspector } from '../../src/inspector/index.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import { BUNDLED } from '../support/bundled.ts';
import { startScene } from './scenes.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** What is answered to a WebSocket handshake, with headers that no client would send. */
function shake({ port }: Inspector, path: string, headers: NodeJS.Dict<string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, headers: { ...HANDSHAKE, ...headers } });
    sent.on('upgrade', (_response, socket) => resolve((socket.destroy(), 101)));
    sent.on('response', (response) => resolve((response.resume(), response.statusCode ?? 0)));
    sent.on('error', reject);
    sent.end();
  });
}

const pathOf = (url: string): string => `${new URL(url).pathname}${new URL(url).search}`;
const tokenOf = (url: string): string => new URL(url).searchParams.get('token') ?? '';

/** The start of an actor that is no machine of anybody's. */
const lamp = (sessionId: string, more: object = {}) => ({
  type: '@xstate.actor',
  name: 'lamp',
  sessionId,
  rootId: sessionId,
  createdAt: '1000',
  definition: JSON.stringify({ id: 'lamp', initial: 'ON', states: { ON: {} } }),
  snapshot: { status: 'active', value: 'ON', context: {} },
  ...more,
});

async function opened(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  return socket;
}

/** A connection of which the test itself does what a client would do: it never answers by itself. */
async function handmade({ port, statelyUrl }: Inspector, allowHalfOpen: boolean): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen });
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...HANDSHAKE }).map((line) => `${line.join(': ')}\r\n`);
  socket.write(`GET ${pathOf(statelyUrl)} HTTP/1.1\r\n${lines.join('')}\r\n`);
  await once(socket, 'data');
  return socket;
}

/** A frame as a client sends it, with a mask of zeros: opcode 1 is text, 8 is goodbye. */
function bytesOf(opcode: number, text: string): Buffer {
  const length = text.length < 126 ? [text.length] : [126, text.length >> 8, text.length & 255];
  const [first = 0, ...rest] = length;
  return Buffer.concat([Buffer.from([128 + opcode, 128 + first, ...rest, 0, 0, 0, 0]), Buffer.from(text)]);
}

const answerTo = async (socket: WebSocket, message: string | Uint8Array<ArrayBuffer>): Promise<unknown> => {
  const answered = once(socket, 'message');
  socket.send(message);
  const [{ data }] = await answered;
  return JSON.parse(String(data));
};

const moved = (sessionId: string, event: string, status: 'active' | 'done') => ({
  type: '@xstate.snapshot',
  sessionId,
  rootId: sessionId,
  createdAt: '2000',
  event: { type: event },
  snapshot: { status, value: 'ON', context: { event } },
});

const isRunning =
  (title: string) =>
  (frame: Frame): boolean =>
    frame.t === 'session' && frame.session.title === title && frame.session.status === 'running';

describe('the address that apps send to', () => {
  test('opens a WebSocket for pages of any origin, and by no other name than the loopback address', async () => {
    const shown = await inspector();
    const path = pathOf(shown.statelyUrl);
    for (const origin of [undefined, 'http://localhost:5173', 'https://shop.example', 'null'])
      expect([origin, await shake(shown, path, origin === undefined ? {} : { origin })]).toEqual([origin, 101]);
    expect(await shake(shown, path, { origin: 'http://localhost:5173', 'sec-fetch-site': 'same-site' })).toBe(101);
    for (const host of ['evil.example', `evil.example:${shown.port}`, `127.0.0.1.evil.example:${shown.port}`])
      expect([host, await shake(shown, path, { host })]).toEqual([host, 403]);
    const proxied = await inspector({ allowedHosts: ['page.example'] });
    const there = pathOf(proxied.statelyUrl);
    expect(await shake(proxied, there, { host: 'page.example', origin: 'https://shop.example' })).toBe(101);
    expect(await shake(proxied, there, { host: 'shop.example' })).toBe(403);
  });

  test('opens nothing else: what is shown cannot be seen or steered with it', async () => {
    const shown = await inspector();
    const run = startScene('plain', { inspect: shown });
    await run;
    const { origin } = new URL(shown.url);
    const headers = { authorization: `Bearer ${tokenOf(shown.statelyUrl)}`, 'content-type': 'application/json' };
    const session = `/api/sessions/${run.runId}`;
    for (const path of ['/', '/api/stream', '/api/stately/stream', `${session}/stream`, `${session}/recording`])
      expect([path, (await fetch(`${origin}${path}`, { headers })).status]).toEqual([path, 401]);
    for (const path of [`${session}/act`, '/api/recordings', '/api/stately/x', '/%61pi/stately']) {
      const post = await fetch(`${origin}${path}`, { method: 'POST', headers, body: '{"kind":"cancel"}' });
      expect([path, post.status]).toEqual([path, 401]);
    }
    const sent = { method: 'POST', headers, body: JSON.stringify(lamp('x:0')) };
    expect((await fetch(`${origin}/api/stately`, sent)).status).toBe(200);
    expect(tokenOf(shown.statelyUrl)).not.toContain(tokenOf(shown.url));
  });

  test("keeps who has no token out; the inspector's own token has its own rules there, too", async () => {
    const shown = await inspector();
    const own = `/api/stately${new URL(shown.url).search}`;
    for (const path of ['/api/stately', '/api/stately?token=', `/api/stately?token=${'x'.repeat(43)}`])
      expect([path, await shake(shown, path)]).toEqual([path, 401]);
    expect(await shake(shown, own)).toBe(101);
    expect(await shake(shown, own, { origin: new URL(shown.url).origin })).toBe(101);
    expect(await shake(shown, own, { origin: 'http://localhost:5173' })).toBe(403);
    expect(await shake(shown, `/api/stream${new URL(shown.url).search}`)).toBe(404);
    expect(await shake(shown, own, { 'sec-websocket-key': 'short' })).toBe(400);
  });

  test('stays the same where the token is chosen, and is never that of another inspector', async () => {
    const token = 'a token that I chose';
    const first = await inspector({ token });
    const second = await inspector({ token });
    expect(tokenOf(first.statelyUrl)).toBe(tokenOf(second.statelyUrl));
    expect(tokenOf((await inspector()).statelyUrl)).not.toBe(tokenOf((await inspector()).statelyUrl));
  });
});

describe('a connection', () => {
  test('takes events alone and in lists, and answers only what is none', async () => {
    const shown = await inspector();
    const socket = await opened(`${shown.statelyUrl}&app=shop`);
    for (const wrong of ['{', '1', 'null', '{}', '{"type":"@xstate.actor","sessionId":1}', new Uint8Array([0, 255])])
      expect(await answerTo(socket, wrong)).toMatchObject({ ok: false, message: expect.stringContaining('1 of 1') });
    socket.send(JSON.stringify(lamp('x:0')));
    expect(await answerTo(socket, JSON.stringify([lamp('x:1'), 7]))).toMatchObject({ message: expect.any(String) });
    const frames = await viewer(shown.url).list((frame) => frame.t === 'session' && frame.session.id === 'stately-2');
    expect(frames.filter(isRunning('shop: lamp'))).toHaveLength(2);
  });

  test('cannot harm by what is in its events: depth, length, names that are none', async () => {
    const shown = await inspector();
    const look = viewer(shown.url);
    const socket = await opened(shown.statelyUrl);
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    const move = { type: '@xstate.snapshot', sessionId: 'x:0', rootId: 'x:0', createdAt: '2000' };
    const snapshot = { status: 'active', value: 'ON', context: 'DEEP' };
    for (const event of [
      lamp('x:0', { snapshot }),
      { ...move, event: { type: 'GO', data: 'DEEP' }, snapshot },
      { ...move, event: { type: 'GO' }, snapshot: { ...snapshot, value: 'DEEP' } },
      lamp('x:1', { name: 'x'.repeat(100_000), parentId: 'x:0', rootId: 'x:0', definition: 'DEEP' }),
      { ...move, event: { type: 'y'.repeat(100_000) }, snapshot: { ...snapshot, context: { end: true } } },
    ])
      socket.send(JSON.stringify(event).replaceAll('"DEEP"', deep));
    expect(await answerTo(socket, JSON.stringify(lamp('x'.repeat(100_000))))).toMatchObject({ ok: false });
    const frames = await look.frames('stately-1', (frame) => frame.t === 'step' && frame.step.event.startsWith('y'));
    expect(JSON.stringify(frames).length).toBeLessThan(50_000);
    const last = frames.at(-1);
    expect(await look.step('stately-1', last?.t === 'step' ? last.step.n : 0)).toMatchObject({ after: { end: true } });
    for (const part of ['steps/1', 'steps/2', 'export'])
      expect([part, (await look.get(`/api/sessions/stately-1/${part}`)).status]).toEqual([part, 200]);
  });

  test('is read no faster than it is heard: what a flood brings waits where it comes from', async () => {
    const shown = await inspector();
    const socket = await opened(shown.statelyUrl);
    const text = 'x'.repeat(1_000_000);
    socket.send(JSON.stringify(lamp('x:0')));
    for (let n = 1; n <= 60; n++) {
      const snapshot = { status: 'active', value: 'ON', context: { n, text } };
      socket.send(JSON.stringify({ ...lamp('x:0'), type: '@xstate.snapshot', event: { type: `GO${n}` }, snapshot }));
    }
    await viewer(shown.url).frames('stately-1', (frame) => frame.t === 'step' && frame.step.event === 'GO20');
    expect(socket.bufferedAmount).toBeGreaterThan(20_000_000);
  });

  test('goes on with what another one told of that has said goodbye and is not gone yet', async () => {
    const shown = await inspector();
    const slow = await handmade(shown, true);
    slow.write(bytesOf(1, JSON.stringify(lamp('x:0'))));
    await viewer(shown.url).list(isRunning('lamp'));
    const answered = once(slow, 'data');
    slow.write(bytesOf(8, ''));
    await answered;
    const socket = await opened(shown.statelyUrl);
    for (const event of [lamp('x:0'), lamp('x:9', { name: 'another' })]) socket.send(JSON.stringify(event));
    const frames = await viewer(shown.url).list(isRunning('another'));
    slow.destroy();
    expect(frames.at(-1)).toMatchObject({ session: { id: 'stately-2' } });
  });

  test('that comes back is not among those that make room for others', async () => {
    const shown = await inspector({ keep: 2 });
    const look = viewer(shown.url);
    const statusOf = (status: string) =>
      look.list(
        (frame) => frame.t === 'session' && frame.session.id === 'stately-1' && frame.session.status === status,
      );
    for (let times = 0; times < 2; times++) {
      const socket = await opened(shown.statelyUrl);
      socket.send(JSON.stringify(lamp('x:0')));
      await statusOf('running');
      if (times === 0) socket.close();
      if (times === 0) await statusOf('stopped');
    }
    for (const app of ['one', 'two', 'three']) {
      shown.receive(lamp('x:0'), app);
      shown.receive(moved('x:0', 'GO', 'done'), app);
    }
    const listed = await look.list((frame) => frame.t === 'session' && frame.session.id === 'stately-4');
    expect(listed.flatMap((frame) => (frame.t === 'session' ? [frame.session.id] : []))).toEqual([
      'stately-1',
      'stately-3',
      'stately-4',
    ]);
  });

  test('and a sender over HTTP that has the same name stay apart, also when one of them is forgotten', async () => {
    const shown = await inspector({ keep: 2 });
    const look = viewer(shown.url);
    shown.receive(lamp('x:0'), 'shop');
    const socket = await opened(`${shown.statelyUrl}&app=shop`);
    socket.send(JSON.stringify(lamp('x:0')));
    socket.send(JSON.stringify(moved('x:0', 'STOP', 'done')));
    await look.list((frame) => frame.t === 'session' && frame.session.status === 'answered');
    for (const app of ['one', 'two']) {
      shown.receive(lamp('x:0'), app);
      shown.receive(moved('x:0', 'STOP', 'done'), app);
    }
    expect((await look.get('/api/sessions/stately-2/frames')).status).toBe(404);
    shown.receive(moved('x:0', 'GO', 'active'), 'shop');
    const frames = await look.frames('stately-1', (frame) => frame.t === 'step' && frame.step.event === 'GO');
    expect(JSON.stringify(frames)).not.toContain('STOP');
  });

  test('is one of at most 32, so that forgotten ones do not add up', async () => {
    const shown = await inspector();
    const sockets = await Promise.all(Array.from({ length: 32 }, () => opened(shown.statelyUrl)));
    expect(await shake(shown, pathOf(shown.statelyUrl))).toBe(503);
    const closed = once(sockets[0] as WebSocket, 'close');
    sockets[0]?.close();
    await closed;
    await expect.poll(() => shake(shown, pathOf(shown.statelyUrl))).toBe(101);
  });

  test('is ended when the inspector is closed, whether or not the other side takes notice', async () => {
    const shown = await inspector();
    const socket = await opened(shown.statelyUrl);
    const deaf = await handmade(shown, false);
    const [goodbye, gone] = [once(socket, 'close'), once(deaf, 'close')];
    await shown.close();
    expect((await goodbye)[0]).toMatchObject({ code: 1001 });
    await gone;
  });

  test('keeps no process alive', async () => {
    const script = join(import.meta.dirname, 'children/hold-nothing.ts');
    const child = spawn(process.execPath, [...BUNDLED, script], { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    const socket = await opened(String((await once(child.stdout, 'data'))[0]).trim());
    expect(await answerTo(socket, '{')).toMatchObject({ ok: false });
    child.stdin.write('Go.\n');
    expect(await ended).toEqual([0, null]);
  });
});

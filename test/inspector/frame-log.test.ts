import { expect, test } from 'vitest';
import { FrameLog } from '../../src/inspector/frames/frame-log.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';

const KB = 1000;
const gone = (path: string): Frame => ({ t: 'actor-gone', session: 's', path, step: 1 });
const large = (kb: number, mark: string): Frame => gone(`${mark}${'é'.repeat((kb * KB) / 2)}`);

/** What a viewer at a place is sent, all of it. */
function textFrom(log: FrameLog, place: number): string {
  let text = '';
  for (let more = log.read(place); more !== null; more = log.read(more.place))
    text += Buffer.from(more.bytes).toString();
  return text;
}
const idsFrom = (log: FrameLog, place: number | null): readonly string[] =>
  [...textFrom(log, place ?? -1).matchAll(/^id: (\d+)$/gm)].map(([, id]) => String(id));

test('frames travel as they were told, each with its number', () => {
  const log = new FrameLog(100 * KB);
  log.push(gone('a/ü'), true);
  log.push(gone('b'), false);
  expect(textFrom(log, 0)).toBe(
    `id: 1\ndata: ${JSON.stringify(gone('a/ü'))}\n\ndata: ${JSON.stringify(gone('b'))}\n\n`,
  );
  expect(log.kept()).toEqual([
    { number: 1, frame: gone('a/ü') },
    { number: null, frame: gone('b') },
  ]);
});

test('signs that end a line elsewhere are read back as they were written', () => {
  const log = new FrameLog(100 * KB);
  const odd = gone('a\u2028data: null\u2029b');
  log.push(odd, true);
  log.push(gone('c'), false);
  expect(log.kept()).toEqual([
    { number: 1, frame: odd },
    { number: null, frame: gone('c') },
  ]);
});

test('who goes on after a frame is sent what followed it, what has no number too', () => {
  const log = new FrameLog(10_000 * KB);
  for (let n = 0; n < 3000; n += 1) log.push(gone(`${n}-${'x'.repeat(200)}`), n % 3 !== 2);
  const place = log.placeAfter(1000);
  expect(idsFrom(log, place)).toEqual(Array.from({ length: 1000 }, (_, n) => String(n + 1001)));
  expect(textFrom(log, place ?? 0).startsWith('data: ')).toBe(true);
  expect(log.placeAfter(2000)).toBe(2999);
  expect(log.placeAfter(5000)).toBe(3000);
});

test('what is more than the capacity is forgotten, oldest first, and who comes later is known to have missed it', () => {
  const log = new FrameLog(500 * KB);
  for (let n = 1; n <= 40; n += 1) log.push(large(50, `${n}.`), true);
  const { start } = log;
  expect(start.number).toBeGreaterThan(25);
  expect(start.number).toBeLessThan(35);
  expect(log.placeAfter(start.number - 1)).toBeNull();
  expect(log.placeAfter(start.number)).toBe(start.place);
  expect(idsFrom(log, start.place)).toEqual(
    Array.from({ length: 40 - start.number }, (_, n) => String(start.number + n + 1)),
  );
});

test('a frame larger than the capacity is kept, alone, until the next', () => {
  const log = new FrameLog(200 * KB);
  log.push(gone('before'), true);
  log.push(large(1000, 'giant'), true);
  expect(log.kept()).toEqual([{ number: 2, frame: large(1000, 'giant') }]);
  log.push(gone('after'), true);
  expect(log.start.number).toBe(2);
  expect(log.kept()).toEqual([{ number: 3, frame: gone('after') }]);
});

test('who waits is woken by the next frame, and by the end', async () => {
  const log = new FrameLog(KB);
  const next = log.wait(0);
  log.push(gone('a'), true);
  await next;
  const end = log.wait(1);
  log.close();
  await end;
  expect(log.read(1)).toBeNull();
});

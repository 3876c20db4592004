import { expect, test } from 'vitest';
import { FrameLog } from '../../src/inspector/frames/frame-log.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';

const KB = 1000;
const gone = (path: string): Frame => ({ t: 'actor-gone', session: 's', path, step: 1 });
const large = (kb: number, mark: string): Frame => gone(`${mark}${'é'.repeat((kb * KB) / 2)}`);

/** What a viewer that has the frames up to a number is sent, all of it. */
function textFrom(log: FrameLog, number: number): string {
  let text = '';
  for (let more = log.read(number); more !== null; more = log.read(more.number))
    text += Buffer.from(more.bytes).toString();
  return text;
}
const idsFrom = (log: FrameLog, number: number): readonly string[] =>
  [...textFrom(log, number).matchAll(/^id: (\d+)$/gm)].map(([, id]) => String(id));

test('frames travel as they were told, each with its number', () => {
  const log = new FrameLog(100 * KB);
  log.push(gone('a/ü'));
  log.push(gone('b'));
  expect(textFrom(log, 0)).toBe(
    `id: 1\ndata: ${JSON.stringify(gone('a/ü'))}\n\nid: 2\ndata: ${JSON.stringify(gone('b'))}\n\n`,
  );
  expect(log.kept()).toEqual([gone('a/ü'), gone('b')]);
});

test('signs that end a line elsewhere are read back as they were written', () => {
  const log = new FrameLog(100 * KB);
  const odd = gone('a\u2028id: 2\u2029data: null\u2029b');
  log.push(odd);
  log.push(gone('c'));
  expect(log.kept()).toEqual([odd, gone('c')]);
});

test('who goes on after a frame is sent what followed it, and nothing else', () => {
  const log = new FrameLog(10_000 * KB);
  for (let n = 0; n < 2000; n += 1) log.push(gone(`${n}-${'x'.repeat(200)}`));
  for (const after of [0, 1, 73, 1000, 1999, 2000, 5000])
    expect(idsFrom(log, after)).toEqual(
      Array.from({ length: Math.max(0, 2000 - after) }, (_, n) => String(n + after + 1)),
    );
});

test('what is more than the capacity is forgotten, oldest first, and who comes later is known to have missed it', () => {
  const log = new FrameLog(500 * KB);
  for (let n = 1; n <= 40; n += 1) log.push(large(50, `${n}.`));
  const { forgotten } = log;
  expect(forgotten).toBeGreaterThan(25);
  expect(forgotten).toBeLessThan(35);
  const left = Array.from({ length: 40 - forgotten }, (_, n) => String(forgotten + n + 1));
  expect([idsFrom(log, forgotten), idsFrom(log, 3)]).toEqual([left, left]);
});

test('a frame larger than the capacity is kept, alone, until the next', () => {
  const log = new FrameLog(200 * KB);
  log.push(gone('before'));
  log.push(large(1000, 'giant'));
  expect([log.kept(), log.forgotten]).toEqual([[large(1000, 'giant')], 1]);
  log.push(gone('after'));
  expect([log.kept(), log.forgotten]).toEqual([[gone('after')], 2]);
});

test('who waits is woken by the next frame, and by the end', async () => {
  const log = new FrameLog(KB);
  const next = log.wait(0);
  log.push(gone('a'));
  await next;
  const end = log.wait(1);
  log.close();
  await end;
  expect(log.read(1)).toBeNull();
});

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { fairTurns } from '../../src/inspector/frames/event-loop.ts';

/** Pieces of one who has so many to do, each of which takes some milliseconds. */
function worker(name: string, pieces: number, ms: number, done: (what: string) => void): () => boolean {
  let n = 0;
  return () => {
    const began = performance.now();
    while (performance.now() - began < ms);
    done(`${name}${++n}`);
    return n < pieces;
  };
}

test('who has little to do need not wait until somebody else has done much', async () => {
  const takeTurn = fairTurns();
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    const done = (what: string): void => void (order.push(what) === 6 && resolve());
    takeTurn(worker('a', 4, 0, done));
    takeTurn(worker('b', 2, 0, done));
  });
  expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'a4']);
});

test('three quarters of the time are left to others, whether work comes all at once or again and again', async () => {
  const takeTurn = fairTurns();
  const began = performance.now();
  await new Promise<void>((resolve) => takeTurn(worker('long', 3, 10, (what) => what === 'long3' && resolve())));
  for (let n = 0; n < 3; n++) await new Promise<string>((resolve) => takeTurn(worker('short', 1, 10, resolve)));
  // Six times ten milliseconds, and five rests in between; timers may be a millisecond early.
  expect(performance.now() - began).toBeGreaterThan(6 * 10 + 5 * 29);
});

test('a turn comes at once in a process in which nothing else happens', async () => {
  const script = join(import.meta.dirname, 'children/quiet-process.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  expect(Number(stdout)).toBeLessThan(1000);
});

import { afterEach, expect, test, vi } from 'vitest';
import { lineStream } from '../../../src/inspector/page/player/line-stream.ts';

afterEach(() => void vi.unstubAllGlobals());

/** A browser's ways to a server that has these lines, and what was asked for. */
function serverWith(lines: readonly string[]) {
  const asked: string[] = [];
  class Source {
    onmessage: ((event: { readonly data: string }) => void) | null = null;
    constructor(url: string) {
      asked.push(url);
      sources.push(this);
    }
    addEventListener(): void {}
    close(): void {}
  }
  const sources: Source[] = [];
  vi.stubGlobal('EventSource', Source);
  vi.stubGlobal('fetch', (url: string) => {
    asked.push(url);
    return Promise.resolve(new Response(lines.map((line) => `${line}\n`).join('')));
  });
  return { asked, sources };
}

const LINES = Array.from({ length: 95 }, (_, n) => `line ${n + 1}`);
const at = (part: string, from: number): string => `${part} ${from}`;

test('a run that is left while it is read continues where it was, and is asked for once', async () => {
  const { asked, sources } = serverWith(LINES);
  const taken: string[] = [];
  const shares: number[] = [];
  const stream = lineStream(at, false, (lines, share) => {
    taken.push(...lines);
    shares.push(share);
    if (taken.length === 20) {
      stream.pause();
      // A slice ends here, however fast the machine is.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 40); // ms
    }
    return taken.length;
  });
  stream.resume();
  await vi.waitFor(() => expect(taken.length).toBeGreaterThan(0));
  // A slice ends, and with it what was left.
  for (let n = 0; n < 5; n += 1) await new Promise((resolve) => setTimeout(resolve));
  const before = asked.length;
  expect(before).toBe(1);
  expect(taken).toHaveLength(20);
  stream.resume();
  await vi.waitFor(() => expect(sources).toHaveLength(1));

  expect(taken).toEqual(LINES);
  expect(asked).toEqual(['lines 0', 'stream 95']);
  expect(shares[0]).toBe(0);
  expect(shares).toEqual(shares.toSorted((one, other) => one - other));
  expect(shares.at(-1)).toBe(1);
  expect(shares.filter((share) => share === 1)).toHaveLength(1);
  sources[0]?.onmessage?.({ data: 'line 96\nline 97' });
  expect(taken).toHaveLength(97);
  expect(shares.at(-1)).toBe(1);
  // Nothing is left of the answer: it goes on from where the stream was.
  stream.pause();
  stream.resume();
  await vi.waitFor(() => expect(sources).toHaveLength(2));
  expect(asked).toEqual(['lines 0', 'stream 95', 'stream 97']);
});

test('a run that has just begun is not asked for twice, and is whole at once', () => {
  const { asked, sources } = serverWith(LINES);
  const shares: number[] = [];
  const stream = lineStream(at, true, (lines, share) => (shares.push(share), lines.length));
  stream.resume();
  sources[0]?.onmessage?.({ data: 'line 1' });
  expect(asked).toEqual(['stream 0']);
  expect(shares).toEqual([1]);
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type InputLine, createLineReader } from '../../src/mcp/wire/lines.ts';
import { createTailBuffer } from '../../src/mcp/stdio/server-process.ts';

function linesOf(chunks: readonly Uint8Array[], limit = 1000): readonly InputLine[] {
  const lines: InputLine[] = [];
  const read = createLineReader(limit, (line) => lines.push(line));
  for (const chunk of chunks) read(chunk);
  return lines;
}

/** Cuts a text into pieces at any byte, inside a character too. */
function cut(text: string, sizes: readonly number[]): readonly Uint8Array[] {
  const bytes = Buffer.from(text);
  const chunks: Uint8Array[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

describe('lines', () => {
  test('come out the same however the stream is cut', () => {
    const texts = fc.array(fc.string({ unit: 'binary' }).map((text) => text.replaceAll(/[\r\n]/g, '').toWellFormed()));
    fc.assert(
      fc.property(texts, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (expected, sizes) => {
        const lines = linesOf(cut(expected.map((text) => `${text}\n`).join(''), sizes), 1e6);
        expect(lines).toEqual(expected.map((text) => ({ ok: true, text })));
      }),
    );
  });

  test('may end as on Windows', () => {
    expect(linesOf([Buffer.from('a\r\nb\r\n')])).toEqual([
      { ok: true, text: 'a' },
      { ok: true, text: 'b' },
    ]);
  });

  test('over the limit are skipped with their ends kept, and the next one is whole', () => {
    const long = `{"id":1,${'x'.repeat(5000)}}`;
    const [first, second] = linesOf(cut(`${long}\nnext\n`, [700]), 1000);
    expect(first).toEqual({ ok: false, bytes: long.length, head: long.slice(0, 1024), tail: long.slice(-1024) });
    expect(second).toEqual({ ok: true, text: 'next' });
  });

  test('that are exactly at the limit are read', () => {
    expect(linesOf([Buffer.from(`${'x'.repeat(1000)}\n`)])).toMatchObject([{ ok: true }]);
    expect(linesOf([Buffer.from(`${'x'.repeat(1001)}\n`)])).toMatchObject([{ ok: false }]);
  });
});

test('of a long text the end is kept, whatever the pieces', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme-ascii', maxLength: 3000 }),
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }),
      (text, sizes) => {
        const buffer = createTailBuffer(100);
        for (const chunk of cut(text, sizes)) buffer.push(chunk);
        expect(buffer.text()).toBe(text.slice(-100));
      },
    ),
  );
});

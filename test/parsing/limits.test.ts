import { expect, test } from 'vitest';
import { parseReply, recoverArguments, recoverJson } from '../../src/parsing/index.ts';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

test('256 levels are read, 257 are not, valid or not', () => {
  expect(recoverJson(nested(256))).toMatchObject({ ok: true, repairs: [] });
  expect(recoverJson(nested(257)).ok).toBe(false);
  expect(recoverJson(`${nested(257)},`).ok).toBe(false);
  expect(recoverArguments(`{"a": ${nested(256)}}`, true)).toMatchObject({ ok: false, error: { kind: 'invalid-args' } });
});

test('the limits can be set', () => {
  expect(recoverJson(nested(4), { limits: { maxDepth: 3 } }).ok).toBe(false);
  expect(recoverJson('{"a": 1}', { limits: { maxChars: 4 } })).toMatchObject({
    ok: false,
    issues: [{ message: 'the text is longer than 4 characters' }],
  });
});

test('a reply longer than the limit is read up to it, and says so', () => {
  const reply = parseReply('{"tool": "add", "tool_args": {"text": "long"}}', { limits: { maxChars: 40 } });
  expect(reply).toMatchObject({
    complete: false,
    calls: [{ name: 'add', complete: false }],
    repairs: [{ kind: 'too-long' }],
  });
});

test('limits that make no sense are left out', () => {
  const options: unknown = { limits: { maxDepth: -1, maxChars: 'many' } };
  const found: unknown = Reflect.apply(recoverJson, undefined, ['{"a": [1]}', options]);
  expect(found).toMatchObject({ ok: true, value: { a: [1] } });
});

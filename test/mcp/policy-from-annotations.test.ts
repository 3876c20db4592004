import { expect, test } from 'vitest';
import { policyFromAnnotations } from '../../src/mcp/policy-from-annotations.ts';

const readOnly = (name: string) => policyFromAnnotations({ name, annotations: { readOnlyHint: true } });

test.each([
  'list_files',
  'get_weather',
  'search',
  'readFile',
  'getHTTPStatus2',
  'describe-table',
  'lookup.user',
  'addressbook',
])('a read-only tool called %s may run at once', (name) => expect(readOnly(name)).toBe('allow'));

test.each([
  ['write_file', 'a verb as a segment'],
  ['fileWrite', 'a verb after a change of case'],
  ['HTTPPost', 'a verb after an acronym'],
  ['run2', 'a verb before a digit'],
  ['2run', 'a verb after a digit'],
  ['created_items', 'a longer word that begins with a verb of four letters or more'],
  ['checkOut', 'a segment that is a verb only when it is taken as a whole'],
  ['DELETE', 'capitals'],
  ['get.put', 'a verb of three letters that stands alone'],
])('%s is confirmed although the server calls it read-only: %s', (name) => {
  expect(readOnly(name)).toBe('confirm');
});

test.each(['', '___', '-.-'])('a name with nothing to look at (%j) is confirmed', (name) => {
  expect(readOnly(name)).toBe('confirm');
});

test('without the hint that it only reads, every tool is confirmed', () => {
  expect(policyFromAnnotations({ name: 'list_files' })).toBe('confirm');
  expect(policyFromAnnotations({ name: 'list_files', annotations: { readOnlyHint: false } })).toBe('confirm');
  expect(policyFromAnnotations({ name: 'list_files', annotations: { idempotentHint: true } })).toBe('confirm');
});

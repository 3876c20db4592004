import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/json/json.ts';
import { policyFromAnnotations } from '../../src/mcp/policies/annotations.ts';

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
  'list_charges',
  'list_directory_with_sizes',
  'search_nodes',
  'view_order_history',
])('a read-only tool called %s may run at once', (name) => expect(readOnly(name)).toBe('allow'));

test.each([
  ['write_file', 'a verb as a segment'],
  ['fileWrite', 'a verb after a change of case'],
  ['HTTPPost', 'a verb after an acronym'],
  ['run2', 'a verb before a digit'],
  ['2run', 'a verb after a digit'],
  ['created_items', 'a longer word that begins with a verb of four letters or more'],
  ['get_removed_items', 'the same behind a reading verb'],
  ['getUpdates', 'the same as a piece'],
  ['checkOut', 'a segment that is a verb only when it is taken as a whole'],
  ['DELETE', 'capitals'],
  ['get.put', 'a verb of three letters that stands alone'],
  ['rm', 'a command that deletes'],
  ['charge_card', 'a noun that is a verb where nothing is read'],
  ['stripe_chargeCard', 'the same behind the name of a service'],
  ['nuke_db', 'a coarse word'],
  ['search_and_replace_preview', 'a verb behind a reading one'],
  ['find_and_charge', 'a noun that is a verb, behind a joint'],
  ['checkOutItems', 'a segment that begins with a verb only when it is taken as a whole'],
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

const reads = { readOnlyHint: true };
const schema = (properties: JsonObject) => ({ type: 'object', properties }) satisfies JsonObject;

test('a tool that claims to read only and to destroy is confirmed', () => {
  expect(policyFromAnnotations({ name: 'list', annotations: { ...reads, destructiveHint: true } })).toBe('confirm');
  expect(policyFromAnnotations({ name: 'list', annotations: { ...reads, destructiveHint: false } })).toBe('allow');
});

test.each([
  ['force', schema({ path: { type: 'string' }, force: { type: 'boolean' } })],
  ['dryRun', schema({ dryRun: { type: 'boolean' } })],
  ['a yes or no that is a verb', schema({ deleteAfterwards: { type: 'boolean' } })],
  ['a command', schema({ command: { type: 'string' } })],
  ['an action that may write', schema({ action: { type: 'string', enum: ['read', 'write'] } })],
  ['a method', schema({ method: { oneOf: [{ const: 'GET' }, { const: 'DELETE' }] } })],
])('a reading name beside parameters that speak of a change is confirmed: %s', (_what, inputSchema) => {
  expect(policyFromAnnotations({ name: 'get_items', annotations: reads, inputSchema })).toBe('confirm');
});

test.each([
  ['plain parameters', schema({ path: { type: 'string' }, head: { type: 'number' } })],
  ['a yes or no that asks for states', schema({ includeDeleted: { type: 'boolean' }, open: { type: 'boolean' } })],
  ['an order', schema({ sortBy: { enum: ['name', 'created'] } })],
  ['a mode of reading', schema({ mode: { enum: ['list', 'tree'] } })],
  ['parameters that take anything', schema({ path: true, filter: null })],
  ['no parameters', schema({})],
])('a reading name beside harmless parameters may run at once: %s', (_what, inputSchema) => {
  expect(policyFromAnnotations({ name: 'get_items', annotations: reads, inputSchema })).toBe('allow');
});

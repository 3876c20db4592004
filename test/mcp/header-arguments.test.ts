import { expect, test } from 'vitest';
import { headerArguments, headersFor } from '../../src/mcp/link/header-arguments.ts';
import type { JsonObject } from '../../src/json/json.ts';

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const marked = (header: unknown, type: unknown = 'string'): JsonObject =>
  JSON.parse(JSON.stringify({ type, 'x-mcp-header': header }));

test.each<[string, JsonObject, number]>([
  ['nothing is marked', object({ a: { type: 'string' } }), 0],
  ['plain values', object({ a: marked('A'), b: marked('B', 'integer'), c: marked('C', 'boolean') }), 3],
  ['a value within an object', object({ a: object({ b: object({ c: marked('C') }) }) }), 1],
  ['an argument that is named like the mark', object({ 'x-mcp-header': { type: 'string' } }), 0],
  ['the mark within data', object({ a: { type: 'object', default: marked('A'), enum: [marked('B')] } }), 0],
])('what may be a header: %s', (_what, schema, count) => {
  expect(headerArguments(schema)).toHaveLength(count);
});

test.each<[string, JsonObject]>([
  ['a number', object({ a: marked('A', 'number') })],
  ['an object', object({ a: { ...object({}), 'x-mcp-header': 'A' } })],
  ['no type', object({ a: marked('A', null) })],
  ['all arguments', { ...object({}), 'x-mcp-header': 'A' }],
  ['the items of a list', object({ a: { type: 'array', items: marked('A') } })],
  ['one of two forms', object({ a: { anyOf: [marked('A'), { type: 'null' }] } })],
  ['a definition', object({}, { $defs: { a: marked('A') } })],
  ['a property within a definition', object({}, { $defs: { a: object({ b: marked('A') }) } })],
  ['two of the same name', object({ a: marked('Region'), b: marked('region') })],
  ['an empty name', object({ a: marked('') })],
  ['a name that is none', object({ a: marked('A: b') })],
  ['a name with a line break', object({ a: marked('A\r\nB') })],
  ['a name that is no text', object({ a: marked(1) })],
])('what may be none: %s', (_what, schema) => {
  expect(headerArguments(schema)).toBeNull();
});

test('values are written as the protocol has it', () => {
  const names = ['text', 'zero', 'no', 'umlaut', 'blank', 'empty', 'tricky', 'line', 'tab', 'large', 'list', 'none'];
  const paths = names.map((name) => ({ path: ['all', name], header: name }));
  const values = { text: 'a b', zero: 0, no: false, umlaut: 'ö', blank: ' a', empty: '', tricky: '=?base64?YQ==?=' };
  const odd = { line: 'a\r\nb: c', tab: 'a\tb', large: 2 ** 60, list: ['a'], none: null };
  expect(headersFor(paths, { all: { ...values, ...odd } })).toEqual({
    'Mcp-Param-text': 'a b',
    'Mcp-Param-zero': '0',
    'Mcp-Param-no': 'false',
    'Mcp-Param-umlaut': '=?base64?w7Y=?=',
    'Mcp-Param-blank': '=?base64?IGE=?=',
    'Mcp-Param-empty': '=?base64??=',
    'Mcp-Param-tricky': '=?base64?PT9iYXNlNjQ/WVE9PT89?=',
    'Mcp-Param-line': '=?base64?YQ0KYjogYw==?=',
    'Mcp-Param-tab': 'a\tb',
  });
  expect(headersFor(paths, {})).toEqual({});
});

import { expect, test } from 'vitest';
import { mapResult } from '../../src/mcp/calls/tool-calls.ts';

const text = (value: string) => ({ type: 'text', text: value });
const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' };

test('one text is the data, as text, even when it looks like JSON', () => {
  expect(mapResult({ content: [text('{"a":1}')] })).toEqual({ status: 'success', data: '{"a":1}' });
});

test('structured content wins over the text that repeats it', () => {
  expect(mapResult({ content: [text('{"a":1}')], structuredContent: { a: 1 } })).toEqual({
    status: 'success',
    data: { a: 1 },
  });
});

test('structured content keeps the images beside it', () => {
  expect(mapResult({ content: [text('x'), image], structuredContent: { a: 1 } })).toEqual({
    status: 'success',
    data: { a: 1 },
    parts: [image],
  });
});

test('several parts, images and resources are a list of parts', () => {
  const resource = { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'hi' } };
  expect(mapResult({ content: [text('see'), image, resource] }).data).toEqual([
    text('see'),
    image,
    { type: 'resource', uri: 'file:///a', mimeType: 'text/plain', text: 'hi' },
  ]);
});

test('a text part whose text is something else is kept as it came', () => {
  const odd = { type: 'text', text: { celsius: 21 } };
  expect(mapResult({ content: [odd] })).toEqual({ status: 'success', data: [odd] });
  expect(mapResult({ content: [odd], isError: true })).toMatchObject({ status: 'error', data: [odd] });
});

test('isError is an error in the words of the tool', () => {
  expect(mapResult({ content: [text('no such'), text('file')], isError: true })).toEqual({
    status: 'error',
    error: 'no such\nfile',
  });
});

test('an error without words still says that it is one', () => {
  expect(mapResult({ content: [], isError: true })).toEqual({
    status: 'error',
    error: 'the tool reported an error without a message',
  });
});

test('an empty result is a success without data, and so is one without content', () => {
  expect(mapResult({ content: [] })).toEqual({ status: 'success' });
  expect(mapResult({})).toEqual({ status: 'success' });
});

test('the result of a server of the first protocol version is its toolResult', () => {
  expect(mapResult({ toolResult: [1, 2] })).toEqual({ status: 'success', data: [1, 2] });
});

test('a part that is no object is kept, not dropped', () => {
  expect(mapResult({ content: [7] })).toEqual({ status: 'success', data: [{ type: 'unknown', value: 7 }] });
});

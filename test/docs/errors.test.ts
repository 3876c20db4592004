import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { document, root } from './documents.ts';

const page = document('docs/errors.md').text;
const sources = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(`${root}src/${file}`, 'utf8'));

test('every stable code in the sources stands in docs/errors.md', () => {
  const codes = sources.flatMap(codesIn);
  expect(new Set(codes).size).toBeGreaterThan(30);
  expect([...new Set(codes)].filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
});

test('every error class with a code stands there', () => {
  const classes = sources
    .filter((source) => /readonly code\b/.test(source))
    .flatMap((source) => [...source.matchAll(/override readonly name(?:: string)? = '(\w+)'/g)])
    .map(({ 1: name = '' }) => name);
  expect(classes).toEqual(expect.arrayContaining(['AgentBusyError', 'ToolExecutionError', 'McpError', 'ModelError']));
  expect(classes.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('the page names no code that is not in the sources', () => {
  const rows = [...page.matchAll(/^\| `([a-z][a-z-]*)`/gm)].map(({ 1: code = '' }) => code);
  expect(rows.length).toBeGreaterThan(30);
  const known = sources.join('\n');
  expect(rows.filter((code) => !known.includes(`'${code}'`))).toEqual([]);
});

/** Members of unions of codes, kinds and reasons, codes of error classes, and codes that are given where one is thrown. */
function codesIn(source: string): readonly string[] {
  const unions = [...source.matchAll(/type (?:\w*ErrorCode|\w*Problem|RunReason|RunStatus|Kind) =([^;]*);/g)].flatMap(
    ({ 1: body = '' }) => quoted(body),
  );
  const kinds = /export type ToolError =/.test(source)
    ? [...source.matchAll(/readonly kind: '([a-z-]+)';/g)].map(({ 1: kind = '' }) => kind)
    : [];
  const given = [
    ...source.matchAll(/\bcode(?:: string)? ?[:=] '([a-z-]+)'/g),
    ...source.matchAll(/\b(?:failure|ModelError|McpError)\(\s*'([a-z-]+)'/g),
    ...source.matchAll(/\brefusal\(\s*\d+,\s*'([a-z-]+)'/g),
    ...source.matchAll(/\bcode \?\? '([a-z-]+)'/g),
    ...source.matchAll(/\bcode:? = [^;\n]*\? '([a-z-]+)' : /g),
  ].map(({ 1: code = '' }) => code);
  return [...unions, ...kinds, ...given];
}

function quoted(text: string): readonly string[] {
  return [...text.matchAll(/'([a-z-]+)'/g)].map(({ 1: code = '' }) => code);
}

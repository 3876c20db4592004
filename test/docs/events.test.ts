import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { document, root } from './documents.ts';

const [, section = ''] = document('docs/agents.md').text.split(/^## Events$/m);
const rows = new Map(
  (section.split(/^## /m)[0] ?? '')
    .split('\n')
    .map((line) => line.split('|').map(names))
    .flatMap(([, types = [], members = []]) => types.map((type) => [type, members] as const)),
);

/** What stands in backticks. */
function names(cell: string): readonly string[] {
  return [...cell.matchAll(/`([\w.]+)`/g)].map(({ 1: name = '' }) => name);
}

test('the table of events has every event with all that it has, and no other', () => {
  const source = readFileSync(`${root}src/machines/events/run-events.ts`, 'utf8');
  const [, union = ''] = /export type RunEventBody =([\s\S]*?)\n\n/.exec(source) ?? [];
  const events = [...union.matchAll(/readonly type: '([\w.]+)'([\s\S]*?)(?=readonly type: |$)/g)];
  const known = new Map(
    events.map(({ 1: type = '', 2: rest = '' }) => [
      type,
      [...rest.replaceAll(/: \{[^}]*\}/g, ':').matchAll(/readonly (\w+)\??:/g)].map(({ 1: name = '' }) => name),
    ]),
  );
  expect(known.size).toBeGreaterThan(20);
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(known));
});

test('the table of events from outside has every one that the machines take', () => {
  const source = readFileSync(`${root}src/machines/events/outside-events.ts`, 'utf8');
  const known = [...source.matchAll(/^  '([\w.]+)': \{/gm)].map(({ 1: type = '' }) => type);
  const [, listed = ''] = document('docs/machines.md').text.split(/^## Events from outside$/m);
  const first = listed.split('\n').map((line) => names(line.split('|')[1] ?? ''));
  expect(known.length).toBeGreaterThan(8);
  expect(first.flat().toSorted()).toEqual(known.toSorted());
});

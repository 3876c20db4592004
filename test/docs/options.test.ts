import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/index.ts';
import { document, root } from './documents.ts';

interface Row {
  readonly option: string;
  readonly fallback: string;
  readonly range: string;
}

const [, section = ''] = /^## Options$([\s\S]*?)^## /m.exec(document('docs/agents.md').text) ?? [];

const rows: readonly Row[] = section
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter(([, name = '']) => /^`[\w.]+`$/.test(name))
  .map(([, name = '', fallback = '', range = '']) => ({ option: plain(name), fallback: plain(fallback), range }));

test('the table of options has every option, and no other', () => {
  const source = readFileSync(`${root}src/agent/options/agent-options.ts`, 'utf8');
  const [, body = ''] = /export interface AgentOptions(?:<[^>]*>+)? \{\n([\s\S]*?)\n\}/.exec(source) ?? [];
  const known = [...body.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(({ 1: name = '' }) => name);
  expect(known.length).toBeGreaterThan(30);
  expect(new Set(rows.map(({ option }) => option.split('.')[0]))).toEqual(new Set(known));
});

const lowest = rows
  .filter(({ range }) => /^≥ \d+$/.test(range))
  .map(({ option, range }) => ({ option, least: Number(range.slice(2)) }));

test.each(lowest)('$option takes $least and nothing below', ({ option, least }) => {
  expect(() => createAgent(nested(option, least))).not.toThrow();
  expect(() => createAgent(nested(option, least - 1))).toThrow(new RegExp(`'${option}'`));
});

test.each(rows.filter(({ range }) => range === '> 0'))('$option takes anything above 0', ({ option }) => {
  expect(() => createAgent(nested(option, 1))).not.toThrow();
  expect(() => createAgent(nested(option, 0))).toThrow(new RegExp(`'${option}'`));
});

test('temperature goes from 0 to 2', () => {
  expect(rows.find(({ option }) => option === 'temperature')?.range).toBe('0 to 2');
  for (const temperature of [0, 2]) expect(() => createAgent({ temperature })).not.toThrow();
  for (const temperature of [-0.1, 2.1]) expect(() => createAgent({ temperature })).toThrow(/'temperature'/);
});

const defaults = new Map(Object.entries(createAgent().options));

test.each(
  rows.filter(
    ({ option }) => ['number', 'boolean', 'string'].includes(typeof defaults.get(option)) && option !== 'seed',
  ),
)('$option is $fallback unless given', ({ option, fallback }) => {
  expect(fallback).toBe(
    typeof defaults.get(option) === 'string' ? `'${String(defaults.get(option))}'` : String(defaults.get(option)),
  );
});

test('an option that is not in the table is refused by name', () => {
  expect(() => createAgent(nested('maxStep', 3))).toThrow(/maxStep/);
});

function nested(option: string, value: unknown): object {
  const [outer = '', ...inner] = option.split('.');
  return { [outer]: inner.length === 0 ? value : nested(inner.join('.'), value) };
}

function plain(cell: string): string {
  return cell.replaceAll('`', '');
}

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { RunReason } from '../../src/machines/contract/run-result.ts';
import { type Document, documents, root } from './documents.ts';

const all = documents();

test.each(all)('links of $path lead somewhere', (document) => {
  expect(links(document).filter((link) => !leadsSomewhere(document.path, link))).toEqual([]);
});

test('the README leads to every document, and names every reason', () => {
  const [readme] = all.filter(({ path }) => path === 'README.md');
  const known = readme === undefined ? [] : links(readme).map((link) => link.split('#')[0]);
  const pages = all.map(({ path }) => path).filter((path) => path.startsWith('docs/'));
  expect(pages.length).toBeGreaterThan(25);
  expect(pages.filter((path) => !known.includes(path))).toEqual([]);
  const { 1: list = '' } = /`reason` is one of ([^.]*), and is never parsed/.exec(readme?.text ?? '') ?? [];
  const named = [...list.matchAll(/`([\w-]+)`/g)].map(([, reason = '']) => reason);
  expect(new Set(named)).toEqual(new Set(Object.keys(REASONS)));
});

/** All of them, as the compiler knows. */
const REASONS: { readonly [reason in RunReason]: true } = {
  answer: true,
  'max-steps': true,
  loop: true,
  'plan-limit': true,
  'llm-error': true,
  'tool-error': true,
  thrown: true,
  cancelled: true,
  timeout: true,
  budget: true,
  refused: true,
  'content-filter': true,
  length: true,
  'output-invalid': true,
  released: true,
  parked: true,
};

test('commands that the documents name exist', () => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(`${root}package.json`, 'utf8')));
  const named = all.flatMap(({ text }) => [...text.matchAll(/npm run ([\w:-]+)/g)].map(({ 1: name = '' }) => name));
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
});

function links({ text }: Document): readonly string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(({ 1: link = '' }) => link)
    .filter((link) => !/^https?:/.test(link));
}

function leadsSomewhere(from: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? from : join(dirname(from), path);
  if (!existsSync(join(root, target))) return false;
  return anchor === undefined || headings(readFileSync(join(root, target), 'utf8')).includes(anchor);
}

/** The anchors that GitHub gives to headings. */
function headings(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(({ 1: heading = '' }) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

test('every file that docs/architecture.md names is there', () => {
  const text = readFileSync(`${root}docs/architecture.md`, 'utf8');
  const named = [...text.matchAll(/`(?:src\/)?([a-z-]+(?:\/[\w.-]+)*\/[\w-]+\.tsx?)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(25);
  expect(named.filter((path) => !existsSync(join(root, 'src', path)))).toEqual([]);
});

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Document, documents, root } from './documents.ts';

const all = documents();

test.each(all)('links of $path lead somewhere', (document) => {
  expect(links(document).filter((link) => !leadsSomewhere(document.path, link))).toEqual([]);
});

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

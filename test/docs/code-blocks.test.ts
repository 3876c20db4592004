import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkSnippets } from './check-snippets.ts';
import { type Block, blocks, document as page, documents, root } from './documents.ts';

const all = documents().flatMap(blocks);
const code = all.filter(({ info }) => /^(ts|typescript|js|javascript|tsx)\b/.test(info));

test('every block says what it is', () => {
  expect(all.filter(({ info }) => info === '').map(place)).toEqual([]);
});

test('code blocks are TypeScript, and one that is not checked says why', () => {
  const unchecked = code.filter(({ info }) => info !== 'ts');
  expect(unchecked.filter(({ info }) => !/^ts no-check: \S+/.test(info)).map(place)).toEqual([]);
});

test('what readers run as it stands has no declaration that the oldest supported Node cannot read', () => {
  const declaration = /^\s*(await )?using \w+ =/m;
  expect(declaration.test('  await using agent = createAgent();')).toBe(true);
  expect(code.filter(({ code: text }) => declaration.test(text)).map(place)).toEqual([]);
  const examples = readdirSync(`${root}examples`, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  expect(examples.length).toBeGreaterThan(15);
  expect(examples.filter((file) => declaration.test(page(`examples/${file}`).text))).toEqual([]);
});

test('every TypeScript block compiles, and one that does not is found by its line', async () => {
  const checked = code.filter(({ info }) => info === 'ts');
  const source = "import { nothing } from 'signalbox';\n\nagent.fly();\n";
  const wrong: Block = { document: 'wrong.md', line: 7, info: 'ts', code: source };
  expect(checked.length).toBeGreaterThan(10);
  const complaints = await checkSnippets([...checked, wrong]);
  expect(complaints.filter((line) => !line.startsWith('wrong.md'))).toEqual([]);
  expect(complaints.map((line) => line.split(' ')[0])).toEqual(['wrong.md:7', 'wrong.md:9']);
});

function place({ document, line, info }: Block): string {
  return `${document}:${line} ${info}`;
}

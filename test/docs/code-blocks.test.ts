import { expect, test } from 'vitest';
import { checkSnippets } from './check-snippets.ts';
import { type Block, blocks, documents } from './documents.ts';

const all = documents().flatMap(blocks);
const code = all.filter(({ info }) => /^(ts|typescript|js|javascript|tsx)\b/.test(info));

test('every block says what it is', () => {
  expect(all.filter(({ info }) => info === '').map(place)).toEqual([]);
});

test('code blocks are TypeScript, and one that is not checked says why', () => {
  const unchecked = code.filter(({ info }) => info !== 'ts');
  expect(unchecked.filter(({ info }) => !/^ts no-check: \S+/.test(info)).map(place)).toEqual([]);
});

test('every TypeScript block compiles', { timeout: 60_000 }, async () => {
  const checked = code.filter(({ info }) => info === 'ts');
  expect(checked.length).toBeGreaterThan(10);
  expect(await checkSnippets(checked)).toEqual([]);
});

test('a block that does not compile is found, by its line', { timeout: 60_000 }, async () => {
  const wrong: Block = {
    document: 'x.md',
    line: 7,
    info: 'ts',
    code: "import { nothing } from 'signalbox';\n\nagent.fly();\n",
  };
  const complaints = await checkSnippets([wrong]);
  expect(complaints.map((line) => line.split(' ')[0])).toEqual(['x.md:7', 'x.md:9']);
});

function place({ document, line, info }: Block): string {
  return `${document}:${line} ${info}`;
}

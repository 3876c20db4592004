import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { document, root } from './documents.ts';

const Names = z.record(z.string(), z.string());
const Package = z.object({ version: z.string(), dependencies: Names, devDependencies: Names });
const { version, dependencies, devDependencies } = Package.parse(
  JSON.parse(readFileSync(`${root}package.json`, 'utf8')),
);

test('CONTRIBUTING says why each dependency is there, and names no other', () => {
  const [, section = ''] = document('CONTRIBUTING.md').text.split('## Dependencies');
  const rows = [...section.matchAll(/^\| (`.*?) \| \S.* \|$/gm)].flatMap(({ 1: names = '' }) =>
    names.replaceAll('`', '').split(', '),
  );
  expect(rows.toSorted()).toEqual([...Object.keys(dependencies), ...Object.keys(devDependencies)].toSorted());
});

test('the changelog has the version of the package', () => {
  expect(document('CHANGELOG.md').text).toContain(`## [${version}]`);
});

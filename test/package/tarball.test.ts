import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { packageVersion } from '../../src/inspector/version.ts';
import { documents, root } from '../docs/documents.ts';

/** What npm would publish, dist aside, which a clone need not have built. */
let packed: readonly string[] = [];

beforeAll(() => {
  const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ files }] = z.tuple([z.object({ files: z.array(z.object({ path: z.string() })) })]).parse(JSON.parse(listed));
  packed = files.map(({ path }) => path);
});

/** Pages on what is in the repository alone (its history, sources, scripts, benchmarks, proofs), for those who have not installed it yet or come from another library, and for authors of stores. */
const OF_REPOSITORY = [
  'BENCHMARKS.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'docs/architecture.md',
  'docs/child-agents.md',
  'docs/cli.md',
  'docs/conversations.md',
  'docs/from-agents-kt.md',
  'docs/from-gaia.md',
  'docs/getting-started.md',
  'docs/journal-port.md',
  'docs/machines.md',
  'docs/mcp-login.md',
  'docs/patterns.md',
  'docs/practice-model.md',
  'docs/production.md',
  'docs/proof.md',
  'docs/react.md',
  'docs/recording-format.md',
  'docs/restate.md',
  'docs/scaling.md',
  'docs/simulation.md',
  'docs/troubleshooting.md',
  'docs/typed-answers.md',
  'docs/ui-from-ai-sdk.md',
];
const shipped = documents()
  .map(({ path }) => path)
  .filter((path) => !OF_REPOSITORY.includes(path));

test.each(shipped)('links of %s lead somewhere in the installed package', (path) => {
  expect(packed).toContain(path);
  const prose = readFileSync(join(root, path), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
  const targets = [...prose.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
    .map(({ 1: link = '' }) => link)
    .filter((link) => !/^https?:/.test(link))
    .map((link) => join(dirname(path), link).replaceAll('\\', '/'));
  // Pictures stay in the repository: they would be a quarter of the package.
  const [stays, others] = [targets.filter(isOfRepository), targets.filter((target) => !isOfRepository(target))];
  expect(others.filter((target) => !packed.includes(target))).toEqual([]);
  expect(stays.filter((target) => packed.includes(target) || !existsSync(join(root, target)))).toEqual([]);
});

function isOfRepository(path: string): boolean {
  return path.startsWith('docs/images/') || path.startsWith('examples/chat-app/') || OF_REPOSITORY.includes(path);
}

test('the version that the package tells is that of package.json', () => {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  expect(packageVersion()).toBe(version);
});

test('package.json names no address that does not exist', () => {
  const manifest: object = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(Object.keys(manifest).filter((key) => ['repository', 'homepage', 'bugs'].includes(key))).toEqual([]);
});

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { COVERAGE_FOLDER } from '../../src/testing/coverage/edges.ts';
import CoverageReporter from '../../src/testing/coverage/index.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const Report = z.object({
  machines: z.array(
    z.object({
      machine: z.string(),
      states: z.object({ covered: z.number(), total: z.number(), missed: z.array(z.string()) }),
      edges: z.object({ missed: z.array(z.object({ from: z.string(), guard: z.string().nullable() })) }),
    }),
  ),
});

const TEST = `
import { test } from 'vitest';
import { createAgent } from '../../src/index.ts';
test('answers', async () => {
  await createAgent({ model: { complete: async () => ({ content: 'Hello.' }) }, silent: true }).run('Hi');
});
`;

test('the reporter tells which states and arrows no test has taken', async () => {
  const folder = await mkdtemp(join(root, 'test/.coverage-'));
  const json = join(folder, 'machines.json');
  const reporter = JSON.stringify(join(root, 'src/testing/coverage/index.ts'));
  // Node loads our source by itself: Vite would transform all of it.
  const config = `export default { test: { experimental: { viteModuleRunner: false }, include: ['*.test.ts'], reporters: [[${reporter}, { json: ${JSON.stringify(json)} }]] } };`;
  try {
    await writeFile(join(folder, 'answers.test.ts'), TEST);
    await writeFile(join(folder, 'vitest.config.ts'), config);
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const { stdout } = await promisify(execFile)(process.execPath, [vitest, 'run', '--root', folder], { cwd: root });
    expect(stdout).toMatch(/llmCall +2 of 5, 40 %/);
    expect(stdout).toContain('PLANNING.DECIDING —always [calledTools]→ DIRECT_EXECUTION');
    const { machines } = Report.parse(JSON.parse(await readFile(json, 'utf8')));
    const agent = machines.find(({ machine }) => machine === 'agent');
    expect(agent?.states.missed).toContain('EXECUTING_PLAN.RUNNING_STEP');
    expect(agent?.states.missed).not.toContain('PLANNING.DECIDING');
    expect(agent?.edges.missed).not.toContainEqual({ from: 'PLANNING.DECIDING', guard: 'answered' });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('a reporter that watches adds up what its runs take, and takes one in which no test could run', () => {
  const said: string[] = [];
  const before = process.env[COVERAGE_FOLDER];
  onTestFinished(() => {
    if (before === undefined) delete process.env[COVERAGE_FOLDER];
    else process.env[COVERAGE_FOLDER] = before;
  });
  const reporter = new CoverageReporter({ print: (text) => said.push(text) });
  reporter.onInit({ projects: [] });
  const folder = process.env[COVERAGE_FOLDER] ?? '';
  /** What the worker of a test file hands over. */
  const took = (state: string): void => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${state}.json`), JSON.stringify({ edges: [], states: [`loopDetection: ${state}`] }));
  };
  const covered = (): string | undefined => /loopDetection +(\d+ of \d+)/.exec(said.at(-1) ?? '')?.[1];
  took('SUSPICIOUS');
  reporter.onTestRunEnd();
  expect(covered()).toBe('1 of 3');
  took('LOOPING');
  reporter.onTestRunEnd();
  expect(covered()).toBe('2 of 3');
  // As where a test file does not compile.
  reporter.onTestRunEnd();
  expect(covered()).toBe('2 of 3');
  expect(existsSync(folder)).toBe(false);
});

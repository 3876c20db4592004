import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { SOAKING, cases } from '../support/soak.ts';
import { testFolder } from '../support/test-folder.ts';

/** In the suite these; among them are one with children, one with repair agents and one with servers. */
const SOME = [
  '03-customers.ts',
  '10-approvals.ts',
  '15-file-agent.ts',
  '16-child-agents.ts',
  '17-mcp-heals-and-asks.ts',
  '19-typed-extraction.ts',
];

interface Simulated {
  readonly example: string;
  readonly agent: string;
  readonly runs: number;
  readonly failures: readonly object[];
}

test('the agents of the examples keep their laws under all faults', { timeout: 10_800_000 }, async () => {
  const program = join(import.meta.dirname, 'children/simulate-examples.ts');
  const names = SOAKING ? [] : SOME;
  const args = ['-C', '@signalbox/source', program, String(cases(5, 2000)), ...names];
  // An example that is simulated does not come to the end at which it removes its folder.
  const env = { ...process.env, TMPDIR: testFolder() };
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1e8, env });
  const simulated: readonly Simulated[] = JSON.parse(stdout.trim().split('\n').at(-1) ?? '[]');
  expect(simulated.filter(({ failures }) => failures.length > 0)).toEqual([]);
  const all = (await readdir(join(import.meta.dirname, '../../examples'))).filter((name) => name.endsWith('.ts'));
  expect([...new Set(simulated.map(({ example }) => example))]).toEqual(SOAKING ? all.toSorted() : SOME);
  expect(simulated.every(({ runs }) => runs === cases(5, 2000))).toBe(true);
});

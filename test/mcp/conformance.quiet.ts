import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';

const suite = conformanceSuite();
const client = join(import.meta.dirname, 'children/conformance-client.ts');

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

const why = suite === null ? ' (skipped: @modelcontextprotocol/conformance is not installed)' : '';

describe.skipIf(suite === null)(`the official conformance suite${why}`, () => {
  test.each([
    ['initialize', ['mcp-client-initialization']],
    ['tools_call', ['tool-add-numbers']],
    [
      'elicitation-sep1034-client-defaults',
      ['string', 'integer', 'number', 'enum', 'boolean'].map((type) => `client-elicitation-sep1034-${type}-default`),
    ],
    ['sse-retry', ['client-sse-graceful-reconnect', 'client-sse-retry-timing', 'client-sse-last-event-id']],
  ])('finds no fault with the scenario %s', { timeout: 60_000, retry: 2 }, async (scenario, expected) => {
    const checks = await play(scenario);
    // A slow machine may be late for a stream, which the suite calls a warning.
    expect(checks.filter(({ status }) => status === 'FAILURE')).toEqual([]);
    expect(checks.map(({ id }) => id)).toEqual(expect.arrayContaining(expected));
  });
});

/** Lets the suite drive our client through a scenario, and reads what it checked: without a check it calls it passed, too. */
async function play(scenario: string): Promise<readonly Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const options = ['client', '--command', `${process.execPath} ${client}`, '--scenario', scenario, '-o', folder];
  await promisify(execFile)(process.execPath, [suite ?? '', ...options]).catch(() => undefined);
  const [run = ''] = await readdir(folder);
  return JSON.parse(await readFile(join(folder, run, 'checks.json'), 'utf8'));
}

function conformanceSuite(): string | null {
  const { resolve } = createRequire(import.meta.url);
  try {
    const description = resolve('@modelcontextprotocol/conformance/package.json');
    return join(dirname(description), 'dist/index.js');
  } catch {
    return null;
  }
}

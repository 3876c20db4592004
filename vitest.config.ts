import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// What one process compiles the next one reads: a test that starts a program pays half.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/signalbox/compiled', import.meta.url));

/** Short files that take long: a fresh clone begins with the longest files, and these would be left over for one worker. */
const LONG = [
  'simulation/generated-agents',
  'browser/chat-app',
  'browser/axe',
  'restate/killed-runs',
  'testing/simulate',
  'agent/requests/other-processes',
  'examples/examples',
  'agent/kept-runs',
  'chaos/random-kills',
  'chaos/every-record',
  'docs/cli',
  'mcp/hostile-memory',
  'package/import-graph',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return at === -1 ? LONG.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    typecheck: { enabled: false },
    globalSetup: ['test/support/own-temporary-folder.ts'],
    // Node loads the files by itself, as it does for users: nothing is transformed, and the examples' `signalbox` is our source.
    experimental: { viteModuleRunner: false },
    execArgv: ['--conditions=@signalbox/source'],
    sequence: { sequencer: LongestFirst },
    // A worker keeps the modules that it has loaded from file to file: what a test changes of its process, it puts back.
    isolate: false,
    // Three wait for processes, servers and time, so that each core has its worker.
    maxWorkers: availableParallelism() + 3,
    // What is awaited comes at once on a free machine, and later on a busy one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 45_000 } },
  },
});

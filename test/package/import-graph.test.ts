import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isBuiltin, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { exportedSources } from './export-table.ts';

const sources = exportedSources();
const STATIC_IMPORT = /^\s*(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?\s*['"]([^'"]+)['"]/gm;

/** Everything that is loaded with a module: our own files, and the packages and Node modules beside them. */
function staticGraph(entry: URL): { readonly files: readonly string[]; readonly others: ReadonlySet<string> } {
  const files = new Set<string>();
  const others = new Set<string>();
  const visit = (file: URL): void => {
    if (files.has(file.href)) return;
    files.add(file.href);
    const code = stripTypeScriptTypes(readFileSync(file, 'utf8'));
    for (const [, specifier = ''] of code.matchAll(STATIC_IMPORT)) {
      if (specifier.startsWith('.')) visit(new URL(specifier, file));
      else others.add(specifier);
    }
  };
  visit(entry);
  return { files: [...files], others };
}

const graphOf = (subpath: string) => {
  const entry = sources.get(subpath);
  if (entry === undefined) throw new Error(`no ${subpath}`);
  return staticGraph(entry);
};

const EVERYWHERE = ['xstate', 'zod', 'jsonrepair'];

describe('the static import graph', () => {
  test.each([['.'], ['./machines'], ['./parsing']])(
    'of %s has no Node module, so it bundles for browsers',
    (subpath) => {
      const { files, others } = graphOf(subpath);
      expect(files.length).toBeGreaterThan(5);
      expect([...others].filter((name) => isBuiltin(name))).toEqual([]);
    },
  );

  test('of /journal in bundles for browsers has no Node module, and all of it that needs no disk', async () => {
    const { exports }: { readonly exports: { readonly './journal': { readonly browser: string } } } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    );
    const source = exports['./journal'].browser.replace('./dist/', '../../src/').replace(/\.js$/, '.ts');
    const entry = new URL(source, import.meta.url);
    expect([...staticGraph(entry).others].filter((name) => isBuiltin(name))).toEqual([]);
    const [there, all]: readonly object[] = await Promise.all([
      import(entry.href),
      import('../../src/journal/index.ts'),
    ]);
    const missing = Object.keys(all ?? {}).filter((name) => !Object.keys(there ?? {}).includes(name));
    // The suites for those who write a journal run on servers.
    const suites = ['ConformanceError', 'LostAttempt', 'assertEngineConformance', 'assertJournalConformance'];
    expect(missing.toSorted()).toEqual([...suites, 'fileJournal', 'sqliteJournal']);
  });

  test.each([...sources.keys()])('of %s has only packages that are meant to load with it', (subpath) => {
    const packages = [...graphOf(subpath).others].filter((name) => !isBuiltin(name));
    const own: Readonly<Record<string, readonly string[]>> = {
      './testing/vitest': [...EVERYWHERE, 'vitest'],
      './restate': [...EVERYWHERE, '@restatedev/restate-sdk'],
      './telemetry': [...EVERYWHERE, '@opentelemetry/api'],
      './store': [],
      './react': ['react'],
    };
    const meant = new Set(own[subpath] ?? EVERYWHERE);
    const packageOf = (name: string) => name.split('/', name.startsWith('@') ? 2 : 1).join('/');
    expect(packages.filter((name) => !meant.has(packageOf(name)))).toEqual([]);
  });

  test('of /parsing stays within src/parsing and src/json, that of a machine reaches neither models, mcp nor agent', () => {
    const parsing = /\/src\/(json\/|parsing\/|platform\.ts|node-version\.ts)/;
    expect(graphOf('./parsing').files.filter((file) => !parsing.test(file))).toEqual([]);
    const low = /\/src\/((machines|actors|tools|recovery|parsing|json)\/|platform\.ts|node-version\.ts)/;
    expect(graphOf('./machines').files.filter((file) => !low.test(file))).toEqual([]);
  });

  test('of what pages take has files of its own alone, and nothing of Node', () => {
    expect([...graphOf('./store').others]).toEqual([]);
    expect([...graphOf('./react').others]).toEqual(['react']);
    const own = /\/src\/(store|react)\//;
    expect([...graphOf('./store').files, ...graphOf('./react').files].filter((file) => !own.test(file))).toEqual([]);
  });

  test('of /testing loads no vitest', () => expect([...graphOf('./testing').others]).not.toContain('vitest'));
});

describe('in a process of its own', () => {
  const child = (...args: readonly string[]) => {
    const script = fileURLToPath(new URL('children/loaded.ts', import.meta.url));
    const lines: string = execFileSync(process.execPath, [script, ...args], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
    });
    const seen: {
      readonly packages: readonly string[];
      readonly sockets: readonly string[];
      readonly processes: number;
    } = JSON.parse(lines);
    return seen;
  };
  const light = ['jsonrepair', 'xstate', 'zod'];

  test.each([['import'], ['make'], ['run']])(
    '%s: neither openai, the MCP SDK nor node:sqlite is loaded, and no socket opened',
    (how) => {
      const { packages, sockets, processes } = child(how);
      expect(packages.filter((name) => !light.includes(name))).toEqual([]);
      expect(packages).toContain('xstate');
      expect(sockets).toEqual([]);
      expect(processes).toBe(0);
    },
  );

  test('a run without a model asks loopback ports alone', () => {
    const { sockets } = child('discover');
    expect(sockets.length).toBeGreaterThan(0);
    expect(sockets.filter((address) => !/^(127\.0\.0\.1|localhost|::1):\d+$/.test(address))).toEqual([]);
  });
});

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type OutputChunk, type SourceMap, build } from 'rolldown';
import { lineMappings } from './line-mappings.ts';

/** Files that are loaded by their name, beside those that package.json exports. */
const MORE_ENTRIES = ['src/journal/browser.ts', 'src/cli/main.ts', 'src/testing/coverage/collect.ts'];

/** Entries for pages alone: they need no look at Node's version, and have no byte too much. */
const FOR_PAGES = ['store/index.js', 'react/index.js'];

/**
 * The chunks that entries share: each holds what these files load at once and no chunk before it holds. So chunks import
 * only from those above them, and `signalbox/parsing` loads nothing that only a machine needs. What is left is lazy: a
 * chunk each.
 */
const LAYERS: Readonly<Record<string, RegExp>> = {
  // The command and the check below read it, each with an error of its own.
  version: /src\/(?:node-version|inspector\/version)\.ts$/,
  // What the command reads before it knows what to do, and nothing else of what is below.
  text: /src\/(?:terminal\/(?:text-width|held-writes)|output\/console\/(?:escaped|terminal))\.ts$/,
  folders: /src\/security\/folders\.ts$/,
  // Alone: it has a side effect, and its error must come before any other on an old Node.
  platform: /src\/platform\.ts$/,
  // It comes before whatever makes a machine, and only the setup file of the coverage loads it.
  'watch-machines': /src\/testing\/coverage\/watch-machines\.ts$/,
  // Shapes check options of agents and servers: no machine needs them.
  json: /src\/json\/(?!shapes?\.ts)/,
  parsing: /src\/parsing\/index\.ts$/,
  machines: /src\/machines\/index\.ts$/,
  journal: /src\/journal\/(?:browser|replay\/recording-player|run\/(?:follow-run|driven-runs))\.ts$/,
  // Model clients and the transports of MCP follow redirects alike: no request to a model may load a client of MCP.
  agent: /src\/(?:(?:models\/)?index|actors\/redirect)\.ts$/,
  stores: /src\/journal\/index\.ts$/,
  postgres: /src\/journal\/postgres\//,
  // Pages bundle it: nothing else may be in it.
  store: /src\/store\//,
  // The part of `signalbox/ui` for pages, which take nothing else of it.
  transport: /src\/ui\/ai-sdk\/chat-transport\.ts$/,
  ui: /src\/ui\/index\.ts$/,
  security: /src\/security\/index\.ts$/,
  // Simulated servers need no client.
  'mcp-wire': /src\/mcp\/wire\/(?:pending-requests|faults)\.ts$/,
  mcp: /src\/mcp\/(?:index|hub)\.ts$/,
  'mcp-client': /src\/mcp\/(?:link|auth)\//,
  telemetry: /src\/telemetry\/index\.ts$/,
  restate: /src\/restate\/index\.ts$/,
  inspector: /src\/inspector\/index\.ts$/,
  testing: /src\/testing\/index\.ts$/,
  // Each command's options and help; its work is loaded when it is known.
  cli: /src\/cli\/(?:start\.ts$|command\/|agent\/agent-flags\.ts$|(?!chat|run-)(?:[\w-]+\/)?[\w-]+-command\.ts$)/,
  'cli-recordings': /src\/cli\/(?:recording\/(?!continue-run)|runs\/)/,
  'cli-agent': /src\/cli\/(?:agent\/|chat\/|practice\/|run-command\.ts$|recording\/continue-run)/,
  'cli-mcp': /src\/cli\/mcp\//,
  'cli-parse': /src\/cli\/parse\//,
  'cli-permissions': /src\/cli\/permissions\//,
  'cli-verify': /src\/cli\/verify\//,
};

/**
 * Bundles the library into a folder: `<subpath>/index.js` for each subpath, `cli/main.js`, and the chunks that they share,
 * so that a class is the same whichever subpath it comes from. Packages stay imports, and what was loaded late still is.
 * Each entry but those for pages first loads the check of Node's version. Only the command imports modules of Node: see `withoutNodeImports`.
 * Source maps lead to the lines of `src/` and hold no sources. Throws when chunks import each other in a circle, or code of the library came into one of the command's.
 */
export async function buildLibrary(outDir: string): Promise<void> {
  const chunks = await chunksOf([...exportedSources(), ...MORE_ENTRIES], outDir);
  refuseCircles(chunks);
  refuseCommandInLibrary(chunks);
  for (const chunk of chunks) write(outDir, chunk);
}

/** The chunks with each of these files of `src/` as an entry, for programs that import them by their names: those of the tests. */
export async function buildSources(outDir: string, files: readonly string[]): Promise<void> {
  for (const { fileName, code } of await chunksOf(files, outDir)) {
    mkdirSync(dirname(join(outDir, fileName)), { recursive: true });
    writeFileSync(join(outDir, fileName), code.replace(/^\/\/# sourceMappingURL=.*$/m, ''));
  }
}

async function chunksOf(entries: readonly string[], outDir: string): Promise<readonly OutputChunk[]> {
  const { output } = await build({
    input: Object.fromEntries(entries.map((file) => [nameOf(file), file])),
    platform: 'neutral',
    tsconfig: false,
    external: (id) => /^[^./\0]/.test(id) && !/^(?:[A-Za-z]:|src\/|@oxc-project\/)/.test(id),
    transform: { target: 'es2024' },
    // The package's own `sideEffects` name files of dist/.
    treeshake: { moduleSideEffects: () => true },
    checks: { ineffectiveDynamicImport: false },
    logLevel: 'warn',
    write: false,
    output: {
      dir: outDir,
      format: 'esm',
      chunkFileNames: 'chunks/[name].js',
      entryFileNames: '[name].js',
      comments: { jsdoc: false, annotation: true, legal: true },
      sourcemap: true,
      sourcemapExcludeSources: true,
      // An alias for each name would be larger than the names.
      minifyInternalExports: false,
      codeSplitting: {
        groups: Object.entries(LAYERS).map(([name, files], index) => ({
          name,
          test: (id) => files.test(withSlashes(id)),
          priority: 100 - index,
        })),
      },
    },
  });
  return output.filter((file) => file.type === 'chunk');
}

function exportedSources(): readonly string[] {
  const { exports }: { readonly exports: Readonly<Record<string, unknown>> } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  );
  return Object.values(exports).flatMap((target) => {
    const source: unknown = Reflect.get(Object(target), '@signalbox/source');
    return typeof source === 'string' ? [source.replace('./', '')] : [];
  });
}

function withSlashes(path: string): string {
  return path.replaceAll('\\', '/');
}

function nameOf(source: string): string {
  return source.replace(/^src\//, '').replace(/\.ts$/, '');
}

function write(outDir: string, { fileName, code, map, isEntry }: OutputChunk): void {
  const file = join(outDir, fileName);
  const toPlatform = relative(dirname(file), join(outDir, 'chunks/platform.js')).replaceAll('\\', '/');
  const first = `import "${toPlatform.startsWith('.') ? toPlatform : `./${toPlatform}`}";\n`;
  const checks = isEntry && fileName !== 'cli/main.js' && !FOR_PAGES.includes(fileName) && !code.startsWith(first);
  mkdirSync(dirname(file), { recursive: true });
  // The map names the sources as well.
  const named = code.replaceAll(/^\/\/ src\/\S+\.ts$/gm, '').replaceAll('/* @__PURE__ */ ', '/*#__PURE__*/');
  const bare = /^(?:chunks\/)?cli\b/.test(fileName) ? named : withoutNodeImports(named);
  writeFileSync(file, checks ? first + bare : bare);
  if (map !== null) writeFileSync(`${file}.map`, JSON.stringify(linesOf(map, code, checks ? ';' : '')));
}

/**
 * A chunk that asks Node for its modules instead of importing them, line by line. What a page never calls is in its bundle nevertheless, and
 * there a bundler need not resolve `node:fs`: Turbopack, of Next, fails at that. Next's Edge Runtime has a `process` that is not Node's.
 */
function withoutNodeImports(code: string): string {
  let isFirst = true;
  const asked = code.replaceAll(
    /^import (?:(\{[^}]*\})|(?:\* as )?(\w+)) from ("node:[^"]+");$/gm,
    (_, names: string | undefined, whole: string, module: string) => {
      const helper = isFirst
        ? '$node = (name) => globalThis.process?.versions?.node ? process.getBuiltinModule(name) : {}, '
        : '';
      isFirst = false;
      return `const ${helper}${names?.replaceAll(' as ', ': ') ?? whole} = $node(${module});`;
    },
  );
  const all = asked.replaceAll(/\bimport\(("node:[^"]+")\)/g, 'globalThis.process?.getBuiltinModule?.($1)');
  const left = /^.*(?:from |import\()"node:.*$/m.exec(all);
  if (left !== null) throw new Error(`A chunk still imports a module of Node: ${left[0]}`);
  return all;
}

/** `before`: the mappings of lines that were put before the chunk. */
function linesOf({ version, sources: paths, mappings }: SourceMap, code: string, before: string) {
  const root = /^(?:\.\.\/)+src\//.exec(paths[0] ?? '')?.[0] ?? '';
  const sourceRoot = paths.every((path) => path.startsWith(root)) ? root : '';
  const sources = paths.map((path) => path.slice(sourceRoot.length));
  return { version, sourceRoot, sources, mappings: before + lineMappings(mappings, code) };
}

function refuseCircles(chunks: readonly OutputChunk[]): void {
  const imports = new Map(chunks.map((chunk) => [chunk.fileName, chunk.imports]));
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): void => {
    if (path.includes(name)) throw new Error(`Chunks import each other: ${[...path, name].join(' → ')}`);
    if (done.has(name)) return;
    for (const next of imports.get(name) ?? []) visit(next, [...path, name]);
    done.add(name);
  };
  for (const name of imports.keys()) visit(name, []);
}

/** Bundlers follow what is imported late, too: no program that uses the library may carry the command. */
function refuseCommandInLibrary(chunks: readonly OutputChunk[]): void {
  for (const { fileName, imports, dynamicImports, moduleIds } of chunks) {
    if (moduleIds.some((id) => withSlashes(id).includes('/src/cli/')) || fileName.startsWith('cli/')) continue;
    const command = [...imports, ...dynamicImports].find((name) => name.startsWith('chunks/cli'));
    if (command !== undefined)
      throw new Error(`${fileName} imports ${command}: give what it needs a layer of its own.`);
  }
}

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { build } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildLibrary } from '../../scripts/build-library.ts';
import { NO_SERVERS } from '../cli/spawn-cli.ts';
import { exportedSources } from './export-table.ts';

const root = join(import.meta.dirname, '../..');
mkdirSync(join(root, '.signalbox'), { recursive: true });
const folder = mkdtempSync(join(root, '.signalbox/built-'));
const dist = join(folder, 'dist');

/** Subpaths and the files that they are built into, from a folder. */
const entries = [...exportedSources()].map(([subpath, source]): readonly [string, string] => [
  subpath,
  source.pathname.replace(/^.*\/src\//, '').replace(/\.ts$/, '.js'),
]);

beforeAll(async () => {
  await buildLibrary(dist);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const url = (file: string): string => pathToFileURL(join(dist, file)).href;

/** Runs a module in a process of its own; gives what it logs. */
function run(code: string, flags: readonly string[] = []): string {
  return execFileSync(process.execPath, [...flags, '--input-type=module', '-e', code], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** The same in a thread, which has modules and globals of its own as well, for half of the work. */
async function inThread(code: string): Promise<string> {
  const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
    execArgv: [],
    stdout: true,
  });
  const [told] = await Promise.all([textOf(thread.stdout), once(thread, 'exit')]);
  return told;
}

/** What is loaded with a file: packages and Node modules, by the names that imports have. */
async function loadedWith(file: string): Promise<readonly string[]> {
  const told = await inThread(`
    import { registerHooks } from 'node:module';
    const names = new Set();
    registerHooks({ resolve: (name, context, next) => {
      if (!/^(file:|[./])/.test(name) && context.parentURL?.startsWith(${JSON.stringify(url(''))})) names.add(name);
      return next(name, context);
    } });
    const { getBuiltinModule } = process;
    process.getBuiltinModule = (name) => {
      names.add(name);
      return getBuiltinModule(name);
    };
    await import(${JSON.stringify(url(file))});
    console.log(JSON.stringify([...names]));`);
  const names: unknown = JSON.parse(told);
  return Array.isArray(names) ? names.map(String) : [];
}

/** What `signalbox` loads for these arguments. */
function loadedFor(...args: readonly string[]): readonly string[] {
  return loadedBy(`
    process.argv.splice(1, 0, 'signalbox', ...${JSON.stringify(args)});
    console.log = console.error = () => {};
    await import(${JSON.stringify(url('cli/main.js'))});`);
}

/** What a process loads that does this: the names of packages, and of the files of dist/. */
function loadedBy(code: string): readonly string[] {
  const told = run(`
    import { registerHooks } from 'node:module';
    const names = new Set();
    registerHooks({ load: (address, context, next) => {
      if (address.startsWith('file:')) names.add(/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(address)?.[1] ?? address.split('/').at(-1));
      return next(address, context);
    } });
    const { log } = console;
    process.on('exit', () => {
      process.exitCode = 0;
      log(JSON.stringify([...names]));
    });
    ${code}`);
  const names: unknown = JSON.parse(told);
  return Array.isArray(names) ? names.map(String) : [];
}

describe('the built command', () => {
  test.each([['--help'], ['runs --help'], ['simulate --help'], ['mcp --help'], ['no-such-command']])(
    'loads no machine and no package for %s',
    (line) => {
      const names = loadedFor(...line.split(' '));
      expect(names).toContain('cli.js');
      expect(
        names.filter((name) => !/^(?:main|cli|text|folders|json|version|platform|rolldown-runtime)\.js$/.test(name)),
      ).toEqual([]);
    },
  );

  test.each([['runs list --in .'], ['recording show none.jsonl'], ['verify none.ts']])(
    'loads neither a client nor zod for %s',
    (line) => {
      const names = loadedFor(...line.split(' '));
      expect(names).toContain('xstate');
      expect(
        names.filter((name) => /^(?:zod|openai|@modelcontextprotocol\/.*|mcp\.js|mcp-client\.js|pg)$/.test(name)),
      ).toEqual([]);
    },
  );
});

test('a run with the practice model loads no client, no MCP and no zod', () => {
  const record = ['--record', join(folder, 'run.jsonl')];
  const names = loadedFor('run', 'Hello', '--model', 'practice', '--silent', ...NO_SERVERS, ...record);
  expect(names).toContain('direct-client.js');
  expect(names.filter((name) => !/\.m?js$/.test(name)).toSorted()).toEqual(['jsonrepair', 'xstate']);
});

/** What is loaded with an agent and a model. */
const CHUNKS_OF_A_RUN = ['agent', 'journal', 'json', 'machines', 'parsing', 'platform', 'text', 'version'].map(
  (name) => `${name}.js`,
);

test.each([
  ['direct', []],
  ['openai', ['openai']],
])(
  'a request over %s loads what it needs, and nothing that only schemas, MCP or a page need',
  (transport, packages) => {
    const names = loadedBy(`
    const { createServer } = await import('node:http');
    const { createAgent } = await import(${JSON.stringify(url('index.js'))});
    const { chatModel } = await import(${JSON.stringify(url('models/index.js'))});
    const reply = { choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }] };
    const server = createServer((_, response) => response.end(JSON.stringify(reply))).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const baseURL = \`http://127.0.0.1:\${server.address().port}/v1\`;
    const model = chatModel({ baseURL, apiKey: 'none', model: 'm', transport: ${JSON.stringify(transport)} });
    const result = await createAgent({ model, silent: true }).run('Hello');
    if (result.result !== 'Hello.') throw new Error(JSON.stringify(result));
    process.exit();`);
    const [loaded, files] = [
      names.filter((name) => !/\.m?js$/.test(name)),
      names.filter((name) => name.endsWith('.js')),
    ];
    expect(loaded.toSorted()).toEqual(['jsonrepair', ...packages, 'xstate']);
    // The model list of a server is asked for by fetch, over either.
    const clients = transport === 'direct' ? ['direct-client.js', 'node-fetch.js'] : ['node-fetch.js'];
    expect(files.filter((name) => name !== 'index.js').toSorted()).toEqual(
      [...CHUNKS_OF_A_RUN, ...clients, 'node-request.js'].toSorted(),
    );
  },
);

describe('a subpath of the built package, alone', () => {
  // Vitest and jest lend these two their expect.
  test.each(entries.filter(([subpath]) => !/jest$|vitest$|coverage$/.test(subpath)))(
    '%s is loaded',
    async (_, file) => {
      const late = ['openai', '@modelcontextprotocol/client', 'elkjs', 'ws'];
      expect((await loadedWith(file)).filter((name) => late.includes(name))).toEqual([]);
    },
  );

  // A page and a worker have neither; `react`, `restate` and the setup files are for who has their packages.
  test.each(entries.filter(([subpath]) => !/jest$|vitest$|react$|restate$/.test(subpath)))(
    '%s is loaded where there is no process and no Buffer',
    async (_, file) => {
      const told = await inThread(`const { log } = console; log('');
        delete globalThis.process; delete globalThis.Buffer;
        await import(${JSON.stringify(url(file))}); log('loaded');`);
      expect(told).toBe('\nloaded\n');
    },
  );

  test('parsing loads neither xstate nor anything of Node', async () => {
    expect(await loadedWith('parsing/index.js')).toEqual(['jsonrepair']);
  });

  test.each([['index.js'], ['machines/index.js'], ['journal/browser.js'], ['ui/index.js']])(
    '%s loads nothing of Node',
    async (file) => {
      const names = await loadedWith(file);
      expect(names).toContain('xstate');
      expect(names.filter((name) => isBuiltin(name))).toEqual([]);
    },
  );

  test.each(entries.filter(([subpath]) => !/store$|react$/.test(subpath)))(
    '%s looks at the version of Node before it does anything else',
    (_, file) => {
      const [first] = /^import .*$/m.exec(readFileSync(join(dist, file), 'utf8')) ?? [];
      expect(first).toMatch(/^import "\.\.?\/(\.\.\/)*chunks\/platform\.js";$/);
    },
  );
});

const forBrowsers = { platform: 'browser', tsconfig: false, logLevel: 'silent', write: false } as const;

test('a bundler for browsers finds nothing that only Node has, also in what is loaded late', async () => {
  const input = ['index.js', 'mcp/index.js', 'models/index.js', 'testing/index.js', 'ui/index.js'];
  const { output } = await build({ ...forBrowsers, input: input.map((file) => join(dist, file)) });
  const names = output.flatMap((one) => (one.type === 'chunk' ? [...one.imports, ...one.dynamicImports] : []));
  expect(names).not.toEqual([]);
  // The client of `openai` looks for this one where it needs a file.
  expect(names.filter((name) => isBuiltin(name) && name !== 'node:buffer')).toEqual([]);
});

test('tests in a page explore and assert; what needs a process or files says so', async () => {
  const imported = ['index.js', 'testing/index.js'].map((file) => `export * from ${JSON.stringify(url(file))};`);
  writeFileSync(join(folder, 'tests.js'), imported.join('\n'));
  await build({ ...forBrowsers, write: true, input: join(folder, 'tests.js'), output: { dir: join(folder, 'page') } });
  const told = run(`const { log } = console; log('');
    delete globalThis.process; delete globalThis.Buffer; delete globalThis.setImmediate;
    const { createAgent, scriptedModel, explorePaths, simulate, useRecording, assertEndsWith } =
      await import(${JSON.stringify(pathToFileURL(join(folder, 'page/tests.js')).href)});
    const agent = createAgent({ model: scriptedModel(['Hi']), silent: true });
    let breaths = 0;
    await explorePaths(agent, { maxSteps: 3, onProgress: () => (breaths += 1) });
    const said = async (work) => { try { await work(); } catch (error) { log(error.message.split('\\n')[0]); } };
    log(breaths > 0);
    await said(() => simulate(agent));
    await said(() => useRecording('a.jsonl'));
    await said(() => assertEndsWith(agent.run('x'), 'loop'));`);
  expect(told.trim().split('\n')).toEqual([
    'true',
    'simulate needs a process: run it in Node, not in a page.',
    'useRecording keeps a file: in a page, `replay` its text.',
    'expected the run to end with loop, but it',
  ]);
});

test('a page that only talks to a chat bundles nothing of an agent', async () => {
  const { sideEffects }: { readonly sideEffects?: unknown } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', sideEffects }));
  writeFileSync(join(folder, 'page.js'), `export { chatTransport } from ${JSON.stringify(url('ui/index.js'))};`);
  const { output } = await build({ ...forBrowsers, input: join(folder, 'page.js') });
  // What the page loads at once; the bundler also writes what parts that it left out would load late.
  const loaded = new Set([output[0].fileName]);
  for (const name of loaded)
    for (const one of output)
      if (one.type === 'chunk' && one.fileName === name) for (const next of one.imports) loaded.add(next);
  const chunks = output.flatMap((one) =>
    one.type === 'chunk' && loaded.has(one.fileName)
      ? one.moduleIds.flatMap((id) => /chunks[/\\](.*)\.js$/.exec(id)?.[1] ?? [])
      : [],
  );
  expect(chunks).toContain('transport');
  expect(chunks.filter((name) => !/^(?:json|platform|store|transport|version)$/.test(name))).toEqual([]);
});

test('a class is the same, whichever subpath it comes from', () => {
  const told = run(`
    const [root, journal, testing, machines] = await Promise.all(
      ${JSON.stringify(['index', 'journal/index', 'testing/index', 'machines/index'].map((name) => url(`${name}.js`)))}
        .map((file) => import(file)),
    );
    const recording = { journal: journal.memoryJournal() };
    const run = root.createAgent({ model: testing.scriptedModel(['Hi.']), silent: true, ...recording }).run('Hello');
    await run;
    console.log(root.ReplayDivergenceError === journal.ReplayDivergenceError, journal.replay === testing.replay,
      typeof machines.agentMachine.createMachine !== 'undefined' || machines.agentMachine.id);`);
  expect(told).toBe('true true agent\n');
});

test('a stack trace leads to the lines of src', () => {
  const told = run(
    `const { createAgent } = await import(${JSON.stringify(url('index.js'))});
     try { createAgent({ maxSteps: -1 }); } catch (error) { console.log(error.stack); }`,
    ['--enable-source-maps'],
  );
  const frames = [...told.matchAll(/at (?:new )?(\w+) \(.*?(src\/[\w/.-]+\.ts):(\d+):\d+\)/g)];
  expect(frames.length).toBeGreaterThan(1);
  // Each frame's line is one of the function that the frame names, and the outermost is createAgent.
  const [, name, file = '', line] = frames.at(-1) ?? [];
  expect([name, file]).toEqual(['createAgent', 'src/agent/create-agent.ts']);
  const source = readFileSync(join(root, file), 'utf8').split('\n');
  const begins = source.findIndex((text) => text.startsWith('export function createAgent('));
  expect(Number(line)).toBeGreaterThan(begins);
  const [, thrower, , thrownAt] = frames[0] ?? [];
  expect(readFileSync(join(root, frames[0]?.[2] ?? ''), 'utf8').split('\n')[Number(thrownAt) - 1]).toMatch(
    /throw|Error\(/,
  );
  expect(thrower).not.toBe('createAgent');
});

test('the coverage reporter counts what the machines of the package do', () => {
  const project = join(folder, 'covered');
  mkdirSync(project);
  const reporter = JSON.stringify(join(dist, 'testing/coverage/index.js'));
  writeFileSync(join(project, 'vitest.config.js'), `export default { test: { reporters: [${reporter}] } };`);
  writeFileSync(
    join(project, 'answers.test.js'),
    `import { test } from 'vitest';
     import { createAgent } from ${JSON.stringify(url('index.js'))};
     test('answers', () => createAgent({ model: { complete: async () => ({ content: 'Hello.' }) }, silent: true }).run('Hi'));`,
  );
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const printed = execFileSync(process.execPath, [vitest, 'run', '--root', project], {
    cwd: project,
    encoding: 'utf8',
  });
  expect(printed).toMatch(/llmCall +2 of 5, 40 %/);
});

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, type Plugin, build } from 'rolldown';
import { autoCollapsed } from '../src/inspector/page/model/chart.ts';
import { layoutMachine } from '../src/inspector/layout/layout-machine.ts';
import { layoutKey } from '../src/inspector/layout/chart-layout.ts';
import { drawMachine } from '../src/inspector/frames/drawing.ts';
import type { MachineDrawing } from '../src/inspector/frames/protocol.ts';
import { agentMachine } from '../src/machines/agent/agent.ts';
import { llmCallMachine } from '../src/machines/llm-call/llm-call.ts';
import { loopDetectionMachine } from '../src/machines/tool-call/loop-detection.ts';
import { mcpConnectionMachine } from '../src/machines/mcp/mcp-connection.ts';
import { toolCallMachine } from '../src/machines/tool-call/tool-call.ts';

const SOURCE = new URL('../src/inspector/page/', import.meta.url);
const STYLES = ['tokens', 'page', 'bar', 'chart', 'time', 'talk', 'desk', 'compare', 'dialog'];

/**
 * Builds the inspector's page into a folder: `index.html`, which loads `assets/main.js` and `assets/styles.css`; the layout
 * engine as `assets/layout-engine.js`; `assets/layouts-<machine>.json`, the layouts of our own machines; and `assets/player.js`, which
 * plays recordings in a thread of its own. A page that is saved is made of the same files: there, `main.js` finds the others in
 * its own script.
 */
export async function buildPage(outDir: string): Promise<void> {
  const assets = join(outDir, 'assets');
  mkdirSync(assets, { recursive: true });
  const machines = await ownLayouts();
  await bundle({
    output: { dir: assets, entryFileNames: 'main.js', chunkFileNames: '[name].js', minify: true, comments: false },
    plugins: [playerFromScript, engineFromScript],
  });
  await bundle({
    input: ENGINE,
    output: { file: join(assets, 'layout-engine.js'), format: 'iife', minify: true },
    plugins: [engineAsScript],
  });
  await bundle({
    input: fileURLToPath(new URL('player/player-script.ts', SOURCE)),
    // Guards and actions are shown by their names.
    output: { file: join(assets, 'player.js'), format: 'iife', minify: { mangle: { keepNames: true } } },
    plugins: [withoutZod],
  });
  // Without comments and indents: no string of ours looks like one.
  const css = STYLES.map((name) => readFileSync(new URL(`styles/${name}.css`, SOURCE), 'utf8')).join('\n');
  writeFileSync(join(assets, 'styles.css'), css.replaceAll(/\/\*[^]*?\*\/|^\s+/gm, ''));
  for (const { id, layouts: own } of machines) writeFileSync(join(assets, `layouts-${id}.json`), json(own));
  writeFileSync(join(assets, 'layouts.json'), json(Object.fromEntries(machines.map(({ hash, id }) => [hash, id]))));
  writeFileSync(join(outDir, 'index.html'), readFileSync(new URL('index.html', SOURCE), 'utf8'));
  writeFileSync(join(outDir, 'LICENSES.txt'), licenses());
}

/** Nobody sees a part of a pixel, and each digit is sent. */
function json(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => (typeof member === 'number' ? Math.round(member) : member));
}

async function bundle(options: BuildOptions): Promise<void> {
  await build({
    input: fileURLToPath(new URL('main.tsx', SOURCE)),
    platform: 'browser',
    logLevel: 'warn',
    ...options,
    plugins: [withoutWorkers, options.plugins],
  });
}

/** The layout engine looks for a package that would run it in a worker of Node; in a page there is none. */
const withoutWorkers: Plugin = {
  name: 'without-workers',
  resolveId: (id) => (id === 'web-worker' ? '\0none' : null),
  load: (id) => (id === '\0none' ? 'export {};' : null),
};

/** The player of a saved page is in the script before the page's; other pages have it in a thread of its own. */
const playerFromScript: Plugin = {
  name: 'player-from-script',
  load: (id) => (id.endsWith('journal-player.ts') ? 'export const JournalPlayer = globalThis.signalboxPlayer;' : null),
};

/** Schemas of events that zod alone can read are those of users' machines, which are not played. */
const withoutZod: Plugin = {
  name: 'without-zod',
  resolveId: (id) => (id === 'zod' ? '\0zod' : null),
  load: (id) => (id === '\0zod' ? 'export const z = {};' : null),
};

const ENGINE = 'layout-engine';

/**
 * The layout engine is half of the page, and some drawings take it seconds: it is a script that works in a thread of its own, begun by
 * the page that needs it. In a page that is saved, which cannot begin one, it stands before the page's script.
 */
const engineAsScript: Plugin = {
  name: 'engine-as-script',
  resolveId: (id) => (id === ENGINE ? `\0${ENGINE}` : null),
  load: (id) =>
    id === `\0${ENGINE}`
      ? `import { layoutMachine } from ${JSON.stringify(LAYOUT)};
        if (typeof document !== 'undefined') globalThis.signalboxLayout = layoutMachine;
        else addEventListener('message', ({ data: [id, ...drawing] }) => layoutMachine(...drawing).then(
          (layout) => postMessage({ id, layout }),
          ({ message }) => postMessage({ id, layout: message }),
        ));`
      : null,
  // The engine takes a thread for one of its own, and would listen in it instead.
  transform: (code, id) =>
    id.endsWith('elk-worker.js') ? code.replace("typeof document === 'undefined'", 'false') : null,
};

const LAYOUT = fileURLToPath(new URL('../src/inspector/layout/layout-machine.ts', import.meta.url));

/** Takes the layout engine from that script. One that cannot be loaded is begun anew for the next drawing. */
const engineFromScript: Plugin = {
  name: 'engine-from-script',
  load: (id) =>
    id === LAYOUT
      ? `let engine = null, count = 0;
        const asked = new Map();
        function begin() {
          engine = new Worker(new URL('./layout-engine.js', import.meta.url));
          engine.onmessage = ({ data: { id, layout } }) => {
            asked.get(id)(layout);
            asked.delete(id);
          };
          engine.onerror = () => {
            engine = null;
            for (const answer of asked.values()) answer('The layout engine failed.');
            asked.clear();
          };
        }
        export function layoutMachine(...drawing) {
          if (globalThis.signalboxLayout !== undefined) return globalThis.signalboxLayout(...drawing);
          if (engine === null) begin();
          return new Promise((resolve) => {
            asked.set(++count, resolve);
            engine.postMessage([count, ...drawing]);
          });
        }`
      : null,
};

interface MachineLayouts {
  readonly id: string;
  readonly hash: string;
  readonly layouts: { readonly [key: string]: unknown };
}

async function ownLayouts(): Promise<readonly MachineLayouts[]> {
  const machines = [agentMachine, llmCallMachine, toolCallMachine, loopDetectionMachine, mcpConnectionMachine];
  const made: MachineLayouts[] = [];
  for (const machine of machines) {
    const drawing = drawMachine(machine);
    const layouts: { [key: string]: unknown } = {};
    for (const collapsed of collapses(drawing))
      for (const direction of ['RIGHT', 'DOWN'] as const)
        for (const labels of [false, true]) {
          const style = { direction, labels, collapsed };
          layouts[layoutKey(drawing.hash, style)] ??= await layoutMachine(drawing, style);
        }
    made.push({ id: machine.id, hash: drawing.hash, layouts });
  }
  return made;
}

/** Every set of states that the page may close in a drawing by itself. */
function collapses(drawing: MachineDrawing): readonly ReadonlySet<string>[] {
  let sets: readonly ReadonlySet<string>[] = [new Set()];
  for (const path of autoCollapsed(drawing, new Set())) sets = sets.flatMap((set) => [set, new Set([...set, path])]);
  return sets;
}

/** The page ships other people's code; their licenses ask to be passed on. A license of several packages stands there once. */
function licenses(): string {
  const names = ['preact', '@preact/signals', '@preact/signals-core', 'xstate', 'elkjs', 'jsonrepair'];
  const holders = new Map<string, string[]>();
  for (const name of names) {
    const folder = new URL(`../node_modules/${name}/`, import.meta.url);
    const { version, license }: { version: string; license: string } = JSON.parse(
      readFileSync(new URL('package.json', folder), 'utf8'),
    );
    const file = readdirSync(folder).find((one) => one.startsWith('LICENSE'));
    const text = file === undefined ? '' : readFileSync(new URL(file, folder), 'utf8');
    const [copyright = ''] = license === 'MIT' ? (/^Copyright .*$/m.exec(text) ?? []) : [];
    const terms =
      copyright === ''
        ? text.trim()
        : text
            .replace(copyright, '')
            .replaceAll(/\s*\n\s*/g, '\n')
            .trim();
    holders.set(terms, [...(holders.get(terms) ?? []), `${name} ${version}: ${license}\n${copyright}`.trim()]);
  }
  return [...holders].map(([terms, packages]) => `${packages.join('\n\n')}\n\n${terms}\n`).join('\n----\n\n');
}

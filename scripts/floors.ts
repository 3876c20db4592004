import { readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The rooms of the source, from the ground up: a file imports from its own room and from those below it, types too. */
export const FLOORS = [
  'json',
  'parsing',
  'recovery',
  'tools',
  'terminal',
  'security',
  'actors',
  'machines',
  'journal',
  'models',
  'mcp',
  'output',
  'telemetry',
  'inspector',
  'agent',
  'restate',
  'store',
  'ui',
  'react',
  'testing',
  'cli',
] as const;

/** The size of the sources. A commit that raises a number names the feature that needs it. */
const MOST = { files: 639, lines: 100_900, tinyFiles: 8 };
const SHORT_FILE = 15;

/** More files than these in one folder cannot be taken in at a glance. */
const MOST_FILES = 25;

const EXPORT = /^export (?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type) (\w+)/gm;

const IMPORT = /(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+\.tsx?)['"]/g;

/** What one file of the source imports from other files of it, types too. */
type Imports = ReadonlyMap<string, readonly string[]>;

/** What breaks the rules of the house in a folder of sources, a sentence each. */
export function brokenRules(source: string): readonly string[] {
  const imports = importsOf(source);
  const sizes = Map.groupBy(imports.keys(), (file) => dirname(file));
  return [
    ...[...imports].flatMap(([file, targets]) => upwardImports(file, targets)),
    ...[...sizes].flatMap(([folder, inside]) =>
      inside.length > MOST_FILES ? [`${folder} holds ${inside.length} files; ${MOST_FILES} are allowed.`] : [],
    ),
    ...brokenInside(source, imports),
    ...grown(source, imports),
  ];
}

/** What breaks the rules inside of rooms: files, or folders of one room, that import each other, and names with two meanings. */
function brokenInside(source: string, imports: Imports): readonly string[] {
  const folders = new Map<string, string[]>();
  for (const [file, targets] of imports) {
    const here = dirname(file);
    const there = targets.map((target) => dirname(target)).filter((to) => to !== here && roomOf(to) === roomOf(here));
    folders.set(here, [...(folders.get(here) ?? []), ...there]);
  }
  return [
    ...rings(imports).map((ring) => `These files import each other: ${ring.join(', ')}.`),
    ...rings(folders).map((ring) => `These folders import each other: ${ring.join(', ')}.`),
    ...sharedNames(source, [...imports.keys()]),
  ];
}

/** What is larger than it was when the numbers were last raised. */
function grown(source: string, imports: Imports): readonly string[] {
  const lines = [...imports.keys()].map((file) => readFileSync(join(source, file), 'utf8').split('\n').length - 1);
  const found = { files: lines.length, lines: lines.reduce((sum, count) => sum + count, 0) };
  const tiny = lines.filter((count) => count < SHORT_FILE).length;
  return [
    ...(['files', 'lines'] as const).flatMap((what) =>
      found[what] > MOST[what]
        ? [
            `The sources have ${found[what]} ${what}, and ${MOST[what]} is the limit. Raise it only with the feature that needs it.`,
          ]
        : [],
    ),
    ...(tiny > MOST.tinyFiles ? [`${tiny} files have less than ${SHORT_FILE} lines; ${MOST.tinyFiles} may.`] : []),
  ];
}

function importsOf(source: string): Imports {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(source, file), 'utf8');
      return [file, [...text.matchAll(IMPORT)].map(([, path = '']) => normalize(join(dirname(file), path)))];
    }),
  );
}

function upwardImports(file: string, targets: readonly string[]): readonly string[] {
  const own = floorOf(file);
  if (own === null) return [];
  if (own === -1) return [`${file} is in a room without a floor. Name it in FLOORS.`];
  return targets.flatMap((target) =>
    (floorOf(target) ?? 0) > own ? [`${file} imports ${target}, which is above it.`] : [],
  );
}

/** Groups of nodes that reach each other, by Tarjan's algorithm for strongly connected components. */
function rings(graph: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): number => {
    const index = order.size;
    order.set(node, index);
    lowest.set(node, index);
    open.push(node);
    for (const next of graph.get(node) ?? []) {
      const reached = order.has(next) ? (open.includes(next) ? (order.get(next) ?? index) : index) : visit(next);
      lowest.set(node, Math.min(lowest.get(node) ?? index, reached));
    }
    if (lowest.get(node) === index) {
      const ring = open.splice(open.indexOf(node));
      if (ring.length > 1) found.push(ring.toSorted());
    }
    return lowest.get(node) ?? index;
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return found;
}

/** File names and exported names that stand for two things. An `index.ts` is the entry of its folder. */
function sharedNames(source: string, files: readonly string[]): readonly string[] {
  const exported = files.flatMap((file) =>
    [...new Set([...readFileSync(join(source, file), 'utf8').matchAll(EXPORT)].map(([, name = '']) => name))].map(
      (name) => ({ name, file }),
    ),
  );
  const named = files.filter((file) => basename(file) !== 'index.ts').map((file) => ({ name: basename(file), file }));
  return [...Map.groupBy([...exported, ...named], ({ name }) => name)].flatMap(([name, of]) =>
    of.length > 1 ? [`The name ${name} has ${of.length} meanings: ${of.map(({ file }) => file).join(', ')}.`] : [],
  );
}

function roomOf(folder: string): string {
  return folder.split('/')[0] ?? folder;
}

/** The floor of a file; null for the few beside the rooms: entries, and what needs nothing. */
function floorOf(file: string): number | null {
  const [room = '', inside] = file.split('/');
  return inside === undefined ? null : FLOORS.findIndex((floor) => floor === room);
}

/** Numbers that say how the house grows: `node scripts/floors.ts --measure`. */
function measures(source: string): Readonly<Record<string, number>> {
  const imports = importsOf(source);
  const files = [...imports.keys()];
  const lines = files
    .map((file) => readFileSync(join(source, file), 'utf8').split('\n').length - 1)
    .toSorted((a, b) => a - b);
  const readers = Map.groupBy([...imports.values()].flat(), (target) => target);
  return {
    files: files.length,
    lines: lines.reduce((sum, count) => sum + count, 0),
    'median lines of a file': lines[Math.floor(lines.length / 2)] ?? 0,
    [`files under ${SHORT_FILE} lines`]: lines.filter((count) => count < SHORT_FILE).length,
    'files over 300 lines': lines.filter((count) => count > 300).length,
    'files with one reader': files.filter((file) => readers.get(file)?.length === 1).length,
    'most files in a folder': Math.max(
      ...[...Map.groupBy(files, (file) => dirname(file)).values()].map((of) => of.length),
    ),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === '--measure') console.table(measures('src'));
  const broken = brokenRules('src');
  for (const rule of broken) console.error(rule);
  process.exitCode = broken.length === 0 ? 0 : 1;
}

import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
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
  'inspector',
  'agent',
  'testing',
  'cli',
] as const;

/** More files than these in one folder cannot be taken in at a glance. */
const MOST_FILES = 25;

const IMPORT = /(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+\.tsx?)['"]/g;

/** What breaks the rules of the house in a folder of sources: imports that run up, and folders that hold too much. */
export function brokenRules(source: string): readonly string[] {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
  const sizes = Map.groupBy(files, (file) => dirname(file));
  return [
    ...files.flatMap((file) => upwardImports(source, file)),
    ...[...sizes].flatMap(([folder, inside]) =>
      inside.length > MOST_FILES ? [`${folder} holds ${inside.length} files; ${MOST_FILES} are allowed.`] : [],
    ),
  ];
}

function upwardImports(source: string, file: string): readonly string[] {
  const own = floorOf(file);
  if (own === null) return [];
  if (own === -1) return [`${file} is in a room without a floor. Name it in FLOORS.`];
  const imports = [...readFileSync(join(source, file), 'utf8').matchAll(IMPORT)];
  return imports.flatMap(([, path = '']) => {
    const target = normalize(join(dirname(file), path));
    return (floorOf(target) ?? 0) > own ? [`${file} imports ${target}, which is above it.`] : [];
  });
}

/** The floor of a file; null for the few beside the rooms: entries, and what needs nothing. */
function floorOf(file: string): number | null {
  const [room = '', inside] = file.split('/');
  return inside === undefined ? null : FLOORS.findIndex((floor) => floor === room);
}

/** Numbers that say how the house grows: `node scripts/floors.ts --measure`. */
function measures(source: string): Readonly<Record<string, number>> {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
  const lines = files
    .map((file) => readFileSync(join(source, file), 'utf8').split('\n').length - 1)
    .toSorted((a, b) => a - b);
  const imported = files.flatMap((file) =>
    [...readFileSync(join(source, file), 'utf8').matchAll(IMPORT)].map(([, path = '']) =>
      normalize(join(dirname(file), path)),
    ),
  );
  const readers = Map.groupBy(imported, (target) => target);
  return {
    files: files.length,
    lines: lines.reduce((sum, count) => sum + count, 0),
    'median lines of a file': lines[Math.floor(lines.length / 2)] ?? 0,
    'files under 15 lines': lines.filter((count) => count < 15).length,
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

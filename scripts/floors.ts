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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const broken = brokenRules('src');
  for (const rule of broken) console.error(rule);
  process.exitCode = broken.length === 0 ? 0 : 1;
}

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the report is kept. `npm run api` writes it anew; a test compares. */
export const REPORT = 'test/package/api-report.txt';

const EXPORTED =
  /export (type )?\{([^}]*)\}|export \* from '([^']+)'|export (?:default )?(?:declare )?(?:abstract )?(?:async )?(function|const|class|interface|type) (\w+)/g;

/** Everything that the package exports, by entry: a name a line, types marked as such. */
export function apiReport(): string {
  const { exports }: { readonly exports: Readonly<Record<string, unknown>> } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  );
  const entries = Object.entries(exports).flatMap(([path, target]) => {
    const source: unknown =
      typeof target === 'object' && target !== null ? Reflect.get(target, '@signalbox/source') : null;
    return typeof source === 'string' ? [{ name: join('signalbox', path), names: namesOf(source) }] : [];
  });
  return entries.map(({ name, names }) => `${name}\n${names.map((one) => `  ${one}\n`).join('')}`).join('\n');
}

function namesOf(file: string): readonly string[] {
  const found = [...readFileSync(file, 'utf8').matchAll(EXPORTED)].flatMap(
    ([whole, type, list, all, kind, name = '']): readonly string[] => {
      if (all !== undefined) return namesOf(normalize(join(dirname(file), all)));
      if (list === undefined) {
        if (whole.startsWith('export default')) return ['default'];
        return [kind === 'interface' || kind === 'type' ? `type ${name}` : name];
      }
      return list
        .split(',')
        .map((one) => one.trim().replace(/^(type )?\w+ as /, '$1'))
        .filter((one) => one !== '')
        .map((one) => (type !== undefined && !one.startsWith('type ') ? `type ${one}` : one));
    },
  );
  return [...new Set(found)].toSorted((a, b) =>
    isType(a) === isType(b) ? a.localeCompare(b, 'en') : isType(a) ? 1 : -1,
  );
}

function isType(name: string): boolean {
  return name.startsWith('type ');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(REPORT, apiReport());

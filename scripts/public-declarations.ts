import { readFileSync, readdirSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/**
 * Keeps of the declarations in a folder those that a user's compiler reads: the entries' of package.json, and what they
 * import, directly or not. Indents with tabs, which is a tenth of their size.
 */
export function keepPublicDeclarations(folder: string): void {
  const kept = new Set<string>();
  const visit = (file: string): void => {
    if (kept.has(file)) return;
    kept.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, name = ''] of text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g))
      visit(resolve(dirname(file), name.replace(/\.[jt]s$/, '.d.ts')));
    writeFileSync(
      file,
      text.replaceAll(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4)),
    );
  };
  const { exports }: { readonly exports: Readonly<Record<string, unknown>> } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  );
  for (const target of Object.values(exports)) {
    const types: unknown = Reflect.get(Object(target), 'types');
    if (typeof types === 'string') visit(resolve(types));
  }
  removeOthers(resolve(folder), kept);
}

/** Folders that are empty then go, too. */
function removeOthers(folder: string, kept: ReadonlySet<string>): void {
  const entries = readdirSync(folder, { withFileTypes: true });
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeOthers(path, kept);
    else if (!kept.has(path)) rmSync(path);
  }
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}

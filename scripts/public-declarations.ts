import { mkdirSync, readFileSync, readdirSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { build } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

/**
 * Keeps of the declarations in a folder those that a user's compiler reads: what the entries of package.json export, and
 * what that is made of. Indents with tabs, which is a tenth of their size.
 */
export async function keepPublicDeclarations(folder: string): Promise<void> {
  const { output } = await build({
    input: Object.fromEntries(entryFiles().map((file) => [file.replace(/^\.\/dist\/|\.d\.ts$/g, ''), resolve(file)])),
    plugins: [dts({ dtsInput: true })],
    external: (id) => /^[^./\0]/.test(id) && !/^[A-Za-z]:/.test(id),
    logLevel: 'warn',
    write: false,
    output: { format: 'esm', preserveModules: true, entryFileNames: ({ name }) => `${name.replace(/\.d$/, '')}.d.ts` },
  });
  const platform = readFileSync(join(folder, PLATFORM), 'utf8');
  removeDeclarations(folder);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, PLATFORM), withTabs(platform));
  for (const file of output) {
    if (file.type !== 'chunk') continue;
    const path = join(folder, file.fileName);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, (file.isEntry ? referenceTo(join(folder, PLATFORM), path) : '') + withTabs(file.code));
  }
}

/** The names that our declarations take from the platform, for compilers that do not have them: nothing imports them. */
const PLATFORM = 'platform.d.ts';

function referenceTo(file: string, from: string): string {
  return `/// <reference path="${relative(dirname(from), file).replaceAll('\\', '/')}" />\n`;
}

/** The declarations that package.json names. */
function entryFiles(): readonly string[] {
  const { exports }: { readonly exports: Readonly<Record<string, unknown>> } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  );
  return Object.values(exports).flatMap((target) => {
    const types: unknown = Reflect.get(Object(target), 'types');
    return typeof types === 'string' ? [types] : [];
  });
}

/** Without the bundler's comment that names the file, and without comments that stand before that of a declaration. */
function withTabs(text: string): string {
  return text
    .replace(/^\/\/ dist\/.*\n/m, '')
    .replaceAll(/\/\*\*(?:(?!\*\/)[^])*\*\/\s*(?=\/\*\*)/g, '')
    .replaceAll(/^(?: {2})+/gm, (spaces) => '\t'.repeat(spaces.length / 2));
}

/** Folders that are empty then go, too. */
function removeDeclarations(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeDeclarations(path);
    else if (path.endsWith('.d.ts')) rmSync(path);
  }
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { type Block, root } from './documents.ts';

const Package = z.object({ exports: z.record(z.string(), z.unknown()) });
const Target = z.object({ '@signalbox/source': z.string() });

/**
 * Type-checks code blocks as a reader's files: each is a module of its own, the package is imported by name, and what
 * `snippet-globals.d.ts` declares is there already. Gives the compiler's complaints, by document and line.
 */
export async function checkSnippets(snippets: readonly Block[]): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-snippets-'));
  try {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(await settings()));
    await Promise.all(snippets.map(({ code }, index) => writeFile(join(folder, `snippet-${index}.ts`), code)));
    return complaints(await compile(folder), snippets);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function settings() {
  const { exports } = Package.parse(JSON.parse(await readFile(`${root}package.json`, 'utf8')));
  const paths = Object.entries(exports).flatMap(([name, target]) => {
    const source = Target.safeParse(target);
    return source.success ? [[name.replace('.', 'signalbox'), [join(root, source.data['@signalbox/source'])]]] : [];
  });
  return {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { paths: Object.fromEntries(paths), moduleDetection: 'force', noUnusedLocals: false },
    include: ['snippet-*.ts'],
    files: [join(root, 'test/docs/snippet-globals.d.ts')],
  };
}

async function compile(folder: string): Promise<string> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  // Several checkers each work out the types of the library: twice the CPU.
  const options = ['--noEmit', '--pretty', 'false', '--checkers', '1', '-p', folder];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [compiler, ...options], { cwd: folder });
    return stdout;
  } catch (error) {
    const stdout: unknown = error instanceof Error ? Reflect.get(error, 'stdout') : undefined;
    if (typeof stdout === 'string' && stdout !== '') return stdout;
    throw error;
  }
}

function complaints(output: string, snippets: readonly Block[]): readonly string[] {
  return output
    .split('\n')
    .filter((line) => line.includes('error TS'))
    .map((line) => {
      const [, index, at, message] = /snippet-(\d+)\.ts\((\d+),\d+\): (.*)/.exec(line) ?? [];
      const snippet = snippets[Number(index)];
      return snippet === undefined ? line : `${snippet.document}:${snippet.line + Number(at) - 1} ${message ?? ''}`;
    });
}

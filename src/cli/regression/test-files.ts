import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';
import { makeFolder } from '../../security/folders.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { escaped } from '../../output/console/escaped.ts';
import { UsageError } from '../command/command.ts';

/** The program that runs the tests of a project. */
export type Runner = 'vitest' | 'node';

/** A test that is to be written. */
export interface TestText {
  readonly title: string;
  /** What is imported from `signalbox/testing`. */
  readonly uses: readonly string[];
  /** The recording that it reads; null where it needs none. */
  readonly recording: { readonly name: string; readonly text: string } | null;
  /** The statements of the test, which are indented here. */
  readonly body: readonly string[];
}

/** Where a test is written, and what it tests. */
export interface TestPlace {
  /** The folder of the test. */
  readonly folder: string;
  /** The name of the file without `.test.ts` or `.test.mts`. */
  readonly name: string;
  /** The module with the agent. */
  readonly module: string;
  readonly exported: string;
  readonly runner: Runner;
}

/** The requested runner, else vitest if the project in this folder has it, else Node's. */
export function readRunner(asked: string | undefined): Runner {
  if (asked === 'vitest' || asked === 'node') return asked;
  if (asked !== undefined) throw new UsageError(`--runner takes vitest or node, not '${asked}'.`);
  const project = readProject();
  const has = (member: string): boolean => isJsonObject(project[member]) && 'vitest' in project[member];
  return has('dependencies') || has('devDependencies') ? 'vitest' : 'node';
}

/** The package of the project in this folder; empty without one. */
function readProject(): JsonObject {
  if (!existsSync('package.json')) return {};
  const project: Json = JSON.parse(readFileSync('package.json', 'utf8'));
  return isJsonObject(project) ? project : {};
}

/** Writes the test and its recording; returns their paths. Neither replaces an existing file. */
export async function writeTest(test: TestText, place: TestPlace): Promise<readonly string[]> {
  // Vitest loads any file as a module.
  const isModule = place.runner === 'vitest' || readProject()['type'] !== 'commonjs';
  const file = join(place.folder, `${place.name}.test.${isModule ? 'ts' : 'mts'}`);
  const { recording } = test;
  const kept = recording === null ? null : join(place.folder, recording.name);
  for (const path of [file, kept])
    if (path !== null && existsSync(path))
      throw new UsageError(`'${path}' is there, and is not replaced. Remove it, or choose another folder with --out.`);
  makeFolder(place.folder);
  if (kept !== null && recording !== null) await writeFile(kept, recording.text);
  await writeFile(file, testText(test, place));
  return kept === null ? [file] : [file, kept];
}

function testText({ title, uses, recording, body }: TestText, place: TestPlace): string {
  const { module, exported, folder, runner } = place;
  const path = relative(resolve(folder), resolve(module)).split(sep).join('/');
  // Node reads a URL there, Vitest a path.
  const address = runner === 'node' ? path.replaceAll(/[%#?]/g, encodeURIComponent) : path;
  const from = quoted(address.startsWith('.') ? address : `./${address}`);
  const name = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(exported) ? exported : quoted(exported);
  const imported = exported === 'default' ? 'agent' : exported === 'agent' ? '{ agent }' : `{ ${name} as agent }`;
  const simulated = uses.includes('simulation') ? ', { simulation }' : '';
  return [
    ...(runner === 'node' ? ["import assert from 'node:assert/strict';"] : []),
    ...(recording === null ? [] : ["import { readFileSync } from 'node:fs';"]),
    ...(runner === 'node' ? ["import { test } from 'node:test';"] : []),
    `import { ${uses.filter((one) => one !== 'simulation').join(', ')} } from 'signalbox/testing';`,
    ...(runner === 'vitest' ? ["import { expect, test } from 'vitest';"] : []),
    simulated === '' || exported === 'default'
      ? `import ${imported}${simulated} from ${from};`
      : `import { simulation, ${name} as agent } from ${from};`,
    '',
    ...(recording === null
      ? []
      : [`const recording = readFileSync(new URL('./${basename(recording.name)}', import.meta.url), 'utf8');`, '']),
    `test(${quoted(title)}, async () => {`,
    ...body.map((line) => `  ${line}`),
    '});',
    '',
  ].join('\n');
}

/** A text as a comment, which ends where the text does: what ends a line in it is shown as a blank. */
export function comment(text: string): string {
  return `// ${escaped(text).replaceAll('\n', ' ')}`;
}

/** A text as a string literal. */
export function quoted(text: string): string {
  return `'${JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"')
    .replaceAll("'", String.raw`\'`)}'`;
}

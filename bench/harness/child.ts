import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** Runs a script of `bench/children` to its end and gives back the JSON that it printed. Rejects when it fails. */
export async function runChild(script: string, args: readonly string[] = []): Promise<unknown> {
  const child = spawn(process.execPath, ['--expose-gc', pathOf(script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (code !== 0) throw new Error(`${script} ${args.join(' ')} ended with code ${String(code)}`);
  const result: unknown = JSON.parse(printed);
  return result;
}

/** One number that a child printed. Throws when it is missing. */
export function numberOf(printed: unknown, name: string): number {
  const value: unknown = typeof printed === 'object' && printed !== null ? Reflect.get(printed, name) : undefined;
  if (typeof value !== 'number') throw new Error(`The figure '${name}' is missing in ${JSON.stringify(printed)}.`);
  return value;
}

/** Starts the model server, and ends it when the work is done. */
export async function withModelServer<T>(work: (baseURL: string) => Promise<T>): Promise<T> {
  const child = spawn(process.execPath, [pathOf('model-server')], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const [line]: readonly unknown[] = await once(child.stdout, 'data');
    const { baseURL }: { readonly baseURL: string } = JSON.parse(String(line));
    return await work(baseURL);
  } finally {
    child.stdin.end();
    await once(child, 'close');
  }
}

function pathOf(script: string): string {
  return fileURLToPath(new URL(`../children/${script}.ts`, import.meta.url));
}

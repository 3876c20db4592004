import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Message } from '../../../src/actors/model.ts';
import { BUNDLED } from '../../support/bundled.ts';

/** What a process is to drive. */
export interface Driving {
  readonly kind: string;
  readonly place: string;
  readonly runId: string;
  /** `pay`: a call that waits for an approval. `listen`: waits until somebody says `stop`. */
  readonly task: 'pay' | 'listen';
}

/** What a person said last, and whether nothing was answered yet. */
export function lastOf(messages: readonly Message[]) {
  const said = messages.filter(({ role }) => role === 'user').at(-1)?.content;
  return { last: typeof said === 'string' ? said : '', isFirst: !messages.some(({ role }) => role === 'tool') };
}

/** A process that drives a run. */
export function driving(what: Driving) {
  const script = fileURLToPath(new URL('children/driver.ts', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [...BUNDLED, script, JSON.stringify(what)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  const { stdout } = child;
  if (stdout === null) throw new Error('no output');
  createInterface({ input: stdout }).on('line', (line) => {
    lines.push(JSON.parse(line));
    for (const look of waiting) look();
  });
  return {
    lines,
    /** Resolves when it has printed this. */
    said: (has: (line: Record<string, unknown>) => boolean) =>
      new Promise<Record<string, unknown>>((resolve) => {
        const look = (): void => {
          const found = lines.find(has);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    stop: () => child.kill('SIGSTOP'),
  };
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A program in another process that is inspected with Stately's package. */
export interface StatelyApp {
  /** Sends an event to its actor, or gives its client an order, and resolves when that was done. */
  tell(line: string): Promise<void>;
  /** Ends it at once. */
  kill(): Promise<void>;
}

/** Starts one that sends to `url`; it ends with the test. */
export function statelyApp(url: string): StatelyApp {
  const script = join(import.meta.dirname, 'children/stately-app.ts');
  const child = spawn(process.execPath, [script, url], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  return {
    tell: async (line) => {
      const done = once(child.stdout, 'data');
      child.stdin.write(`${line}\n`);
      await done;
    },
    kill,
  };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { BUNDLED } from '../../support/bundled.ts';

/** What a process that talks in conversations is to do. */
export interface Talking {
  readonly kind: 'file' | 'sqlite';
  readonly place: string;
  /** Where it notes which messages were accepted. */
  readonly log: string;
  /** Which process it is, of those that follow each other. */
  readonly life: number;
  readonly conversations: readonly string[];
  /** Brings everything to its end, and says no more. */
  readonly isLast: boolean;
}

/**
 * Starts a process that talks, killed so many milliseconds after it began to, or the first after a message was accepted;
 * resolves when it is over.
 */
export async function talked(talking: Talking, killAfterMs: number | null): Promise<void> {
  const sign = talking.life === 0 ? 'accepted' : 'talking';
  const script = fileURLToPath(new URL('children/talker.ts', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [...BUNDLED, script, JSON.stringify(talking)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let said = '';
  child.stdout?.on('data', (piece: Buffer) => {
    said += piece.toString();
    if (killAfterMs !== null && said.includes(sign)) timer ??= setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  });
  const [code, signal]: unknown[] = await once(child, 'exit');
  clearTimeout(timer);
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`A process that talks ended with code ${String(code)}.`);
}

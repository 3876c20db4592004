import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import type { Job } from './job.ts';

const SCRIPT = fileURLToPath(new URL('children/runs.ts', import.meta.url));

/** A folder for runs and a file for what tools note, gone after the test. */
export function workplace(): Pick<Job, 'dir' | 'log'> {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-chaos-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return { dir, log: join(dir, 'log') };
}

/** Starts a process for a job. */
export function startChild(job: Job): ChildProcess {
  const child = spawn(process.execPath, [...BUNDLED, SCRIPT, JSON.stringify(job)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Does a job in a process of its own; how that ended: `done`, or `killed`. */
export async function doJob(job: Job): Promise<'done' | 'killed'> {
  return endOf(startChild(job));
}

/** How a process ends. Anything but success and a kill is an error of the test. */
export async function endOf(child: ChildProcess): Promise<'done' | 'killed'> {
  const [code, signal]: [number | null, string | null] = await (once(child, 'exit') as Promise<never>);
  if (code === 0) return 'done';
  if (signal === 'SIGKILL') return 'killed';
  throw new Error(`A child ended with code ${code} and signal ${signal}.`);
}

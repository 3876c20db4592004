import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isJsonObject } from '../parsing/json.ts';
import { isAlive } from '../tools/lock-file.ts';

/** Who writes a run. Only one process may, so that it must be clear when that process is gone. */
export interface Writer {
  readonly pid: number;
  /** When the process was started, as its system counts; null where that cannot be known. Tells reused pids apart. */
  readonly start: string | null;
  /** Within one place pids mean the same: a host, since its last boot, and its pid namespace. */
  readonly place: string;
  /** Tells two writers of one process apart. */
  readonly token: string;
}

/** A writer elsewhere, whose process cannot be looked at, counts as gone after this time without a sign of life. */
export const SILENT_MS = 60_000;

/** How often a writer gives a sign of life. */
export const BEAT_MS = 10_000;

/** A new writer in this process. */
export function newWriter(): Writer {
  const { pid } = process;
  return { pid, start: startOf(pid), place: ownPlace(), token: randomBytes(8).toString('hex') };
}

/** Reads what a writer left of itself; null when it is unreadable, as after a crash of the machine. */
export function readWriter(text: string): Writer | null {
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) return null;
    const { pid, start, place, token } = value;
    if (typeof pid !== 'number' || typeof place !== 'string' || typeof token !== 'string') return null;
    return { pid, start: typeof start === 'string' ? start : null, place, token };
  } catch {
    return null;
  }
}

/** Whether a writer is gone that gave its last sign of life so many milliseconds ago. */
export function isGone(writer: Writer | null, silentMs: number): boolean {
  if (writer === null || writer.place !== ownPlace()) return silentMs > SILENT_MS;
  if (!isAlive(writer.pid)) return true;
  const start = startOf(writer.pid);
  return start === 'ended' || (start !== null && writer.start !== null && start !== writer.start);
}

/** `ended` for a process that is dead and was not buried yet: it still has its pid. */
function startOf(pid: number): string | null {
  const stat = textOf(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (stat === '') return null;
  // The name of the program, in parentheses, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return 'ended';
  return fields[19] ?? null;
}

let place: string | undefined;

function ownPlace(): string {
  place ??= [
    hostname(),
    textOf(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')).trim(),
    textOf(() => readlinkSync('/proc/self/ns/pid')),
  ].join(' ');
  return place;
}

/** Systems other than Linux have no such file. */
function textOf(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

import { textOrNull } from '../format/tally.ts';
import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import { isJsonObject, parsedText } from '../../json/json.ts';
import { isAlive } from '../../security/lock-file.ts';

/** The writer of a run. Only one process may write it, so it must be clear when that process is gone. */
export interface Writer {
  readonly pid: number;
  /** When the process was started, as its system counts; null where that cannot be known. Distinguishes reused pids. */
  readonly start: string | null;
  /** The number of its thread, where a process is not its only thread and the system tells. */
  readonly thread: string | null;
  /** One start of its program; null where that is not known. Bun's `--watch` starts it anew in the same process and thread. */
  readonly life: string | null;
  /** Within one place pids mean the same: a host, since its last boot, and its pid namespace. */
  readonly place: string;
  /** Distinguishes two writers of one process. */
  readonly token: string;
}

/** A writer elsewhere, whose process cannot be looked at, counts as gone after this time without a sign of life. */
export const SILENT_MS = 60_000;

/** How often a writer gives a sign of life. */
export const BEAT_MS = 10_000;

/** Never changes, and is read from the system. */
let ownStart: string | null = null;

/** A new writer in this process. */
export function newWriter(): Writer {
  const { pid } = process;
  const thread = ownThread();
  ownStart ??= startOf(pid, thread);
  return { pid, start: ownStart, thread, life: ownLife(), place: ownPlace(), token: randomToken() };
}

/** Reads what a writer left of itself; null when it is unreadable, as after a crash of the machine. */
export function readWriter(text: string): Writer | null {
  const value = parsedText(text);
  if (!isJsonObject(value)) return null;
  const { pid, start, thread, life, place, token } = value;
  if (typeof pid !== 'number' || typeof place !== 'string' || typeof token !== 'string') return null;
  return { pid, start: textOrNull(start), thread: textOrNull(thread), life: textOrNull(life), place, token };
}

/** Whether a writer is gone that gave its last sign of life so many milliseconds ago. */
export function isGone(writer: Writer | null, silentMs: number): boolean {
  if (writer === null || writer.place !== ownPlace()) return silentMs > SILENT_MS;
  if (!isAlive(writer.pid)) return true;
  // A thread that was terminated leaves its process alive.
  if (writer.thread === UNKNOWN) return silentMs > SILENT_MS;
  const isHere = writer.pid === process.pid && writer.thread === ownThread();
  if (isHere && writer.life !== null && writer.life !== ownLife()) return true;
  const start = startOf(writer.pid, writer.thread) ?? (writer.thread === null ? null : 'ended');
  return start === 'ended' || (start !== null && writer.start !== null && start !== writer.start);
}

/** `ended` for a process that is dead and was not buried yet: it still has its pid. */
function startOf(pid: number, thread: string | null): string | null {
  const task = thread === null ? '' : `/task/${thread}`;
  const stat = textOf(() => readFileSync(`/proc/${pid}${task}/stat`, 'utf8'));
  if (stat === '') return null;
  // The name of the program, in parentheses, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return 'ended';
  return fields[19] ?? null;
}

const UNKNOWN = 'unknown';

/** Null for the main thread, which is gone when its process is. */
function ownThread(): string | null {
  if (isMainThread) return null;
  const [, , task = UNKNOWN] = textOf(() => readlinkSync('/proc/thread-self')).split('/');
  return task;
}

const randomToken = (): string => randomBytes(8).toString('hex');

/** A development server loads this file several times in one life. */
const LIFE = Symbol.for('signalbox.life');

function ownLife(): string {
  const known: unknown = Reflect.get(globalThis, LIFE);
  if (typeof known === 'string') return known;
  const life = randomToken();
  Reflect.set(globalThis, LIFE, life);
  return life;
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

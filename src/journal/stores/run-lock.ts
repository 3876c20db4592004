/**
 * Owns: that one process at a time writes a run's file.
 *
 * I1 Of two that want a lock, free or left behind, at most one gets it.
 * I2 A lock left behind by a dead process is given to the next that asks, even when its pid is in use again.
 * I3 Where the process cannot be looked at (another host or container), a lock is left behind after a minute of silence.
 */
import { existsSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createWhole, removeIfPossible } from '../../security/lock-file.ts';
import { ifThere, moveOver, textIn } from '../../security/folders.ts';
import { BEAT_MS, type Writer, isGone, newWriter, readWriter } from './writer.ts';

/** A lock that is held until it is released. */
export interface RunLock {
  /**
   * False once the lock was lost: the file was deleted, or this process seemed dead. Checked if the last check is ten
   * seconds old, and with `now` at once.
   */
  isHeld(now?: boolean): boolean;
  /** Where the file cannot be removed, that is tried again until it can, or the process ends. */
  release(): void;
}

/** Takes the lock file at `path`; null while another process has it. Does not wait. */
export function takeRunLock(path: string): RunLock | null {
  const mine = newWriter();
  return take(path, mine) ? heldLock(path, mine) : null;
}

/** Whether a living process has this lock. */
export function isLocked(path: string): boolean {
  const found = look(path);
  return found !== null && !found.gone;
}

/** Whether there is a file of this name that is not a lock of ours, such as `yarn.lock`. */
export function isForeign(path: string): boolean {
  try {
    return writerIn(path) === null && existsSync(path);
  } catch {
    return true;
  }
}

function take(path: string, mine: Writer): boolean {
  const create = (): boolean => createWhole(path, JSON.stringify(mine), `${path}.${mine.token}.new`);
  if (create()) return true;
  const found = look(path);
  if (found === null) return create();
  return found.gone && takeOver(path, mine, found.token);
}

/** Replacing a dead writer needs a lock of its own, so that no process takes what another has just taken. */
function takeOver(path: string, mine: Writer, dead: string): boolean {
  const wish = `${path}.${dead}`;
  if (!take(wish, mine)) return false;
  const next = `${path}.${mine.token}.new`;
  try {
    if (look(path)?.token !== dead) return false;
    writeFileSync(next, JSON.stringify(mine), { mode: 0o600 });
    moveOver(next, path);
    return true;
  } finally {
    for (const left of [next, wish]) removeIfPossible(left);
  }
}

/** The writer that a lock file names; null without a lock, or for one that is unreadable. */
const writerIn = (path: string): Writer | null => ifThere(() => readWriter(textIn(path)));

function look(path: string): { readonly token: string; readonly gone: boolean } | null {
  return ifThere(() => {
    const writer = readWriter(textIn(path));
    const silentMs = Date.now() - statSync(path).mtimeMs;
    return { token: writer?.token ?? 'unreadable', gone: isGone(writer, silentMs) };
  });
}

function heldLock(path: string, mine: Writer): RunLock {
  let held = true;
  let lookedAt = Date.now();
  const check = (): void => {
    held &&= writerIn(path)?.token === mine.token;
    lookedAt = Date.now();
  };
  const beat = (): void => {
    check();
    if (held) utimesSync(path, new Date(), new Date());
  };
  let isReleased = false;
  const letGo = (): void => {
    check();
    if (held) ifThere(() => unlinkSync(path)); // `rmSync` asks for much more.
    held = false;
    clearInterval(beats);
  };
  const attempt = (): void => {
    try {
      if (isReleased) letGo();
      else beat();
    } catch {
      // What could not be done is done the next time: a sign of life, a removal; a lock that is gone is noticed then, too.
    }
  };
  const beats = setInterval(attempt, BEAT_MS);
  beats.unref();
  return {
    isHeld: (now = false) => {
      // A process that was stopped, or did something long, has given no sign of life meanwhile: its timers are not a clock.
      if (held && (now || Math.abs(Date.now() - lookedAt) >= BEAT_MS)) check();
      return held;
    },
    release: () => {
      isReleased = true;
      attempt();
    },
  };
}

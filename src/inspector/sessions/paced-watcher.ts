/**
 * Owns: what a watched run has done since its frames were last made.
 *
 * I1 The run pays for noting what it did, no more. Frames are made of it in one go, twenty times a second: a batch costs
 *    less than its frames one by one, and nobody sees faster.
 * I2 An actor is shown as it was when it was made, however far it has got until its frames are.
 */
import type { RunEvent } from '../../machines/events/run-events.ts';
import type { Move } from '../../machines/events/transition-log.ts';
import type { FrameMaker } from '../frames/frame-maker.ts';
import type { RunWatcher } from './line-source.ts';
import type { Newborns } from '../frames/newborns.ts';

/** A watcher that makes frames at its own pace. */
export interface PacedWatcher extends RunWatcher {
  /** Forgets what no frames were made of yet. */
  stop(): void;
}

interface PacedOptions {
  readonly maker: FrameMaker;
  /** Where the maker finds how actors were when they were made. */
  readonly born: Newborns;
  /** Makes the frames of the next line; false when there is none. */
  readonly readLine: () => boolean;
  /** Frames have been made of everything so far. */
  readonly done: () => void;
}

type Noted =
  | { readonly kind: 'line' }
  | { readonly kind: 'move'; readonly move: Move }
  | { readonly kind: 'event'; readonly event: RunEvent };

/** How long notes are collected, in milliseconds. */
const PACE_MS = 50;
const LINE: Noted = { kind: 'line' };

/** Notes what a run does from now on, and makes frames of it. */
export function pacedWatcher({ maker, born, readLine, done }: PacedOptions): PacedWatcher {
  let notes: Noted[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;

  const flush = (): void => {
    timer = null;
    const noted = notes;
    notes = [];
    for (const note of noted) quietly(note);
    done();
  };
  const quietly = (noted: Noted): void => {
    try {
      if (noted.kind === 'line') readLine();
      else if (noted.kind === 'move') maker.move(noted.move);
      else maker.event(noted.event);
    } catch {
      // Whoever watches must not break what it watches, nor the process that both are in.
    }
  };
  const note = (noted: Noted): void => {
    notes.push(noted);
    timer ??= setTimeout(flush, PACE_MS);
  };

  return {
    onLine: () => note(LINE),
    onMove: (move) => {
      born.note(move.snapshot.children);
      note({ kind: 'move', move });
    },
    onEvent: (event) => note({ kind: 'event', event }),
    stop: () => {
      if (timer !== null) clearTimeout(timer);
      notes = [];
    },
  };
}

import type { LeafWork } from '../../actors/leaf.ts';
import type { RunRecord } from '../format/record.ts';

/** What a run would begin with. */
export interface ExploredStart {
  /** The first line of its recording, with marks for secrets. */
  readonly head: RunRecord;
  readonly work: LeafWork;
}

/** What can be explored as configured: an agent. */
export interface Explorable {
  /** Tells how a run of this task would begin. Connects the servers; begins nothing. */
  readonly [EXPLORE]: (task: string) => Promise<ExploredStart>;
}

/** The key under which an agent tells how its runs begin. */
export const EXPLORE: unique symbol = Symbol.for('signalbox.explore');

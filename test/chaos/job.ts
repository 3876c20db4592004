/** What a child is to do. */
export interface Job {
  /** Where its runs are kept. */
  readonly dir: string;
  /** Where tools note what they do. */
  readonly log: string;
  /** The runs to begin, or to take up where they are there. */
  readonly runs: readonly string[];
  /** Kills itself when so many lines of a run are written. */
  readonly kill: { readonly run: string; readonly line: number; readonly torn: boolean } | null;
}

/** What a tool notes: when it begins (`finished: false`), and when it is done. */
export interface Deed {
  readonly run: string;
  readonly tool: string;
  readonly finished: boolean;
  readonly callId: string;
  readonly key: string;
  /** Whether the outcome of this very call stood in the run's file when it began. */
  readonly alreadyKnown: boolean;
}

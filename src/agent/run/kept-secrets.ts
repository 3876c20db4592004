import type { OwnRedactor } from '../../actors/redactor.ts';
import type { RunJournal, RunSecrets } from '../../journal/run/run-journal.ts';

/** How the secrets behind a run's marks are kept. */
export interface Keeping {
  readonly begin: () => void;
  readonly end: () => void;
}

/**
 * Stores the secrets behind a run's marks, from `begin` to `end`, if its journal keeps secrets, so that another process can resume
 * the run. A failure is a warning; the mark is then lost with this process. Until the run has begun, its id may be another
 * run's, whose marks stand for other secrets.
 */
export function keptSecrets(secrets: RunSecrets | undefined, runId: string, redactor: OwnRedactor): Keeping {
  const keep = (marks: Readonly<Record<string, string>>): void => {
    try {
      secrets?.keep(runId, marks);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      process.emitWarning(`A secret of run ${runId} could not be kept; the run cannot be resumed with it. ${why}`);
    }
  };
  let end: (() => void) | undefined;
  return {
    begin: () => {
      if (end !== undefined) return;
      const marks = redactor.marks();
      if (Object.keys(marks).length > 0) keep(marks);
      end = redactor.onMark((mark, secret) => keep({ [mark]: secret }));
    },
    end: () => end?.(),
  };
}

/** Calls `begun` before the first work of a run: its beginning is written by then. */
export const beginning = (journal: RunJournal, begun: () => void): RunJournal => ({
  ...journal,
  open: (effect, perform, fired) => journal.open(effect, (io) => (begun(), perform(io)), fired),
});

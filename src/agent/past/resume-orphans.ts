import { JournalError } from '../../journal/format/journal-error.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { ResumeError } from '../options/agent-errors.ts';
import type { OrphanOptions, RefusedRun, ResumedOrphans } from '../options/run-options.ts';
import type { AnyRun } from '../run/run.ts';

/** What is needed to resume runs whose process is gone. */
interface OrphanPort {
  readonly agent: string;
  readonly journal: JournalStore;
  readonly carryOn: (
    runId: string,
    how: { readonly context: unknown; readonly after: undefined; readonly onStable: () => void },
  ) => AnyRun;
}

/** Resumes an agent's runs that have not ended and that no process writes, oldest first, except those that wait for a person. */
export async function resumeOrphans(
  { agent, journal, carryOn }: OrphanPort,
  { olderThan = 0, limit = Number.POSITIVE_INFINITY, context }: OrphanOptions,
): Promise<ResumedOrphans<AnyRun>> {
  if (journal.list === undefined || journal.take === undefined) throw new ResumeError('journal-cannot-resume', agent);
  const latest = Date.now() - olderThan;
  const orphans = (await journal.list({ agent, state: 'interrupted' })).filter(({ at }) => Date.parse(at) <= latest);
  const runs: AnyRun[] = [];
  const refused: RefusedRun[] = [];
  for (const { runId } of orphans.toReversed()) {
    if (runs.length >= limit) break;
    const live = Promise.withResolvers<null>();
    const run = carryOn(runId, { context, after: undefined, onStable: () => live.resolve(null) });
    // oxlint-disable-next-line no-await-in-loop -- others may take a run meanwhile: no more are held than are asked for
    const error: unknown = await Promise.race([
      live.promise,
      run.then(
        // It was played to its end: another process was faster.
        () => new JournalError('run-locked', runId, 'the journal'),
        (reason: unknown) => reason,
      ),
    ]);
    if (error === null) runs.push(run);
    else if (!isGoneElsewhere(error)) refused.push({ runId, error });
  }
  return { runs, refused };
}

/** Another process was faster: it has the run, or has removed it. */
function isGoneElsewhere(error: unknown): boolean {
  if (error instanceof JournalError) return error.code === 'run-locked';
  return error instanceof ResumeError && error.code === 'run-unknown';
}

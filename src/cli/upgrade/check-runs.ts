import { JournalError, RecordingError } from '../../journal/format/journal-error.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { RunSummary } from '../../journal/format/tally.ts';
import { type CheckedUpgrade, checkedUpgrade } from '../../journal/replay/upgrade.ts';
import { escaped } from '../../output/console/escaped.ts';
import { counted } from '../../terminal/text-width.ts';
import { UsageError } from '../command/command.ts';
import { type RunsPlace, openRuns } from '../recording/kept-runs.ts';
import { loadAgents } from '../verify/verify-agent.ts';
import { EXPLORE } from '../../journal/replay/replay.ts';

/** A run that has not ended, and what new code means for it. */
interface CheckedRun extends CheckedUpgrade {
  readonly runId: string;
  readonly agent: string;
  readonly state: RunSummary['state'];
}

/** Checks the runs of a journal that have not ended against the agents of a module, the newest first. */
export async function checkedRuns(
  file: string,
  { place, agent, exported }: { place: string; agent: string | undefined; exported: string | undefined },
): Promise<readonly CheckedRun[]> {
  const { store } = openRuns(place, 'journal');
  const heads = await headsOf(file, exported);
  const open = (await store.list(agent === undefined ? {} : { agent })).filter(({ state }) => state !== 'ended');
  const checked: CheckedRun[] = [];
  // One after the other: a recording may be large.
  for (const run of open) checked.push(...(await checkedRun(store, run, heads)));
  return checked;
}

/** How a run of each agent would begin now, by the agent's name. */
async function headsOf(file: string, exported: string | undefined): Promise<ReadonlyMap<string, RunRecord>> {
  const heads = new Map<string, RunRecord>();
  for (const { agent, close } of await loadAgents(file, exported)) {
    try {
      // Their servers may be the same.
      const { head } = await agent[EXPLORE]('Check.');
      if (heads.has(head.agent))
        throw new UsageError(`'${file}' exports several agents named '${head.agent}'. Name one with --export.`);
      heads.set(head.agent, head);
    } finally {
      await close();
    }
  }
  return heads;
}

async function checkedRun(
  store: RunsPlace['store'],
  { runId, agent, state }: RunSummary,
  heads: ReadonlyMap<string, RunRecord>,
): Promise<readonly CheckedRun[]> {
  const now = heads.get(agent);
  const told = { runId, agent, state };
  const kept = (why: string): CheckedRun => ({
    ...told,
    verdict: 'must finish on the old version',
    differences: [why],
  });
  if (now === undefined) return [kept(`the module exports no agent '${agent}'`)];
  try {
    const recording = await store.read(runId);
    // Removed, or ended meanwhile.
    if (recording === null || recording.lines.at(-1)?.t === 'end') return [];
    return [{ ...told, ...checkedUpgrade(recording, now) }];
  } catch (error) {
    if (error instanceof RecordingError || error instanceof JournalError) return [kept(error.message)];
    throw error;
  }
}

/** One line for each run, and one for all. */
export function checkedText(runs: readonly CheckedRun[]): string {
  const lines = runs.map(({ runId, agent, verdict, differences }) => {
    const what = differences.length === 0 ? '' : `: ${differences.join('; ')}`;
    return `${escaped(runId)}  ${escaped(agent)}  ${verdict}${escaped(what)}`;
  });
  const stay = runs.filter(({ verdict }) => verdict === 'must finish on the old version').length;
  const all = `${counted(runs.length, 'run')} checked`;
  return [...lines, stay === 0 ? `${all}: all can continue.` : `${all}: ${stay} must finish on the old version.`].join(
    '\n',
  );
}

import type { RepairedRun } from '../../journal/format/cut-recording.ts';
import { inert } from '../../output/console/inert.ts';
import { EXIT_CODE } from '../exit-code.ts';
import type { RunsPlace } from './runs-place.ts';

/** Cuts a damaged run off before its first damage, and says what is lost by that. Needs its whole id. */
export async function repairRun({ path, store }: RunsPlace, runId: string, json: boolean): Promise<number> {
  const repaired = await store.repair(runId);
  if (repaired === null) {
    console.error(`There is no run '${inert(runId)}' in ${inert(path)}.`);
    return EXIT_CODE.failed;
  }
  console.log(json ? JSON.stringify({ runId, ...repaired }) : told(runId, repaired));
  return EXIT_CODE.answered;
}

function told(runId: string, { kept, lost, damage, calls }: RepairedRun): string {
  if (damage === null) return `${inert(runId)} is not damaged: ${kept} lines.`;
  const forgotten = calls.length === 0 ? '' : ` Calls of ${calls.map(inert).join(', ')} are forgotten.`;
  return [
    inert(damage),
    `Kept ${kept} lines of ${inert(runId)}, and cut ${lost} off.${forgotten}`,
    'Who resumes it does again what stood in these.',
  ].join('\n');
}

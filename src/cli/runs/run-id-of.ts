import { inert } from '../../output/console/inert.ts';
import { didYouMean } from '../../json/nearest-name.ts';
import type { RunsPlace } from './runs-place.ts';

type FoundRun = { readonly runId: string } | { readonly runId: null; readonly why: string };

/** The run that is meant by its id or the beginning of it, or why there is none or more than one. */
export async function findRun({ path, store }: RunsPlace, wanted: string): Promise<FoundRun> {
  const ids = (await store.list()).map(({ runId }) => runId);
  if (ids.includes(wanted)) return { runId: wanted };
  const [one, ...others] = wanted === '' ? [] : ids.filter((runId) => runId.startsWith(wanted));
  if (one === undefined)
    return { runId: null, why: `There is no run '${inert(wanted)}' in ${inert(path)}.${didYouMean(wanted, ids)}` };
  if (others.length === 0) return { runId: one };
  return {
    runId: null,
    why: `'${inert(wanted)}' is the beginning of ${others.length + 1} run ids. Give more of it.`,
  };
}

/** The id that is meant by its beginning; null, after saying why, when that fits no run or several. */
export async function wholeRunId(place: RunsPlace, wanted: string): Promise<string | null> {
  const found = await findRun(place, wanted);
  if (found.runId === null) console.error(found.why);
  return found.runId;
}

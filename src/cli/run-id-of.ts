import { inert } from '../output/console/inert.ts';
import { didYouMean } from './nearest-name.ts';
import type { RunsPlace } from './runs-place.ts';

/** The id that is meant by its beginning; null, after saying why, when that fits no run or several. */
export async function wholeRunId({ path, store }: RunsPlace, wanted: string): Promise<string | null> {
  const ids = (await store.list()).map(({ runId }) => runId);
  if (ids.includes(wanted)) return wanted;
  const [one, ...others] = ids.filter((runId) => runId.startsWith(wanted));
  if (one !== undefined && others.length === 0) return one;
  const why =
    one === undefined ? `There is no run '${inert(wanted)}' in ${inert(path)}.${didYouMean(wanted, ids)}` : null;
  console.error(why ?? `'${inert(wanted)}' is the beginning of ${others.length + 1} run ids. Give more of it.`);
  return null;
}

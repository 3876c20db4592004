import { lineWriter } from '../journal/blobs.ts';
import { inert } from '../output/console/inert.ts';
import type { Terminal } from '../output/console/terminal.ts';
import { EXIT_CODE } from './exit-code.ts';
import { didYouMean } from './nearest-name.ts';
import { recordingText } from './recording-text.ts';
import type { RunsPlace } from './runs-place.ts';

interface ShowOptions {
  readonly full: boolean;
  readonly json: boolean;
  readonly terminal: Terminal;
}

/** Tells a run step by step, or with `json` prints its recording. Part of an id that fits one run alone will do. */
export async function showRun(place: RunsPlace, wanted: string, options: ShowOptions): Promise<number> {
  const runId = await wholeId(place, wanted);
  const recording = runId === null ? null : await place.store.read(runId);
  if (recording === null) return EXIT_CODE.failed;
  if (options.json) {
    const write = lineWriter();
    process.stdout.write([recording.head, ...recording.lines].map((record) => write(record)).join(''));
  } else console.log(recordingText(recording, options.terminal, options));
  return EXIT_CODE.answered;
}

async function wholeId({ path, store }: RunsPlace, wanted: string): Promise<string | null> {
  const ids = (await store.list()).map(({ runId }) => runId);
  if (ids.includes(wanted)) return wanted;
  const [one, ...others] = ids.filter((runId) => runId.startsWith(wanted));
  if (one !== undefined && others.length === 0) return one;
  const why =
    one === undefined ? `There is no run '${inert(wanted)}' in ${inert(path)}.${didYouMean(wanted, ids)}` : null;
  console.error(why ?? `'${inert(wanted)}' is the beginning of ${others.length + 1} run ids. Give more of it.`);
  return null;
}

import { lineWriter } from '../../journal/format/blobs.ts';
import type { Terminal } from '../../output/console/terminal.ts';
import { EXIT_CODE } from '../exit-code.ts';
import { recordingText } from '../recording/recording-text.ts';
import { wholeRunId } from './run-id-of.ts';
import type { RunsPlace } from './runs-place.ts';

interface ShowOptions {
  readonly full: boolean;
  readonly json: boolean;
  readonly terminal: Terminal;
}

/** Tells a run step by step, or with `json` prints its recording. Part of an id that fits one run alone will do. */
export async function showRun(place: RunsPlace, wanted: string, options: ShowOptions): Promise<number> {
  const runId = await wholeRunId(place, wanted);
  const recording = runId === null ? null : await place.store.read(runId);
  if (recording === null) return EXIT_CODE.failed;
  if (options.json) {
    const write = lineWriter();
    process.stdout.write([recording.head, ...recording.lines].map((record) => write(record)).join(''));
  } else console.log(recordingText(recording, options.terminal, options));
  return EXIT_CODE.answered;
}

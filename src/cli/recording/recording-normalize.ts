import { renameSync, writeFileSync } from 'node:fs';
import { normalizeRecording } from '../../journal/format/normalize.ts';
import { inert } from '../../output/console/inert.ts';
import { UsageError } from '../command.ts';
import { EXIT_CODE } from '../exit-code.ts';
import { readRecordingOf } from './recording-file.ts';

/** Prints recordings in their normal form, or with `write` puts them into it and says which have changed. */
export async function normalizeFiles(
  files: readonly string[],
  { in: place, write, times }: { readonly in: string | undefined; readonly write: boolean; readonly times: boolean },
): Promise<number> {
  for (const named of files) {
    // oxlint-disable-next-line no-await-in-loop -- printed in the order in which they were named
    const { text: before, file } = await readRecordingOf(named, place);
    if (write && file === null && named !== '-')
      throw new UsageError(`--write changes files, and '${inert(named)}' is a run of a database.`);
    const after = normalizeRecording(before, { times });
    if (!write || file === null) process.stdout.write(after);
    else if (after !== before) {
      // Whoever reads it meanwhile gets the one or the other.
      writeFileSync(`${file}.new`, after, { mode: 0o600 });
      renameSync(`${file}.new`, file);
      console.log(`normalized ${inert(file)}`);
    }
  }
  return EXIT_CODE.answered;
}

import { renameSync, writeFileSync } from 'node:fs';
import { normalizeRecording } from '../journal/normalize.ts';
import { inert } from '../output/console/inert.ts';
import { EXIT_CODE } from './exit-code.ts';
import { readRecordingFile } from './recording-file.ts';

/** Prints recordings in their normal form, or with `write` puts them into it and says which have changed. */
export function normalizeFiles(
  files: readonly string[],
  { write, times }: { readonly write: boolean; readonly times: boolean },
): number {
  for (const file of files) {
    const before = readRecordingFile(file);
    const after = normalizeRecording(before, { times });
    if (!write || file === '-') process.stdout.write(after);
    else if (after !== before) {
      // Whoever reads it meanwhile gets the one or the other.
      writeFileSync(`${file}.new`, after, { mode: 0o600 });
      renameSync(`${file}.new`, file);
      console.log(`normalized ${inert(file)}`);
    }
  }
  return EXIT_CODE.answered;
}

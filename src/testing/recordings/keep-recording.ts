import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { RunResult } from '../../machines/agent/run-result.ts';
import { normalizedRecording } from './normalized-recording.ts';
import { UseRecordingError } from './recording-errors.ts';

/**
 * Writes a recording that was just made, whole or not at all. One of a run that ended because its model could not be asked
 * is refused: it would be replayed for ever.
 */
export function keepRecording(path: string, recording: string, result: RunResult): void {
  if (result.reason === 'llm-error' && result.error?.code !== 'unusable-reply')
    throw new UseRecordingError(
      'recording-failed',
      path,
      `${path} was not written: the run that was to be recorded ended as llm-error. ${result.result} (${result.error?.code ?? 'no code'}). Make the model answer, then run the test again.`,
    );
  mkdirSync(dirname(path), { recursive: true });
  const half = `${path}.${process.pid}.part`;
  writeFileSync(half, normalizedRecording(recording, path));
  renameSync(half, path);
}

import { readFileSync } from 'node:fs';
import { systemCode } from '../tools/system-code.ts';

/** The text of a recording's file, or of standard input for `-`. Throws an `Error` that says what to do. */
export function readRecordingFile(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') throw new Error(`There is no file ${path}.`, { cause: error });
    if (systemCode(error) === 'EISDIR')
      throw new Error(`${path} is a folder. Name a file in it, or see 'signalbox runs list'.`, { cause: error });
    throw error;
  }
}

import { createReadStream } from 'node:fs';
import { DEFAULT_LIMITS } from '../../parsing/repair/repairs.ts';
import { systemCode } from '../../security/folders.ts';
import { UsageError } from '../command.ts';

/**
 * Reads the text of a file, or of standard input for `-`. No more is read than the parser looks at, and one piece beyond, so
 * that it can tell that there was more. Throws a {@link UsageError} for what cannot be read.
 */
export async function readParseInput(file: string): Promise<string> {
  if (file === '-' && process.stdin.isTTY) {
    console.error('Reading the terminal: Ctrl-D at the beginning of a line ends the reply.');
  }
  const stream = file === '-' ? process.stdin.setEncoding('utf8') : createReadStream(file, 'utf8');
  let text = '';
  try {
    for await (const piece of stream) {
      text += String(piece);
      if (text.length > DEFAULT_LIMITS.maxChars) break;
    }
  } catch (error) {
    throw new UsageError(unreadable(file, systemCode(error)));
  }
  return text;
}

function unreadable(file: string, code: string): string {
  const name = file === '-' ? 'standard input' : `'${file}'`;
  if (code === 'ENOENT' || code === 'ENOTDIR') return `there is no file ${name}.`;
  if (code === 'EISDIR') return `${name} is a folder. Name a file.`;
  return `${name} cannot be read${code === '' ? '' : ` (${code})`}.`;
}

import { sumOf } from './checksums.ts';
import { readFileContent } from './file-lines.ts';
import { type Recording, readRecording } from './recording.ts';
import { type Tallied, runTally } from './tally.ts';

const NEWLINE = 0x0a;
const END = Buffer.from('{"t":"end"');
const BLOB = Buffer.from('{"t":"blob"');

/**
 * What a list shows of the run in a file. Of one that has ended only the first line and the last are read. Null when
 * nothing was recorded; throws a `RecordingError` for a file that is damaged.
 */
export function summarizeFile(content: Buffer): Tallied | null {
  const last = content.lastIndexOf(NEWLINE, content.length - 2) + 1;
  if (last > 0 && endsIn(content)) {
    const head = content.subarray(0, content.indexOf(NEWLINE)).toString('utf8');
    const end = content.subarray(last).toString('utf8');
    const sum = sumOf(end);
    // Without the number that stands with a checksum the lines must be counted.
    if (sum === null)
      return { ...tallied(readRecording([head, end], { torn: !end.endsWith('\n') })), records: countRecords(content) };
    if (sum.holds) return { ...tallied(readRecording([withoutSum(head), sum.text])), records: sum.n };
  }
  const read = readFileContent(content);
  return read === null ? null : tallied(read.recording);
}

function withoutSum(head: string): string {
  const sum = sumOf(head);
  return sum?.holds === true ? sum.text : head;
}

function tallied({ head, lines }: Recording): Tallied {
  const tally = runTally(head);
  for (const record of lines) tally.add(record);
  return tally.read();
}

function countRecords(content: Buffer): number {
  let count = 0;
  for (let at = 0; at < content.length;) {
    if (!startsWith(content, BLOB, at)) count += 1;
    const next = content.indexOf(NEWLINE, at);
    at = next === -1 ? content.length : next + 1;
  }
  return count;
}

function startsWith(content: Buffer, prefix: Buffer, at: number): boolean {
  return content.subarray(at, at + prefix.length).equals(prefix);
}

/** Whether this, the end of a file or all of it, ends in the record of a run's end. */
export function endsIn(content: Buffer): boolean {
  return startsWith(content, END, content.lastIndexOf(NEWLINE, content.length - 2) + 1);
}

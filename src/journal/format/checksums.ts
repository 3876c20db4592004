import { checksum } from '../../json/digest.ts';

/** What the end of a line holds. */
export interface LineSum {
  /** The line without its checksum. */
  readonly text: string;
  /** The number of its record, from 1 on; of a payload, that of the record which it belongs to. */
  readonly n: number;
  /** The line is as it was written. */
  readonly holds: boolean;
}

/** Marks the JSON of a record with its number and a checksum, as its last member. */
export function withSum(text: string, n: number): string {
  return `${text.slice(0, -1)},"sum":"${n}.${checksum(`${n}${text}`)}"}`;
}

const AT_END = /,"sum":"(\d{1,15})\.([0-9a-f]{13})"\}$/;
const LONGEST = 50;

/** Reads the checksum of a line; null when it has none. */
export function sumOf(item: string): LineSum | null {
  // A byte-order mark, which some editors put before the first line, is white space.
  const line = item.trim();
  const found = AT_END.exec(line.slice(-LONGEST));
  if (found === null) return null;
  const [mark, n, sum] = found;
  const text = `${line.slice(0, -mark.length)}}`;
  return { text, n: Number(n), holds: checksum(`${n}${text}`) === sum };
}

/** Checks the lines of one recording: either each has a checksum, or none. Feed it the lines in order. */
export class SumReader {
  #count: number | null = null;
  #begun = false;

  /** The records so far, where the lines have checksums; else null. */
  get count(): number | null {
    return this.#count;
  }

  /** What is wrong with a line; null: nothing. */
  wrong(sum: LineSum | null, isPayload: boolean): string | null {
    if (!this.#begun && sum !== null) this.#count = 0;
    this.#begun = true;
    const count = this.#count;
    if (sum === null) return count === null ? null : 'has lost its checksum. The file is damaged there.';
    if (count === null) return 'has a checksum, and the lines before it have none. The file is damaged before it.';
    if (!sum.holds) return 'does not fit its checksum. The file is damaged there, or was edited.';
    if (sum.n !== count + 1) return `is record ${sum.n}, where record ${count + 1} belongs. Lines were lost or moved.`;
    if (!isPayload) this.#count = sum.n;
    return null;
  }
}

/** Whether this text, which is not JSON, begins with a complete line: then it is not the remainder of one after a crash. */
export function beginsWithLine(text: string): boolean {
  for (const { index } of text.matchAll(/"\}/g)) if (sumOf(text.slice(0, index + 2))?.holds === true) return true;
  return false;
}

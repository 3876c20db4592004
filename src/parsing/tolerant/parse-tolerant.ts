import type { Json } from '../../json/json.ts';
import type { Repair } from '../reply.ts';
import { Cursor, type CursorSpan } from './cursor.ts';
import { parseValue } from './parse-value.ts';

/** What the tolerant parser made of a text: the value, where it ended, and what had to be mended for it. */
export interface Tolerant {
  readonly value: Json;
  readonly end: number;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  readonly cost: number;
  readonly pairs: number;
  readonly quoted: number;
  readonly bareWords: number;
  readonly openString: boolean;
  readonly hanging: boolean;
  readonly refused: boolean;
  readonly steps: number;
}

/** Reads the value that begins at `from`, mending what is broken. Never fails; work is linear in what it reads. */
export function parseTolerant(text: string, span: CursorSpan): Tolerant {
  const c = new Cursor(text, span);
  const value = parseValue(c, 'root');
  const { complete, repairs, cost, pairs, quoted, bareWords, openString, hanging, refused, steps } = c;
  return { value, end: c.pos, complete, repairs, cost, pairs, quoted, bareWords, openString, hanging, refused, steps };
}

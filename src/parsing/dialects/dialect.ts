import type { Repair, ToolCallRequest } from '../reply.ts';
import type { DialectSource } from './dialect-source.ts';

/** What a block in a model's own tool-call format says, and where it ends. */
export interface DialectReading {
  readonly calls: readonly ToolCallRequest[];
  /** Where the block begins, where that is before its marker. */
  readonly from?: number;
  readonly end: number;
  readonly thought?: string;
  readonly answer?: string;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
}

/** One model family's way to write tool calls. */
export interface Dialect {
  readonly name: string;
  /** Pieces of text, one of which begins every block of the format. */
  readonly markers: readonly string[];
  /** Reads the block whose marker stands at `at`, registered or not; undefined when the marker was only mentioned. */
  readonly read: (source: DialectSource, at: number) => DialectReading | undefined;
}

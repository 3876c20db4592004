import type { Repair, ToolCallRequest } from '../reply.ts';
import type { DialectSource } from './dialect-source.ts';

/** What a reply in a model's own tool-call format says. */
export interface DialectReading {
  readonly calls: readonly ToolCallRequest[];
  readonly thought?: string;
  readonly answer?: string;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
}

/** One model family's way to write tool calls. */
export interface Dialect {
  readonly name: string;
  /** Pieces of text one of which is always there when the format is used: nothing else is tried without them. */
  readonly markers: readonly string[];
  /** Reads the calls, registered or not; undefined when the marker was only mentioned. */
  readonly read: (source: DialectSource) => DialectReading | undefined;
}

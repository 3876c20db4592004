import type { Dialect, DialectReading } from './dialects/dialect.ts';
import type { DialectSource } from './dialects/dialect-source.ts';
import { isRegistered } from './tool-names.ts';

/** A reading in one of the table's dialects. */
export interface FoundDialect {
  readonly dialect: string;
  readonly reading: DialectReading;
}

/** The first dialect whose marker is there and which calls a registered tool, or says an answer of its own. */
export function readDialect(source: DialectSource, dialects: readonly Dialect[]): FoundDialect | undefined {
  for (const dialect of dialects) {
    if (!dialect.markers.some((marker) => source.next(0, marker) < source.end)) continue;
    const reading = dialect.read(source);
    if (reading === undefined) continue;
    const calls = reading.calls.filter(({ name }) => isRegistered(name, source.tools));
    if (calls.length === 0 && reading.answer === undefined && reading.thought === undefined) continue;
    if (calls.length === 0 && reading.calls.length > 0) continue;
    return { dialect: dialect.name, reading: { ...reading, calls } };
  }
  return undefined;
}

import { type Json, isJsonObject } from '../../json/json.ts';
import { sumOf } from './checksums.ts';
import { type Recording, RecordingError, readRecording } from './recording.ts';

/** What a repair has made of a damaged run: it ends before the first damage now. */
export interface RepairedRun {
  /** How many lines are left, and how many were cut off; 0: there was no damage. */
  readonly kept: number;
  readonly lost: number;
  /** What was wrong, with the number of the line; null: nothing. */
  readonly damage: string | null;
  /** Tools whose calls stood behind the damage, as far as that can still be read: who resumes the run may repeat them. */
  readonly calls: readonly string[];
}

/** The beginning of damaged lines that is whole. */
export interface WholePart {
  readonly recording: Recording;
  readonly repaired: RepairedRun;
}

/** Finds how much of a run's lines is whole. Throws a `RecordingError` when not even the first is. */
export function wholePart(lines: readonly string[]): WholePart {
  let count = lines.length;
  let damage: RecordingError | null = null;
  for (;;) {
    try {
      const recording = readRecording(lines.slice(0, count), { torn: false });
      const calls = lines.slice(count).flatMap(calledTool);
      const lost = lines.length - count;
      return {
        recording,
        repaired: { kept: count, lost, damage: damage?.message ?? null, calls: [...new Set(calls)] },
      };
    } catch (error) {
      if (!(error instanceof RecordingError) || error.line === 1) throw error;
      damage = error;
      count = error.line - 1;
    }
  }
}

function calledTool(line: string): readonly string[] {
  try {
    const record: Json = JSON.parse(sumOf(line)?.text ?? line);
    if (!isJsonObject(record) || record.name !== 'callTool' || !isJsonObject(record.request)) return [];
    return typeof record.request.tool === 'string' ? [record.request.tool] : [];
  } catch {
    return [];
  }
}

import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { transitions } from '../../src/journal/replay/replay.ts';
import type { Deed } from './job.ts';

/** What a run that was never interrupted ends with. */
export const UNDISTURBED = {
  result: 'looked: yes, flaky: yes, noted: yes, danger: yes, paid: yes',
  success: true,
  status: 'answered',
  reason: 'answer',
  stepsTaken: 6,
  toolsUsed: ['look', 'flaky', 'notes_note', 'pay', 'danger'],
  planIterations: 1,
};

/** What all tools noted, of one run. */
export function deedsOf(log: string, run: string): readonly Deed[] {
  if (!existsSync(log)) return [];
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line): Deed => JSON.parse(line))
    .filter((deed) => deed.run === run);
}

/**
 * What holds of every run that is over, however often its process was killed: it ended as if it had not been, nothing
 * that was finished was done again, and its file is one recording that replays.
 */
export function expectUnharmed({ dir, log, run }: { dir: string; log: string; run: string }): void {
  const recording = readFileSync(`${dir}/${run}.jsonl`, 'utf8');
  const lines = recording.trimEnd().split('\n');
  const ends = lines.filter((line) => line.startsWith('{"t":"end"'));
  expect(ends, `${run} ends once`).toHaveLength(1);
  const { output } = JSON.parse(ends[0] ?? '{}');
  // What must not be repeated and was on its way has an outcome that nobody knows; the model is told, and says so.
  const unknown = lines.some((line) => line.startsWith('{"t":"outcome"') && line.includes('"unknown-outcome"'));
  const result = unknown ? UNDISTURBED.result.replace('paid: yes', 'paid: unknown') : UNDISTURBED.result;
  expect(output, run).toMatchObject({ ...UNDISTURBED, result });
  expect(transitions(recording).at(-1)?.to, `${run} replays`).toBe('COMPLETION');

  const deeds = deedsOf(log, run);
  expect(
    deeds.filter(({ alreadyKnown }) => alreadyKnown),
    `${run} repeats nothing that is finished`,
  ).toEqual([]);
  const payments = deeds.filter(({ tool, finished }) => tool === 'pay' && !finished);
  expect(payments.length, `${run} pays once`).toBeLessThanOrEqual(1);
  if (!unknown) expect(payments).toHaveLength(1);
  const keys = new Map<string, Set<string>>();
  for (const { callId, key } of deeds) keys.set(callId, (keys.get(callId) ?? new Set()).add(key));
  for (const [callId, known] of keys) expect([...known], `${run}: one key for ${callId}`).toHaveLength(1);
}

/** How often a run was taken up again. */
export function restartsOf(dir: string, run: string): number {
  return readFileSync(`${dir}/${run}.jsonl`, 'utf8').split('\n{"t":"restart"').length - 1;
}

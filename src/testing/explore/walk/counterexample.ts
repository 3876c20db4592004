import type { OutsideEvent } from '../../../actors/journal.ts';
import { drive, recordedOutput } from '../../../journal/run/drive.ts';
import { recorder } from '../../../journal/format/recording.ts';
import { ROOT_ID } from '../../../journal/format/run-input.ts';
import { isJsonObject } from '../../../json/json.ts';
import { endlessGuard } from './endless.ts';
import type { Choice } from './explored-run.ts';
import { type Subject, jsonInput } from '../subject.ts';

/**
 * A path as a recording: the same lines as of a run that happened. A path that stops on the way is ended by a cancel that
 * names the reason, so that it is the recording of a whole run and every tool takes it.
 */
export function pathRecording(
  subject: Subject,
  path: readonly Choice[],
  why: { readonly law: string; readonly message: string },
): string {
  const recording = recorder({
    ...subject.head,
    runId: `explored-${why.law}`,
    metadata: { exploration: why, input: subject.id === ROOT_ID ? null : jsonInput(subject.input) },
  });
  const guard = endlessGuard();
  const driven = drive({
    logic: subject.machine,
    id: subject.id,
    input: subject.input,
    work: subject.work,
    recorder: recording,
    context: undefined,
    onNote: () => undefined,
    inspect: guard.inspect,
    journal: {
      open: () => undefined,
      close: () => undefined,
      next: () => Promise.resolve(null),
      end: () => undefined,
    },
  });
  driven.start();
  for (const { entry } of path) {
    guard.reset();
    driven.deliver(entry);
  }
  const before = linesOf(recording.text()).length;
  const cancel: OutsideEvent = { type: 'run.cancelled', reason: `${why.law}: ${why.message}` };
  if (driven.isActive() && driven.accepts(cancel, undefined)) driven.deliver({ t: 'event', event: cancel });
  if (!driven.isActive()) recording.end(recordedOutput(driven.actor.getSnapshot().output));
  const lines = linesOf(recording.text()).map(untimed);
  const note = JSON.stringify({ t: 'note', at: 0, note: { ...why } });
  return `${lines.toSpliced(before, 0, note).join('\n')}\n`;
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** No time passes in an exploration, and the same one gives the same lines. */
function untimed(line: string, index: number): string {
  const record: unknown = JSON.parse(line);
  return index > 0 && isJsonObject(record) && typeof record.at === 'number'
    ? JSON.stringify({ ...record, at: 0 })
    : line;
}

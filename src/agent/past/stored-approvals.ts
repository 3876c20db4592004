/**
 * Owns: a person's answers and messages to a run that no process writes at the moment. They are appended to the
 * run's records, and take effect when the run is resumed.
 */
import type { OutsideEvent } from '../../actors/journal.ts';
import { type OwnRedactor, redactedEvent } from '../../actors/redactor.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { Drive } from '../../journal/run/drive.ts';
import { playRecording } from '../../journal/replay/replay.ts';
import type { Playback } from '../../journal/replay/playback.ts';
import { type JournalStore, giveBack } from '../../journal/run/run-journal.ts';
import { NO_MAIL } from '../../machines/contract/mail.ts';
import type { Delivery } from '../options/run-options.ts';
import { pendingApprovals, waitingPath } from '../run/pending-approvals.ts';
import type { PendingApproval } from '../run/run.ts';

/** The calls of a stored run that wait for a person and can still be answered; none for a run that is over or not there. */
export async function pendingStored(store: JournalStore, runId: string): Promise<readonly PendingApproval[]> {
  const recording = (await store.read?.(runId)) ?? null;
  if (recording === null) return [];
  const { driven, past } = playRecording(recording);
  fireOverdue(driven, past, ageOf(recording, past));
  return pendingApprovals(runId, driven.actor);
}

/** Where a stored run is, and the marks that it has for secrets. */
export interface StoredRun {
  readonly store: JournalStore;
  readonly runId: string;
  readonly redactorOf: (recording: Recording) => OwnRedactor;
}

/**
 * Stores an answer to a waiting call. False if no such call waits or its time is over. Rejects if another process writes the run.
 */
export function answerStored(run: StoredRun, callId: string, answer: OutsideEvent): Promise<boolean> {
  return written(run, { event: answer, to: (driven) => waitingPath(driven.actor, callId) });
}

/** Stores a message to a run, unless it is already there. Rejects if another process writes the run. */
export async function sendStored(run: StoredRun, message: OutsideEvent & { readonly id: string }): Promise<Delivery> {
  let mail = NO_MAIL;
  let isOver = true;
  const look = (driven: Drive): null => {
    mail = driven.actor.getSnapshot().context.stats.mail;
    isOver = !driven.isActive();
    return null;
  };
  if (await written(run, { event: message, to: look })) return { delivered: false, reason: 'kept' };
  const before = mail.delivered.find(({ id }) => id === message.id);
  if (before !== undefined) return { delivered: true, step: before.step, runId: run.runId };
  // What a run that is over had in its queue is the next run's.
  const isKept = [...(isOver ? [] : mail.waiting), ...mail.queued].some(({ id }) => id === message.id);
  if (isOver && !isKept) return { delivered: false, reason: 'over' };
  return { delivered: false, reason: isKept ? 'kept' : 'too-many' };
}

/** `to`: the addressed actor; null is the root, undefined means that there is none. */
async function written(
  { store, runId, redactorOf }: StoredRun,
  { event, to: find }: { readonly event: OutsideEvent; readonly to: (driven: Drive) => string | null | undefined },
): Promise<boolean> {
  const taken = (await store.take?.(runId)) ?? null;
  if (taken === null) return false;
  const { recording, sink } = taken;
  try {
    const { driven, past } = playRecording(recording);
    const found = find(driven);
    const to = found ?? undefined;
    if (found === undefined || !driven.accepts(event, to)) return false;
    const age = ageOf(recording, past);
    fireOverdue(driven, past, age);
    if (!driven.isActive() || !driven.accepts(event, to)) return false;
    const redactor = redactorOf(recording);
    // Secrets that the run did not have are kept with it.
    redactor.onMark((mark, secret) => store.secrets?.keep(runId, { [mark]: secret }));
    const marked = redactedEvent(event, redactor);
    await sink.append([{ t: 'event', at: age, event: marked, ...(to === undefined ? {} : { to }), aside: true }]);
    return true;
  } finally {
    await giveBack(sink);
  }
}

/** Milliseconds since the run began. */
function ageOf({ head }: Recording, past: Playback): number {
  return Math.max(past.at(), Date.now() - Date.parse(head.at));
}

/** Timers that expired meanwhile, such as the deadline of the approval, come before the new event. Nothing is written. */
function fireOverdue(driven: Drive, past: Playback, age: number): void {
  const due = past
    .inFlight()
    .flatMap(({ effect, at }) => (effect.ms === undefined ? [] : [{ id: effect.id, due: at + effect.ms }]))
    .filter((timer) => timer.due <= age)
    .toSorted((a, b) => a.due - b.due);
  for (const { id } of due) if (driven.isActive()) driven.deliver({ t: 'timer', id });
}

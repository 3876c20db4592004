import type { Effect, Outcome, OutsideEvent, Perform } from '../../actors/journal.ts';
import type { RecordLine } from '../format/record.ts';
import type { RunHead, RunJournal } from '../run/run-journal.ts';

interface Rest {
  readonly lines: readonly RecordLine[];
  /** What happens to effects for which the rest holds no outcome. */
  readonly missing: 'live' | 'refuse';
  readonly accepts: RunHead['accepts'];
}

interface Offered {
  readonly name: string;
  readonly digest: string;
  readonly out: Outcome;
  readonly order: number;
}

/**
 * Puts the rest of a recording in the place of the world: an effect gets the recorded outcome of the same name and
 * request, in recorded order; events come when their target takes them and nothing else is left. Timers run.
 */
export function recordedRest(journal: RunJournal, { lines, missing, accepts }: Rest): RunJournal {
  const offered = offeredBy(lines);
  const events = lines.flatMap((line) => (line.t === 'event' ? [line] : []));
  const waiting = new Map<string, { readonly order: number; readonly release: () => void }>();
  const unmatched = new Map<string, Effect>();

  const open = (effect: Effect, perform: Perform): void => {
    const index = offered.findIndex(({ name, digest }) => name === effect.name && digest === effect.digest);
    const [found] = index === -1 ? [] : offered.splice(index, 1);
    if (effect.ms !== undefined || found === undefined) {
      if (effect.ms === undefined) unmatched.set(effect.id, effect);
      const isRefused = effect.ms === undefined && missing === 'refuse';
      return journal.open(effect, isRefused ? () => new Promise(() => undefined) : perform);
    }
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    waiting.set(effect.id, { order: found.order, release: () => resolve(found.out) });
    journal.open(effect, () => promise);
  };
  const close = (id: string): void => {
    waiting.delete(id);
    unmatched.delete(id);
    journal.close(id);
  };

  const letOneGo = (): void => {
    const [first] = [...waiting].toSorted(([, a], [, b]) => a.order - b.order);
    if (first !== undefined) {
      waiting.delete(first[0]);
      return first[1].release();
    }
    // Events to the whole run, such as a cancel, come when nothing else is awaited.
    const index = events.findIndex(({ event, to }) => (to !== undefined || unmatched.size === 0) && accepts(event, to));
    const [said] = index === -1 ? [] : events.splice(index, 1);
    if (said !== undefined) return void journal.send(said.event, said.to);
    const [lost] = unmatched.values();
    if (lost === undefined || missing === 'live') return;
    unmatched.clear();
    events.length = 0;
    void journal.send(notRecorded(lost));
  };

  return {
    ...journal,
    open,
    close,
    next: async () => {
      letOneGo();
      const entry = await journal.next();
      if (entry?.t === 'outcome') unmatched.delete(entry.id);
      return entry;
    },
  };
}

function offeredBy(lines: readonly RecordLine[]): Offered[] {
  const starts = new Map(lines.flatMap((line) => (line.t === 'start' ? [[line.id, line] as const] : [])));
  return lines.flatMap((line, order) => {
    const start = line.t === 'outcome' ? starts.get(line.id) : undefined;
    if (line.t !== 'outcome' || start === undefined) return [];
    const out: Outcome = line.ok ? { ok: true, value: line.value } : { ok: false, error: line.error };
    return [{ name: start.name, digest: start.digest, out, order }];
  });
}

function notRecorded({ id, name }: Effect): OutsideEvent {
  const message = `The rest of the recording holds no outcome for ${id}: nothing of the name ${name} was asked the same. Fork with missing: 'live' to have it done.`;
  return { type: 'run.abandoned', code: 'not-recorded', message };
}

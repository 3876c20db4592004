import type { Effect, Outcome, OutsideEvent, Perform } from '../../actors/journal.ts';
import { outcomesOf } from '../format/cut-recording.ts';
import type { RecordLine } from '../format/record.ts';
import type { Carried, RunHead, RunJournal } from '../run/run-journal.ts';

interface Rest {
  readonly lines: readonly RecordLine[];
  /** What happens to effects for which the rest holds no outcome. */
  readonly missing: 'live' | 'refuse';
  readonly accepts: RunHead['accepts'];
  /** What was in flight at the cut. */
  readonly carried: Carried;
}

/**
 * Puts the rest of a recording in the place of the world: an effect gets the recorded outcome of the same name and
 * request, an event comes once its target takes it, and a timer that has fired there fires, all in recorded order. Other
 * timers run.
 */
export function recordedRest(
  opened: (carried: Carried) => RunJournal,
  { lines, missing, accepts, carried }: Rest,
): RunJournal {
  const starts = lines.flatMap((line) => (line.t === 'start' ? [line] : []));
  const events = lines.flatMap((line, order) => (line.t === 'event' ? [{ ...line, order }] : []));
  const outcomeOf = outcomesOf(lines);
  const waiting = new Map<string, { readonly order: number; readonly release: () => void }>();
  /** Without an outcome; `isRecorded`: the recording has none either, but an event, or its end. */
  const unmatched = new Map<string, { readonly effect: Effect; readonly isRecorded: boolean }>();
  const fired = new Map(lines.flatMap((line, order) => (line.t === 'timer' ? [[line.id, order] as const] : [])));
  /** The timers that run and have fired in the rest. */
  const due = new Map<string, { readonly order: number; readonly fire: (fired: null) => void }>();
  /** On its way to the machine: nothing else is let go, or counts as missing, before it has come. */
  let coming: object | string | null = null;

  const firing = ({ id }: Effect, start: Pick<Effect, 'id'> | undefined): Promise<null> | undefined => {
    const order = start && fired.get(start.id);
    if (order === undefined) return undefined;
    const { promise, resolve } = Promise.withResolvers<null>();
    due.set(id, { order, fire: resolve });
    return promise;
  };
  const performed = (effect: Effect, perform: Perform, start: Pick<Effect, 'id'> | undefined): Perform => {
    if (effect.ms !== undefined) return perform;
    const found = start && outcomeOf(start);
    if (found === undefined) {
      unmatched.set(effect.id, { effect, isRecorded: start !== undefined });
      return missing === 'refuse' ? () => new Promise(() => undefined) : perform;
    }
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    waiting.set(effect.id, { order: found.order, release: () => resolve(found.out) });
    return () => promise;
  };
  const forgotten = (id: string): string => {
    for (const held of [waiting, unmatched, due]) held.delete(id);
    if (coming === id) coming = null;
    return id;
  };
  const send = (event: OutsideEvent, to?: string): void => {
    coming = event;
    const sent = (isTaken: boolean): void => {
      coming = null;
      if (!isTaken) letOneGo();
    };
    void journal.send(event, to).then(sent, () => undefined);
  };
  const letOneGo = (): void => {
    if (coming !== null) return;
    const [first] = [...waiting].toSorted(([, a], [, b]) => a.order - b.order);
    const [timer] = [...due].toSorted(([, a], [, b]) => a.order - b.order);
    const before = Math.min(...[first, timer].map((one) => one?.[1].order ?? lines.length));
    // Events to the whole run, such as a cancel, and timers come when nothing is awaited that the recording does not have.
    const isNew = [...unmatched.values()].some(({ isRecorded }) => !isRecorded);
    const index = events.findIndex((one) => one.order < before && !(isNew && !one.to) && accepts(one.event, one.to));
    const [said] = index === -1 ? [] : events.splice(index, 1);
    if (said !== undefined) return send(said.event, said.to);
    if (first !== undefined && first[1].order === before) {
      [coming] = first;
      waiting.delete(coming);
      return first[1].release();
    }
    if (timer !== undefined && !isNew) {
      [coming] = timer;
      return timer[1].fire(null);
    }
    const [lost] = unmatched.values();
    if (lost === undefined || missing === 'live') return;
    unmatched.clear();
    events.length = 0;
    send(notRecorded(lost.effect));
  };
  const open = carried.open.map((one) => {
    const { effect } = one;
    return { ...one, perform: performed(effect, one.perform, effect), fired: firing(effect, effect) };
  });
  const journal = opened({ ...carried, open });
  return {
    ...journal,
    open: (effect, perform) => {
      const index = starts.findIndex(({ name, digest }) => name === effect.name && digest === effect.digest);
      const [start] = index === -1 ? [] : starts.splice(index, 1);
      journal.open(effect, performed(effect, perform, start), firing(effect, start));
    },
    close: (id) => journal.close(forgotten(id)),
    next: async () => {
      letOneGo();
      const entry = await journal.next();
      if (entry?.t === 'outcome' || entry?.t === 'timer') forgotten(entry.id);
      return entry;
    },
  };
}

function notRecorded({ id, name }: Effect): OutsideEvent {
  const message = `The rest of the recording holds no outcome for ${id}: nothing of the name ${name} was asked the same. Fork with missing: 'live' to have it done.`;
  return { type: 'run.abandoned', code: 'not-recorded', message };
}

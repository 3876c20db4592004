/** Owns: the rules of which entries a run receives, and in which order they are written. */
import type { Entry, OutsideEvent } from '../../actors/journal.ts';
import type { RecordLine } from '../format/record.ts';
import {
  ANSWERED,
  type JournalRule,
  begin,
  effectOf,
  entryName,
  expectSame,
  expectThat,
  sampleHead,
  held,
  outline,
  recordsIn,
  yielding,
} from './sample-run.ts';

const [A, B, C] = ['agent/a/callTool#1', 'agent/b/callTool#1', 'agent/c/callTool#1'] as const;
const CANCEL: OutsideEvent = { type: 'run.cancelled', reason: 'enough' };

const order: JournalRule = async ({ store }) => {
  if (store.read === undefined) return false;
  const journal = begin(store, 'run');
  const [a, b, c] = [held(), held(), held()];
  journal.open(effectOf(A), a.perform);
  journal.open(effectOf(B), b.perform);
  journal.open(effectOf(C), c.perform);
  const told: (Entry | null)[] = [];
  const first = journal.next();
  await Promise.all([a.launched, b.launched, c.launched]);
  b.yields({ from: 'b' });
  told.push(await first);
  c.yields({ from: 'c' });
  told.push(await journal.next());
  a.yields({ from: 'a' });
  told.push(await journal.next());
  await journal.end(ANSWERED);
  expectSame(
    told.map(entryName),
    [B, C, A].map((id) => `outcome ${id}`),
    'the entries of three calls that were done in the order b, c, a',
  );
  const records = await recordsIn(store, 'run');
  const expected = ['run', ...[A, B, C].map((id) => `start ${id}`), ...[B, C, A].map((id) => `outcome ${id}`), 'end'];
  expectSame(outline(records), expected, 'the records of that run');
  const values = records.flatMap((record) => (record.t === 'outcome' && record.ok ? [record.value] : []));
  expectSame(values, [{ from: 'b' }, { from: 'c' }, { from: 'a' }], 'the outcomes of that run');
  expectSame(records[0], sampleHead('run', { at: headAt(records) }), 'the first record of that run');
  return true;
};

const writtenFirst: JournalRule = async ({ store }) => {
  if (store.read === undefined) return false;
  const journal = begin(store, 'run');
  let before: readonly string[] = [];
  journal.open(effectOf(A, { effects: 'once' }), async () => {
    before = outline(await recordsIn(store, 'run'));
    return { ok: true, value: 1 };
  });
  await journal.next();
  expectSame(before, ['run', `start ${A}`], 'what `read` gives while a call runs that must run once');
  const after = outline(await recordsIn(store, 'run'));
  expectSame(after, ['run', `start ${A}`, `outcome ${A}`], 'what `read` gives once `next` has given the outcome');
  await journal.end(ANSWERED);
  return true;
};

const timers: JournalRule = async ({ store }) => {
  const journal = begin(store, 'run');
  journal.open(effectOf('timer#1', { ms: 60_000 }), yielding(null));
  journal.open(effectOf('timer#2', { ms: 1 }), yielding(null));
  const entry = await journal.next();
  expectSame(entry, { t: 'timer', id: 'timer#2' }, 'the entry of the shorter of two timers');
  journal.close('timer#1');
  await journal.end(ANSWERED);
  const records = (await recordsIn(store, 'run')).filter(({ t }) => t === 'timer');
  if (store.read !== undefined) expectSame(outline(records), ['timer timer#2'], 'the timers that have fired');
  return true;
};

const outsideEvents: JournalRule = async ({ store }) => {
  const journal = begin(store, 'run', { accepts: (event) => event.type === 'known' });
  const running = held();
  journal.open(effectOf(A), running.perform);
  const next = journal.next();
  await running.launched;
  const unknown = journal.send({ type: 'unknown' });
  const known = journal.send({ type: 'known' }, 'agent/a');
  const expected = { t: 'event', event: { type: 'known' }, to: 'agent/a' };
  expectSame(await next, expected, 'the entry of an event that the run takes, behind one that it does not take');
  expectSame([await unknown, await known], [false, true], 'what `send` resolves for these two');
  await journal.end(ANSWERED);
  expectSame(await journal.send({ type: 'known' }), false, 'what `send` resolves once the run has ended');
  if (store.read === undefined) return true;
  const events = (await recordsIn(store, 'run')).filter(({ t }) => t === 'event');
  expectSame(
    events.map((record) => record.t === 'event' && [record.event.type, record.to]),
    [['known', 'agent/a']],
    'the events that are recorded',
  );
  return true;
};

const cancel: JournalRule = async ({ store }) => {
  const journal = begin(store, 'run');
  const [running, fresh] = [held(), held()];
  journal.open(effectOf(A), running.perform);
  const next = journal.next();
  const signal = await running.launched;
  running.yields('late');
  journal.close(A);
  expectThat(signal.aborted, 'the signal of a call that was closed must be aborted.');
  void journal.send(CANCEL);
  expectSame(entryName(await next), 'event run.cancelled', 'the entry behind a call that was closed');
  journal.open(effectOf(B), fresh.perform);
  void journal.send({ type: 'second' });
  expectSame(entryName(await journal.next()), 'event second', 'the entry while an event waits');
  expectThat(!fresh.isLaunched(), 'a call was launched while an event from outside waited.');
  journal.close(B);
  await journal.end({ status: 'cancelled', reason: 'cancelled' });
  expectThat(!fresh.isLaunched(), 'a call was launched that had been closed before.');
  const outcomes = (await recordsIn(store, 'run')).filter(({ t }) => t === 'outcome');
  expectSame(outline(outcomes), [], 'the outcomes of calls that were closed');
  return true;
};

/** The rules of writing, by their names. */
export const writingRules: Readonly<Record<string, JournalRule>> = {
  order,
  'written-first': writtenFirst,
  timers,
  'outside-events': outsideEvents,
  cancel,
};

function headAt(records: readonly RecordLine[]): string {
  const [head] = records;
  return head?.t === 'run' ? head.at : '';
}

/** Owns: the rules of taking and keeping runs, and the list of all rules. Does not own: those of writing, and of lists. */
import type { Json } from '../../json/json.ts';
import type { RecordLine } from '../format/record.ts';
import { listRules } from './list-rules.ts';
import { outsideRules } from './outside-rules.ts';
import {
  ANSWERED,
  type JournalRule,
  abandonedRun,
  begin,
  effectOf,
  expectCode,
  expectSame,
  expectThat,
  outline,
  recordsIn,
  takeRun,
  waitingRun,
  wholeRun,
  yielding,
} from './sample-run.ts';
import { writingRules } from './writing-rules.ts';

const [A, B] = ['agent/a/callTool#1', 'agent/b/callTool#1'] as const;
const NOTE: RecordLine = { t: 'note', at: 1, note: { said: 'again' } };

const oneWriter: JournalRule = async ({ store, options }) => {
  if (store.take === undefined) return false;
  const { journal } = await waitingRun(store, 'run');
  const others = [store, ...(options.reopen === undefined ? [] : [await options.reopen(store)])];
  for (const other of others) {
    await expectCode(async () => other.take?.('run'), ['run-locked'], '`take` of a run that is being written');
    const anew = async (): Promise<void> => {
      const second = begin(other, 'run');
      second.open(effectOf(A), yielding(1));
      await second.next();
    };
    await expectCode(anew, ['run-exists', 'run-locked'], '`open` of a run that is being written');
  }
  await journal.abandon?.();
  const wanting = Array.from({ length: 8 }, (_, index) => others[index % others.length] ?? store);
  const taken = await Promise.allSettled(wanting.map(async (other) => other.take?.('run')));
  const got = taken.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
  expectSame(got.length, 1, 'how many of 8 that take a run at once get it');
  await got[0]?.sink.close();
  await (await takeRun(store, 'run')).sink.close();
  return true;
};

const taking: JournalRule = async ({ store, options }) => {
  if (store.take === undefined) return false;
  expectSame(await store.take('none'), null, '`take` of a run that is not there');
  await abandonedRun(store, 'run');
  const other = (await options.reopen?.(store)) ?? store;
  const first = await takeRun(other, 'run');
  const whole = ['run', 'start agent/toolCall/askApproval#1'];
  expectSame(outline([first.recording.head, ...first.recording.lines]), whole, 'the records of a run that is taken');
  await first.sink.append([NOTE, NOTE]);
  await first.sink.append([{ t: 'end', at: 2, output: ANSWERED }]);
  await first.sink.close();
  const expected = [...whole, 'note', 'note', 'end'];
  if (store.read !== undefined) expectSame(outline(await recordsIn(store, 'run')), expected, 'what was written on');
  const again = await takeRun(store, 'run');
  expectSame(outline(again.recording.lines), expected.slice(1), 'the records of a run that is taken again');
  await again.sink.close();
  return true;
};

const lostLock: JournalRule = async ({ store, options }) => {
  if (store.take === undefined || options.loseLock === undefined || options.reopen === undefined) return false;
  await abandonedRun(store, 'run');
  const zombie = await takeRun(store, 'run');
  await options.loseLock(store, 'run');
  const other = await options.reopen(store);
  const owner = await takeRun(other, 'run');
  const end: RecordLine = { t: 'end', at: 2, output: ANSWERED };
  await expectCode(
    async () => zombie.sink.append([NOTE, end]),
    ['run-lost'],
    '`append` of a writer that lost its lock',
  );
  const [listed] = (await other.list?.()) ?? [];
  if (listed !== undefined) expectSame(listed.state, 'running', 'the state of the run that it wanted to end');
  await owner.sink.append([{ ...NOTE, at: 7 }]);
  // Giving back what it does not have must not free the run either.
  await Promise.resolve(zombie.sink.close()).catch(() => undefined);
  await expectCode(async () => store.take?.('run'), ['run-locked'], '`take` while the new writer has the run');
  await owner.sink.close();
  const notes = (await takeRun(other, 'run')).recording.lines.filter(({ t }) => t === 'note');
  expectSame(notes, [{ ...NOTE, at: 7 }], 'the notes of both writers');
  return true;
};

const tornTail: JournalRule = async ({ store, options }) => {
  if (store.take === undefined || options.tear === undefined) return false;
  await abandonedRun(store, 'run');
  const before = await recordsIn(store, 'run');
  await options.tear(store, 'run');
  const other = (await options.reopen?.(store)) ?? store;
  const { recording, sink } = await takeRun(other, 'run');
  expectSame(outline([recording.head, ...recording.lines]), outline(before), 'the records before the torn one');
  await sink.append([NOTE]);
  await sink.close();
  const { recording: after, sink: last } = await takeRun(other, 'run');
  expectSame(after.lines.at(-1), NOTE, 'the record that was written behind the torn one');
  await last.close();
  return true;
};

const unknownRuns: JournalRule = async ({ store }) => {
  if (store.read !== undefined) expectSame(await store.read('none'), null, '`read` of a run that is not there');
  if (store.remove !== undefined) expectSame(await store.remove('none'), false, '`remove` of one');
  if (store.repair !== undefined) expectSame(await store.repair('none'), null, '`repair` of one');
  if (store.list !== undefined) expectSame(await store.list(), [], '`list` of an empty store');
  return true;
};

const sameId: JournalRule = async ({ store }) => {
  await wholeRun(store, 'run', { value: 'first' });
  const again = async (): Promise<void> => wholeRun(store, 'run', { value: 'second' });
  await expectCode(again, ['run-exists'], 'a second run of the same id');
  const first = (await recordsIn(store, 'run')).filter(({ t }) => t === 'outcome');
  if (store.read !== undefined) expectSame(first, [{ ...first[0], value: 'first' }], 'the outcomes of the first run');
  return true;
};

const largeValues: JournalRule = async ({ store }) => {
  if (store.read === undefined) return false;
  const large: Json = { text: 'x'.repeat(300_000), list: ['y'.repeat(9000), 'y'.repeat(9000)] };
  const odd: Json = { $blob: 'none', text: '\0 \ud800 \u2028 " \\ 😀', nested: { $json: '[' } };
  const journal = begin(store, 'run');
  for (const [index, value] of [large, odd, large].entries()) {
    journal.open(effectOf(`agent/a/callTool#${index + 1}`), yielding(value));
    await journal.next();
  }
  const valuesIn = (lines: readonly RecordLine[]): readonly Json[] =>
    lines.flatMap((record) => (record.t === 'outcome' && record.ok ? [record.value] : []));
  expectSame(valuesIn(await recordsIn(store, 'run')), [large, odd, large], 'large and odd values');
  if (store.take === undefined || journal.abandon === undefined) return true;
  await journal.abandon();
  const { recording, sink } = await takeRun(store, 'run');
  expectSame(valuesIn(recording.lines), [large, odd, large], 'these values in a run that is taken');
  await sink.append([{ t: 'outcome', at: 9, id: B, ok: true, value: large }]);
  await sink.close();
  const all = valuesIn(await recordsIn(store, 'run'));
  expectSame(all, [large, odd, large, large], 'these values, and one of them written again');
  return true;
};

const manyWriters: JournalRule = async ({ store, options: { writers = 1000 } }) => {
  if (store.read === undefined) return false;
  const ids = Array.from({ length: writers }, (_, index) => `run-${index}`);
  await Promise.all(ids.map((runId, index) => wholeRun(store, runId, { value: index })));
  const expected = ['run', 'start agent/toolCall/callTool#1', 'outcome agent/toolCall/callTool#1', 'end'];
  for (const [index, runId] of ids.entries()) {
    const records = await recordsIn(store, runId);
    expectSame(outline(records), expected, `the records of ${runId}, one of ${writers} written at once`);
    const [outcome] = records.filter((record) => record.t === 'outcome');
    expectSame(outcome?.ok === true && outcome.value, index, `the outcome of ${runId}`);
  }
  return true;
};

const removing: JournalRule = async ({ store }) => {
  if (store.remove === undefined || store.read === undefined) return false;
  const { journal } = await waitingRun(store, 'run');
  await wholeRun(store, 'other');
  await expectCode(async () => store.remove?.('run'), ['run-locked'], '`remove` of a run that is being written');
  await journal.abandon?.();
  expectSame(await store.remove('run'), true, '`remove` of a run that nobody writes');
  expectSame([await store.read('run'), (await recordsIn(store, 'other')).length], [null, 4], 'what is left');
  if (store.list !== undefined)
    expectSame(
      (await store.list()).map(({ runId }) => runId),
      ['other'],
      'the list behind it',
    );
  await wholeRun(store, 'run', { value: 'anew' });
  expectSame((await recordsIn(store, 'run')).length, 4, 'the records of a run that has the id of one that was removed');
  return true;
};

const repairing: JournalRule = async ({ store }) => {
  if (store.repair === undefined) return false;
  await wholeRun(store, 'run');
  const before = await recordsIn(store, 'run');
  const repaired = await store.repair('run');
  expectSame([repaired?.lost, repaired?.damage], [0, null], 'what `repair` says of a run without damage');
  expectSame(await recordsIn(store, 'run'), before, 'the records behind a repair of a run without damage');
  const { journal } = await waitingRun(store, 'live');
  await expectCode(async () => store.repair?.('live'), ['run-locked'], '`repair` of a run that is being written');
  await journal.abandon?.();
  return true;
};

const claims: JournalRule = async ({ store, options }) => {
  if (store.claim === undefined) return false;
  const other = (await options.reopen?.(store)) ?? store;
  const both = await Promise.all([store.claim('a name'), other.claim?.('a name')]);
  const [leave, ...more] = both.filter((one) => one !== null && one !== undefined);
  expectSame([leave === undefined, more.length], [false, 0], 'whether one of two that claim a name gets it');
  const third = await store.claim('another name');
  expectThat(third !== null, 'a name was refused that nobody has.');
  if (store.list !== undefined) expectSame(await store.list(), [], 'the list of a store in which names are claimed');
  await leave?.();
  const again = (await other.claim?.('a name')) ?? null;
  expectThat(again !== null, 'a name was refused that was given back.');
  expectSame(await store.claim('a name'), null, '`claim` of a name that another has');
  await again?.();
  await third?.();
  return true;
};

const secrets: JournalRule = async ({ store, options }) => {
  const { secrets: kept } = store;
  if (kept === undefined) return false;
  const both = { '«secret:1»': 'first-key', '«secret:2»': 'second-key' };
  kept.keep('run', { '«secret:1»': 'first-key' });
  kept.keep('run', { '«secret:2»': 'second-key' });
  expectSame([kept.read('run'), kept.read('other')], [both, {}], 'the secrets of two runs');
  await abandonedRun(store, 'run');
  const records = JSON.stringify(await recordsIn(store, 'run'));
  expectThat(!records.includes('first-key'), 'a secret stands in the records of its run.');
  const other = (await options.reopen?.(store)) ?? store;
  const { sink } = await takeRun(other, 'run');
  expectSame(other.secrets?.read('run'), both, 'the secrets of a run that was taken');
  await sink.append([{ t: 'end', at: 2, output: ANSWERED }]);
  await sink.close();
  expectSame(other.secrets?.read('run'), {}, 'the secrets of a run that has ended');
  if (store.remove === undefined) return true;
  kept.keep('removed', both);
  await abandonedRun(store, 'removed');
  await store.remove('removed');
  expectSame(kept.read('removed'), {}, 'the secrets of a run that was removed');
  return true;
};

/** All rules, by their names in docs/journal-port.md. */
export const journalRules: Readonly<Record<string, JournalRule>> = {
  ...writingRules,
  'one-writer': oneWriter,
  take: taking,
  'lost-lock': lostLock,
  'torn-tail': tornTail,
  'unknown-runs': unknownRuns,
  'same-id': sameId,
  'large-values': largeValues,
  remove: removing,
  repair: repairing,
  claim: claims,
  secrets,
  ...outsideRules,
  ...listRules,
  'many-writers': manyWriters,
};

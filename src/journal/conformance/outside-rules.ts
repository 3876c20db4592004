/** Owns: the rules of what other processes see of a run that is being written, and request of it. */
import type { JsonObject } from '../../json/json.ts';
import {
  ANSWERED,
  type JournalRule,
  begin,
  effectOf,
  expectSame,
  expectThat,
  takeRun,
  waitingRun,
  wholeRun,
  yielding,
} from './sample-run.ts';

const [A, B] = ['agent/a/callTool#1', 'agent/b/callTool#1'] as const;

const revisions: JournalRule = async ({ store, options }) => {
  if (store.revision === undefined) return false;
  const other = (await options.reopen?.(store)) ?? store;
  expectSame(await other.revision?.('run'), null, '`revision` of a run that is not there');
  const seen: (string | null | undefined)[] = [];
  const look = async (when: string): Promise<void> => {
    const [first, second] = [await other.revision?.('run'), await other.revision?.('run')];
    expectThat(typeof first === 'string', `\`revision\` is not a text ${when}.`);
    expectSame(second, first, `\`revision\` ${when}, of a run that nobody writes meanwhile`);
    expectThat(!seen.includes(first), `\`revision\` has not changed ${when}.`);
    seen.push(first);
  };
  const journal = begin(store, 'run');
  for (const id of [A, B]) {
    journal.open(effectOf(id), yielding('x'));
    await journal.next();
    await look('behind an outcome');
  }
  const said = journal.send({ type: 'said' });
  await journal.next();
  await said;
  await look('behind an event from outside');
  await journal.end(ANSWERED);
  await look('behind the end');
  if (store.take === undefined) return true;
  const { sink } = await takeRun(store, 'run');
  await sink.append([{ t: 'note', at: 1, note: {} }]);
  await sink.close();
  await look('behind a record of a run that was taken');
  return true;
};

const changing: JournalRule = async ({ store, options }) => {
  const other = (await options.reopen?.(store)) ?? store;
  if (other.changes === undefined) return false;
  let count = 0;
  let changed = Promise.withResolvers<null>();
  const stop = other.changes('run', () => {
    count += 1;
    changed.resolve(null);
  });
  const journal = begin(store, 'run');
  const written = async (id: string): Promise<void> => {
    changed = Promise.withResolvers();
    journal.open(effectOf(id), yielding('x'));
    await journal.next();
    await changed.promise;
  };
  // It may take a moment until it is notified, and then report what it has missed.
  await written(A);
  await new Promise((resolve) => setTimeout(resolve, LATER_MS));
  const before = count;
  await wholeRun(store, 'another');
  await new Promise((resolve) => setTimeout(resolve, LATER_MS));
  expectSame(count, before, 'how often a change was reported while another run was written');
  await written(B);
  stop();
  await new Promise((resolve) => setTimeout(resolve, LATER_MS));
  const after = count;
  await journal.end(ANSWERED);
  await new Promise((resolve) => setTimeout(resolve, LATER_MS));
  expectSame(count, after, 'how often a change was reported to somebody who has gone');
  return true;
};

/** How long a request waits for a process that may drive the run, and how long a withdrawn one is looked for. */
const [WAIT_MS, LATER_MS] = [400, 300] as const;

const requesting: JournalRule = async ({ store, options }) => {
  const { requests } = store;
  if (requests === undefined) return false;
  const asking = (await options.reopen?.(store))?.requests ?? requests;
  expectSame(await asking.ask('run', { n: 0 }, 50), null, '`ask` where nobody drives the run');
  const answered: unknown[] = [];
  const answer = async (request: JsonObject): Promise<JsonObject> => {
    answered.push(request['n']);
    return { heard: request };
  };
  const stop = requests.serve('run', answer);
  await new Promise((resolve) => setTimeout(resolve, LATER_MS));
  expectSame(answered, [], 'the requests that are answered of those that were withdrawn');
  const asked = [1, 2, 3, 4].map((n) => ({ n, text: `"${n}" \ud83d\ude00` }));
  const answers = await Promise.all(asked.map((request) => asking.ask('run', request, 10_000)));
  expectSame(
    answers,
    asked.map((request) => ({ heard: request })),
    'the answers to requests that were sent at once',
  );
  expectSame(await asking.ask('other', { n: 5 }, WAIT_MS), null, '`ask` of a run that nobody drives');
  stop();
  expectSame(await asking.ask('run', { n: 6 }, WAIT_MS), null, '`ask` of a run that is not driven any more');
  expectSame(new Set(answered).size === 4 && answered.length, 4, 'how many requests were answered, each once');
  if (store.list !== undefined) expectSame(await store.list(), [], 'the list of a store with requests and no runs');
  if (store.read === undefined) return true;
  const { journal } = await waitingRun(store, 'run');
  const before = (await store.read('run'))?.lines.length;
  const served = requests.serve('run', answer);
  await asking.ask('run', { n: 7 }, 10_000);
  served();
  expectSame((await store.read('run'))?.lines.length, before, 'the records of a run behind a request to it');
  await journal.abandon?.();
  return true;
};

/** The rules of what other processes see and ask, by their names. */
export const outsideRules: Readonly<Record<string, JournalRule>> = {
  revision: revisions,
  changes: changing,
  requests: requesting,
};

import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { assertJournalConformance, fileJournal, memoryJournal, sqliteJournal } from '../../src/journal/index.ts';
import type { JournalStore, RunRequests, Sink } from '../../src/journal/index.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { temporaryFolder } from './temporary-folder.ts';

const QUICK = { writers: 20, timeoutMs: 2000 };

test('a journal in memory keeps all rules that it can be asked about', async () => {
  const { kept, skipped } = await assertJournalConformance(() => memoryJournal());
  expect(skipped).toEqual(['lost-lock', 'torn-tail', 'repair', 'changes']);
  expect(kept).toContain('many-writers');
});

test('a store may be given itself; one with runs in it is refused and keeps them', async () => {
  const store = memoryJournal();
  const given = await assertJournalConformance(store);
  expect(given).toEqual(await assertJournalConformance(() => memoryJournal()));

  const used = memoryJournal();
  await createAgent({ model: scriptedModel(['Hi.']), silent: true, journal: used }).run('Hello');
  await expect(assertJournalConformance(used)).rejects.toThrow(/must be empty.*function that makes one/);
  expect(await used.list?.()).toHaveLength(1);
  const { list: _list, ...listless } = memoryJournal();
  await expect(assertJournalConformance(listless)).rejects.toThrow(/must be empty.*function that makes one/);
});

test('a journal of files keeps all rules', async () => {
  await using folder = await temporaryFolder();
  const places = new Map<JournalStore, string>();
  const open = (place: string): JournalStore => {
    const store = fileJournal(place);
    places.set(store, place);
    return store;
  };
  const placeOf = (store: JournalStore): string => places.get(store) ?? '';
  const { skipped } = await assertJournalConformance(() => open(join(folder.path, String(places.size))), {
    reopen: (store) => open(placeOf(store)),
    loseLock: (store, runId) => {
      rmSync(join(placeOf(store), `${runId}.lock`));
      // A writer looks at its lock again when it has been silent for a while.
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 11_000 });
    },
    tear: (store, runId) => appendFileSync(join(placeOf(store), `${runId}.jsonl`), '{"t":"note","at":3,"no'),
  });
  expect(skipped).toEqual(['changes']);
  vi.useRealTimers();
});

test('a journal in SQLite keeps all rules but that of torn tails, which it cannot have', async () => {
  await using folder = await temporaryFolder();
  const places = new Map<JournalStore, string>();
  const open = (place: string): JournalStore => {
    const store = sqliteJournal(place);
    places.set(store, place);
    return store;
  };
  const placeOf = (store: JournalStore): string => places.get(store) ?? '';
  const { skipped } = await assertJournalConformance(() => open(join(folder.path, `${places.size}.sqlite`)), {
    reopen: (store) => open(placeOf(store)),
    loseLock: (store) => new DatabaseSync(placeOf(store)).exec('update progress set writer = null'),
  });
  expect(skipped).toEqual(['torn-tail', 'changes']);
});

test('a store that can only open runs is asked about little', async () => {
  const { kept } = await assertJournalConformance(() => {
    const { open } = memoryJournal();
    return { open };
  }, QUICK);
  expect(kept).toEqual(['timers', 'outside-events', 'cancel', 'unknown-runs', 'same-id']);
});

describe('a store that breaks a rule', () => {
  const broken: Readonly<
    Record<string, readonly [rule: string, breakIt: (good: JournalStore) => Partial<JournalStore>]>
  > = {
    'it drops the last outcome of three': [
      'order',
      (good) => ({ read: reading(good, (lines) => lines.filter((_, index) => index !== 5)) }),
    ],
    'it gives outcomes in another order': [
      'order',
      (good) => ({ read: reading(good, (lines) => lines.toSorted((a, b) => (a.t < b.t ? 1 : -1))) }),
    ],
    'it delivers before it has written': [
      'written-first',
      (good) => ({ read: reading(good, (lines) => (lines.length < 4 ? lines.slice(0, -1) : lines)) }),
    ],
    'its timers never fire early': ['timers', (good) => ({ open: timeless(good) })],
    'it takes every event': [
      'outside-events',
      (good) => ({ open: (run) => good.open({ ...run, accepts: () => true }) }),
    ],
    'it aborts nothing': ['cancel', (good) => ({ open: journal(good, { close: () => undefined }) })],
    'it lets two writers in': ['one-writer', (good) => ({ take: twice(good) })],
    'it forgets what was appended to a run that was taken': [
      'take',
      (good) => ({ take: sinking(good, (sink) => ({ ...sink, append: () => undefined })) }),
    ],
    'it never gives a run back': [
      'one-writer',
      (good) => ({ take: sinking(good, (sink) => ({ ...sink, close: () => undefined })) }),
    ],
    'it says that it has removed what is not there': ['unknown-runs', () => ({ remove: async () => true })],
    'it begins a run anew': ['same-id', anew],
    'it cuts large values': [
      'large-values',
      (good) => ({
        read: reading(good, (lines) =>
          lines.map((line) => (JSON.stringify(line).length > 9000 ? { ...line, value: 'cut' } : line)),
        ),
      }),
    ],
    'it removes nothing': ['remove', (good) => ({ remove: async (runId) => (await good.read?.(runId)) !== null })],
    'it gives a name to everybody': ['claim', () => ({ claim: async () => () => undefined })],
    'it keeps the last secrets only': ['secrets', lastSecrets],
    'it never forgets secrets': ['secrets', everSecrets],
    'its revision never changes': ['revision', () => ({ revision: async (runId) => (runId === 'none' ? null : '1') })],
    'its revision stands still behind the first record': [
      'revision',
      (good) => ({ revision: async (runId) => ((await good.read?.(runId)) ?? null) && '1' }),
    ],
    'its revision changes by itself': [
      'revision',
      (good) => ({
        revision: async (runId) => ((await good.read?.(runId)) ?? null) && String(performance.now()),
      }),
    ],
    'it never reports a change': ['changes', () => ({ changes: () => () => undefined })],
    'it reports changes of every run': ['changes', reporting],
    'it answers requests twice': [
      'requests',
      (good) => ({
        requests: requesting(good, ({ ask }) => ({
          ask: async (...asked) => {
            await ask(...asked);
            return ask(...asked);
          },
        })),
      }),
    ],
    'it keeps requests that were withdrawn': ['requests', (good) => ({ requests: keptRequests(good) })],
    'it answers for every run': [
      'requests',
      (good) => ({ requests: requesting(good, ({ ask }) => ({ ask: (_, request, ms) => ask('run', request, ms) })) }),
    ],
    'it answers when nobody drives the run any more': [
      'requests',
      (good) => ({
        requests: requesting(good, ({ serve }) => ({
          serve: (...served) => {
            serve(...served);
            return () => undefined;
          },
        })),
      }),
    ],
    'it lists other agents': ['filters', (good) => ({ list: listing(good, 'agent') })],
    'its metadata matches too much': ['filters', (good) => ({ list: listing(good, 'metadata') })],
    'it says that nobody is due': [
      'due',
      (good) => ({ list: async (query) => (query?.due === undefined ? ((await good.list?.(query)) ?? []) : []) }),
    ],
    'it ignores who is due': ['due', (good) => ({ list: listing(good, 'due') })],
    'its pages repeat a run': [
      'paging',
      (good) => ({
        list: async ({ after, ...query } = {}) =>
          (await good.list?.(after === undefined ? query : { ...query, after: { at: after.at, runId: '~' } })) ?? [],
      }),
    ],
    'its list says that nobody writes': [
      'states',
      (good) => ({
        list: async (query) =>
          ((await good.list?.(query)) ?? []).map((run) => ({
            ...run,
            state: run.state === 'running' ? 'waiting' : run.state,
          })),
      }),
    ],
    'it counts records wrongly': [
      'list',
      (good) => ({
        list: async (query) => ((await good.list?.(query)) ?? []).map((run) => ({ ...run, records: run.records + 1 })),
      }),
    ],
    'it loses runs when many write': [
      'many-writers',
      (good) => ({ read: async (runId) => (runId === 'run-13' ? null : ((await good.read?.(runId)) ?? null)) }),
    ],
  };
  for (const [what, [rule, breakIt]] of Object.entries(broken))
    test(`found out: ${what}`, async () => {
      const asserting = assertJournalConformance(() => {
        const good = memoryJournal();
        return { ...good, ...breakIt(good) };
      }, QUICK);
      await expect(asserting).rejects.toMatchObject({ name: 'ConformanceError', code: 'not-conformant', rule });
    });

  test('a writer that lost its lock writes on', async () => {
    const asserting = assertJournalConformance(memoryJournal, {
      ...QUICK,
      reopen: (store) => store,
      loseLock: () => undefined,
    });
    await expect(asserting).rejects.toMatchObject({ rule: 'lost-lock' });
  });

  test('a torn record is left where it is', async () => {
    await using folder = await temporaryFolder();
    let count = 0;
    let place = '';
    const asserting = assertJournalConformance(() => fileJournal((place = join(folder.path, String(count++)))), {
      ...QUICK,
      tear: (_, runId) => appendFileSync(join(place, `${runId}.jsonl`), '{"t":"note"}\n'),
    });
    await expect(asserting).rejects.toMatchObject({ rule: 'torn-tail' });
  });
});

/** Leaves a member of a query out. */
function listing(good: JournalStore, ignored: 'agent' | 'metadata' | 'due'): NonNullable<JournalStore['list']> {
  return async (query = {}) => {
    const heeded = Object.fromEntries(Object.entries(query).filter(([name]) => name !== ignored));
    return (await good.list?.(heeded)) ?? [];
  };
}

type Lines = NonNullable<Awaited<ReturnType<NonNullable<JournalStore['read']>>>>['lines'];

function reading(good: JournalStore, change: (lines: Lines) => readonly object[]): NonNullable<JournalStore['read']> {
  return async (runId) => {
    const recording = (await good.read?.(runId)) ?? null;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a broken store gives
    return recording === null ? null : { ...recording, lines: change(recording.lines) as Lines };
  };
}

function journal(good: JournalStore, change: Partial<ReturnType<JournalStore['open']>>): JournalStore['open'] {
  return (run) => ({ ...good.open(run), ...change });
}

function sinking(good: JournalStore, change: (sink: Sink) => Sink): NonNullable<JournalStore['take']> {
  return async (runId) => {
    const taken = (await good.take?.(runId)) ?? null;
    return taken === null ? null : { ...taken, sink: change(taken.sink) };
  };
}

function twice(good: JournalStore): NonNullable<JournalStore['take']> {
  return async (runId) => {
    const recording = (await good.read?.(runId)) ?? null;
    return recording === null ? null : { recording, sink: { append: () => undefined, close: () => undefined } };
  };
}

/** Writes a run that has ended under another id again. */
function anew(good: JournalStore): Partial<JournalStore> {
  const ended = new Set<string>();
  return {
    open: (run) => {
      const { runId } = run.head;
      const one = good.open(ended.has(runId) ? { ...run, head: { ...run.head, runId: `${runId}-again` } } : run);
      return {
        ...one,
        end: async (output) => {
          await one.end(output);
          ended.add(runId);
        },
      };
    },
  };
}

function timeless(good: JournalStore): JournalStore['open'] {
  return (run) => {
    const one = good.open(run);
    return { ...one, open: (effect, perform) => (effect.ms === undefined ? one.open(effect, perform) : undefined) };
  };
}

/** Reports to everybody what any run has more. */
function reporting(good: JournalStore): Partial<JournalStore> {
  const heard = new Set<() => void>();
  return {
    open: (run) => {
      const one = good.open(run);
      const next = async (): ReturnType<typeof one.next> => {
        const entry = await one.next();
        for (const changed of heard) changed();
        return entry;
      };
      return { ...one, next };
    },
    changes: (_, changed) => {
      heard.add(changed);
      return () => void heard.delete(changed);
    },
  };
}

function requesting(good: JournalStore, change: (good: RunRequests) => Partial<RunRequests>): RunRequests {
  const { requests } = good;
  if (requests === undefined) throw new Error('no requests');
  return { ...requests, ...change(requests) };
}

/** What nobody has answered is answered by the next that serves. */
function keptRequests(good: JournalStore): RunRequests {
  const kept: JsonObject[] = [];
  return requesting(good, ({ ask, serve }) => ({
    ask: async (runId, request, ms) => {
      const answer = await ask(runId, request, ms);
      if (answer === null) kept.push(request);
      return answer;
    },
    serve: (runId, answer) => {
      for (const request of kept.splice(0)) void answer(request);
      return serve(runId, answer);
    },
  }));
}

function lastSecrets(): Partial<JournalStore> {
  const kept = new Map<string, Readonly<Record<string, string>>>();
  return { secrets: { keep: (runId, more) => void kept.set(runId, more), read: (runId) => kept.get(runId) ?? {} } };
}

function everSecrets(): Partial<JournalStore> {
  const kept = new Map<string, Readonly<Record<string, string>>>();
  const keep = (runId: string, more: Readonly<Record<string, string>>) =>
    void kept.set(runId, { ...kept.get(runId), ...more });
  return { secrets: { keep, read: (runId) => kept.get(runId) ?? {} } };
}

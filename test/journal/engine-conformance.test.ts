import { join } from 'node:path';
import { expect, test } from 'vitest';
import { assertEngineConformance, inTime } from '../../src/journal/conformance/assert-conformance.ts';
import { engineRules } from '../../src/journal/conformance/engine-rules.ts';
import { LostAttempt, type TestedEngine } from '../../src/journal/conformance/tested-engine.ts';
import { sampleHead } from '../../src/journal/conformance/sample-run.ts';
import { continuedJournal } from '../../src/journal/replay/continued-journal.ts';
import { liveJournal } from '../../src/journal/run/live-journal.ts';
import type { JournalStore, RunJournal } from '../../src/journal/run/run-journal.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Our own journals over a store as an engine: a lost attempt gives its run up, and the next one takes it. */
function engineOver(
  store: JournalStore,
  changed: (journal: RunJournal) => RunJournal = (journal) => journal,
  keepsTimers = true,
): TestedEngine {
  const open = new Map<string, PromiseWithResolvers<RunJournal>>();
  const ended = new Set<string>();
  const journalOf = (runId: string): PromiseWithResolvers<RunJournal> => {
    const there = open.get(runId) ?? Promise.withResolvers<RunJournal>();
    open.set(runId, there);
    return there;
  };
  const resumed = async (runId: string): Promise<RunJournal> => {
    const taken = await store.take?.(runId);
    if (taken == null) throw new Error('it was not kept');
    const { recording: past, sink } = taken;
    return continuedJournal({
      past,
      state: () => 'any',
      kind: 'resumed',
      goOn: ({ open: begun, ...carried }) => {
        const anew = begun.map(({ effect, perform }) => ({ effect, perform }));
        const own = { ...carried, open: keepsTimers ? begun : anew };
        return liveJournal({ head: past.head, accepts: () => true, carried: own }, sink);
      },
      onLive: () => undefined,
    });
  };
  return {
    run: async (runId, body) => {
      let journal = store.open({ head: sampleHead(runId), accepts: () => true });
      for (;;) {
        journal = changed(journal);
        journalOf(runId).resolve(journal);
        try {
          const output = await body(journal);
          ended.add(runId);
          return output;
        } catch (error) {
          if (!(error instanceof LostAttempt)) throw error;
          open.delete(runId);
          await journal.abandon?.();
          journal = await resumed(runId);
        }
      }
    },
    send: async (runId, event) => {
      // An attempt that is lost takes nothing any more: the next one does.
      for (;;) {
        const { promise } = journalOf(runId);
        if (await (await promise).send(event)) return true;
        if (ended.has(runId)) return false;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  };
}

const KEPT = [
  'launch-in-next',
  'order-of-entries',
  'effects-in-flight',
  'closed-effects',
  'timers',
  'outside-events',
  'large-results',
];

test.concurrent.each(['memory', 'file', 'sqlite'])(
  'the live journal over %s keeps the rules of an engine',
  async (kind) => {
    await using folder = await temporaryFolder();
    const stores: Readonly<Record<string, () => JournalStore>> = {
      memory: () => memoryJournal(),
      file: () => fileJournal(folder.path),
      sqlite: () => sqliteJournal(join(folder.path, 'runs.sqlite')),
    };
    const report = await assertEngineConformance(engineOver(stores[kind]?.() ?? memoryJournal()));
    expect(report).toEqual({ kept: KEPT, skipped: ['cancel'] });
  },
);

type Wrong = (journal: RunJournal) => RunJournal;

/** Journals that break one rule each. */
const WRONG: readonly (readonly [rule: string, how: string, wrong: Wrong])[] = [
  [
    'launch-in-next',
    'launches at once',
    (journal) => ({
      ...journal,
      open: (effect, perform) => {
        const done = perform({ signal: new AbortController().signal, idempotencyKey: '', note: () => undefined });
        journal.open(effect, () => done);
      },
    }),
  ],
  ['launch-in-next', 'launches what was closed', (journal) => ({ ...journal, close: () => undefined })],
  [
    'order-of-entries',
    'has a clock of its own',
    (journal) => ({ ...journal, at: () => Math.round(performance.now()) }),
  ],
  [
    'order-of-entries',
    'has a clock that begins with each attempt',
    (journal) => {
      const begun = performance.now();
      return { ...journal, at: () => Math.round(performance.now() - begun) };
    },
  ],
];

/** Journals that break a rule so that it waits for ever. */
const WAITING: typeof WRONG = [
  [
    'effects-in-flight',
    'takes every effect for one that can be repeated',
    (journal) => ({ ...journal, open: (effect, perform) => journal.open({ ...effect, effects: 'none' }, perform) }),
  ],
  [
    'outside-events',
    'says that events are taken that are not',
    (journal) => ({ ...journal, send: async (...said) => (await journal.send(...said)) || true }),
  ],
];

test.concurrent.each(WRONG)('the rule %s finds a journal that %s', async (rule, _how, wrong) => {
  const broken = assertEngineConformance(engineOver(memoryJournal(), wrong));
  await expect(broken).rejects.toMatchObject({ code: 'not-conformant', rule });
});

// The limit is over what waits for ever, and over no rule that only takes its time.
test.concurrent.each(WAITING)('the rule %s finds a journal that %s', async (rule, _how, wrong) => {
  const waiting = inTime(rule, 3000, async () => engineRules[rule]?.(engineOver(memoryJournal(), wrong), 'run'));
  await expect(waiting).rejects.toMatchObject({ code: 'not-conformant', rule });
});

test.concurrent('the rule timers finds an engine that begins timers anew', async () => {
  const anew = engineOver(memoryJournal(), (journal) => journal, false);
  await expect(assertEngineConformance(anew)).rejects.toMatchObject({ code: 'not-conformant', rule: 'timers' });
});

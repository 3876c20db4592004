import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { RecordLine } from '../../src/journal/format/record.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { transitions } from '../../src/journal/replay/replay.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { type WholeStore, answered, interrupted, recordsOf, taken, waiting, whole } from './stored-runs.ts';

/** A store under test; disposing it removes what it has kept. */
export interface TestedStore extends AsyncDisposable {
  readonly store: JournalStore;
}

/** What holds of every store of runs. */
export function storeContract(name: string, make: () => TestedStore | Promise<TestedStore>): void {
  describe(`${name} keeps runs`, () => {
    test('a run that ended is read as it was recorded', async () => {
      await using tested = await make();
      const run = await answered(tested.store, 'one');
      expect(withoutTimes(await recordsOf(tested.store, 'one'))).toEqual(withoutTimes(linesOf(run.recording)));
      expect(transitions([...(await recordsOf(tested.store, 'one'))])).toEqual(run.moves);
    });

    test('a run has another revision with each record, and when it was removed and made anew', async () => {
      await using tested = await make();
      const { store } = tested;
      const revisions = [];
      for (const _ of ['once', 'again']) {
        const { run } = await waiting(store, 'one');
        revisions.push(await store.revision?.('one'));
        await run.reject('c1', 'no');
        await run;
        revisions.push(await store.revision?.('one'));
        expect(await store.revision?.('one')).toBe(revisions.at(-1));
        await store.remove?.('one');
        expect(await store.revision?.('one')).toBeNull();
      }
      expect(new Set(revisions).size).toBe(4);
      expect(revisions).not.toContain(null);
    });

    test('a name is had by one at a time, is free when it was given back, and is no run', async () => {
      await using tested = await make();
      const store = whole(tested.store);
      const [first, second] = await Promise.all([store.claim('a name'), store.claim('a name')]);
      expect([first, second].filter((one) => one === null)).toHaveLength(1);
      const other = await store.claim('another name');
      expect(other).not.toBeNull();
      expect(await store.list()).toEqual([]);
      await (first ?? second)?.();
      await (
        await store.claim('a name')
      )?.();
      await other?.();
      expect(await store.list()).toEqual([]);
    });

    test('a name of any signs is had by one at a time, as any other', async () => {
      await using tested = await make();
      const store = whole(tested.store);
      for (const odd of ['nul \0 in it', 'half \ud800 of a sign']) {
        const free = await store.claim(odd);
        expect(await store.claim(odd)).toBeNull();
        await free?.();
        await (
          await store.claim(odd)
        )?.();
      }
    });

    test('a conversation of any name has its runs, and no other has them', async () => {
      await using tested = await make();
      const { store } = tested;
      const agent = createAgent({ model: scriptedModel(Array(16).fill('Hello.')), journal: store, silent: true });
      const odd = ['nul \0 in it', 'nul \ufffd in it', 'half \ud800', 'half \udc00', '%', '_', "'; --", '../up'];
      for (const id of odd) expect(await agent.conversation(id).run('Hi')).toMatchObject({ status: 'answered' });
      for (const id of odd) {
        const runs = await store.list?.({ metadata: { conversation: id } });
        expect(runs?.map(({ metadata }) => metadata['conversation'])).toEqual([id]);
      }
    });

    test('a run that is not there is null to read and take, and false to remove', async () => {
      await using tested = await make();
      const store = whole(tested.store);
      expect(await store.read('none')).toBeNull();
      expect(await store.take('none')).toBeNull();
      expect(await store.remove('none')).toBe(false);
      expect(await store.list()).toEqual([]);
    });

    test('the list says how a run ended, with what, and what it was asked', async () => {
      await using tested = await make();
      await answered(tested.store, 'one');
      expect(await whole(tested.store).list()).toEqual([
        {
          runId: 'one',
          agent: 'clock',
          at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
          input: 'What time is it?',
          state: 'ended',
          status: 'answered',
          reason: 'answer',
          errorCode: null,
          toolsUsed: ['clock'],
          steps: 2,
          records: 8,
          metadata: { ticket: 17 },
        },
      ]);
    });

    test('the newest run comes first, and a limit takes the newest', async () => {
      await using tested = await make();
      for (const runId of ['a', 'b', 'c']) {
        // One after the other, at different times.
        await answered(tested.store, runId);
        await nextMillisecond();
      }
      const { list } = whole(tested.store);
      expect((await list()).map(({ runId }) => runId)).toEqual(['c', 'b', 'a']);
      expect((await list({ limit: 2 })).map(({ runId }) => runId)).toEqual(['c', 'b']);
    });

    test('a long list comes in pages, each of which begins behind the last run of the one before', async () => {
      await using tested = await make();
      // Two at once may have the same time: then the id decides.
      await Promise.all(['a', 'b', 'c', 'd', 'e'].map((runId) => answered(tested.store, runId)));
      const { list } = whole(tested.store);
      const all = (await list()).map(({ runId }) => runId);
      const pages: string[][] = [];
      let after: Awaited<ReturnType<WholeStore['list']>>[number] | undefined;
      do {
        const page = await list({ limit: 2, after });
        pages.push(page.map(({ runId }) => runId));
        after = page.at(-1);
      } while (after !== undefined && pages.length < 9);
      expect(pages).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4), []]);
    });

    test('runs are found by what their metadata holds', async () => {
      await using tested = await make();
      await answered(tested.store, 'one', { name: 'shop' });
      await interrupted(tested.store, 'none');
      const found = async (metadata: JsonObject) =>
        (await whole(tested.store).list({ metadata })).map(({ runId }) => runId).toSorted();
      expect(await found({ ticket: 17 })).toEqual(['one']);
      expect(await found({ ticket: '17' })).toEqual([]);
      expect(await found({ ticket: 17, user: 'ada' })).toEqual([]);
      expect(await found({})).toEqual(['none', 'one']);
      const { list } = whole(tested.store);
      expect(await list({ metadata: { ticket: 17 }, agent: 'clock' })).toEqual([]);
      expect(await list({ metadata: { ticket: 17 }, limit: 1 })).toHaveLength(1);
    });

    test('runs are found by agent, state, status, reason, tool and error code', async () => {
      await using tested = await make();
      await answered(tested.store, 'good');
      await answered(tested.store, 'bad', { model: scriptedModel([new Error('no'), new Error('no')]), name: 'other' });
      await interrupted(tested.store, 'cut');
      const found = async (query: Parameters<WholeStore['list']>[0]) =>
        (await whole(tested.store).list(query)).map(({ runId }) => runId).toSorted();
      expect(await found({})).toEqual(['bad', 'cut', 'good']);
      expect(await found({ agent: 'other' })).toEqual(['bad']);
      expect(await found({ state: 'ended' })).toEqual(['bad', 'good']);
      expect(await found({ state: 'waiting' })).toEqual(['cut']);
      expect(await found({ state: 'running' })).toEqual([]);
      expect(await found({ status: 'failed' })).toEqual(['bad']);
      expect(await found({ reason: 'answer' })).toEqual(['good']);
      expect(await found({ tool: 'clock' })).toEqual(['good']);
      expect(await found({ errorCode: 'model-error' })).toEqual(['bad']);
      expect(await found({ errorCode: 'model-error', agent: 'clock' })).toEqual([]);
      expect(await found({ tool: 'clock', limit: 0 })).toEqual([]);
    });

    test('a second run of the same id is refused, and the first is untouched', async () => {
      await using tested = await make();
      const first = await answered(tested.store, 'one');
      const second = await answered(tested.store, 'one');
      expect(second.result.error?.message).toContain('There is a run one');
      expect((await recordsOf(tested.store, 'one')).length).toBe(linesOf(first.recording).length);
    });

    test('while a run is being written nobody else may take or remove it', async () => {
      await using tested = await make();
      const { run } = await waiting(tested.store, 'live');
      const store = whole(tested.store);
      await expect(store.take('live')).rejects.toMatchObject({ name: 'JournalError', code: 'run-locked' });
      await expect(store.remove('live')).rejects.toMatchObject({ code: 'run-locked', runId: 'live' });
      expect(await store.list()).toMatchObject([{ runId: 'live', state: 'running', status: null, steps: 1 }]);
      await run.cancel('enough');
      await run;
      expect(await store.list()).toMatchObject([{ state: 'ended', status: 'cancelled' }]);
      expect(await store.remove('live')).toBe(true);
      expect(await store.read('live')).toBeNull();
    });

    test('a run that was given up is taken once, written on at its end, and given back', async () => {
      await using tested = await make();
      await interrupted(tested.store, 'cut');
      const before = await recordsOf(tested.store, 'cut');
      const { recording, sink } = await taken(tested.store, 'cut');
      expect([recording.head, ...recording.lines]).toEqual(before);
      await expect(whole(tested.store).take('cut')).rejects.toMatchObject({ code: 'run-locked' });
      expect(await whole(tested.store).list()).toMatchObject([{ state: 'running' }]);
      const note = { t: 'note', at: 1, note: { said: 'again' } } as const;
      await sink.append([note]);
      await sink.close();
      expect(await recordsOf(tested.store, 'cut')).toEqual([...before, note]);
      const again = await taken(tested.store, 'cut');
      await again.sink.append([{ t: 'end', at: 2, output: { status: 'stopped', reason: 'timeout', stepsTaken: 7 } }]);
      await again.sink.close();
      expect(await whole(tested.store).list()).toMatchObject([
        { state: 'ended', status: 'stopped', reason: 'timeout', steps: 7, records: before.length + 2 },
      ]);
    });

    test('an answered approval is waited for no more', async () => {
      await using tested = await make();
      await interrupted(tested.store, 'cut');
      const { recording, sink } = await taken(tested.store, 'cut');
      const asking = recording.lines.find((record) => record.t === 'start' && record.name === 'askApproval');
      const id = asking?.t === 'start' ? asking.id : '';
      const to = id.slice(0, id.lastIndexOf('/'));
      await sink.append([{ t: 'event', at: 9, event: { type: 'approval.given' }, to }]);
      await sink.close();
      expect(await whole(tested.store).list()).toMatchObject([{ state: 'interrupted' }]);
    });

    test('secrets are kept by run, added to, and forgotten when the run ends or is removed', async () => {
      await using tested = await make();
      const { secrets, remove } = whole(tested.store);
      const { run } = await waiting(tested.store, 'live');
      secrets.keep('live', { '«secret:1»': 'first-key' });
      secrets.keep('live', { '«secret:2»': 'second-key' });
      expect(secrets.read('live')).toEqual({ '«secret:1»': 'first-key', '«secret:2»': 'second-key' });
      expect(secrets.read('other')).toEqual({});
      expect(JSON.stringify(await recordsOf(tested.store, 'live'))).not.toContain('first-key');
      await run.cancel();
      await run;
      expect(secrets.read('live')).toEqual({});
      await interrupted(tested.store, 'cut');
      secrets.keep('cut', { '«secret:1»': 'first-key' });
      await remove('cut');
      expect(secrets.read('cut')).toEqual({});
    });

    test('a run with a long answer is listed as any other, and its conversation goes on from it', async () => {
      await using tested = await make();
      const long = 'word '.repeat(4000);
      const model = scriptedModel([long, 'Yes.']);
      const agent = createAgent({ model, silent: true, journal: tested.store });
      const { runId } = await agent.conversation('talk').run('Tell me all.');
      expect(await whole(tested.store).list()).toMatchObject([{ runId, state: 'ended', status: 'answered', steps: 1 }]);
      expect((await agent.conversation('talk').run('Is that all?')).result).toBe('Yes.');
      expect(JSON.stringify(model.requests.at(-1))).toContain(long);
      expect(await whole(tested.store).list()).toHaveLength(2);
    });

    test('a large result comes back whole, also in a run that is taken', async () => {
      await using tested = await make();
      const large = 'x'.repeat(50_000);
      await answered(tested.store, 'large', {
        tools: [fakeTool('clock', [{ text: large, again: [large] }])],
        maxSteps: 3,
      });
      const records = await recordsOf(tested.store, 'large');
      const outcome = records.find((record) => record.t === 'outcome' && record.id.includes('callTool'));
      expect(outcome).toMatchObject({ value: { data: { text: large, again: [large] } } });
      const { recording, sink } = await taken(tested.store, 'large');
      await sink.close();
      expect([recording.head, ...recording.lines]).toEqual(records);
    });
  });
}

function linesOf(text: string): readonly RecordLine[] {
  const { head, lines } = readRecording(text);
  return [head, ...lines];
}

function withoutTimes(records: readonly RecordLine[]): readonly RecordLine[] {
  return records.map((record) => (record.t === 'run' ? record : { ...record, at: 0 }));
}

async function nextMillisecond(): Promise<void> {
  const now = Date.now();
  while (Date.now() === now) await new Promise((resolve) => setImmediate(resolve));
}

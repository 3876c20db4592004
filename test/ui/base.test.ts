import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lineNumber, readRecording } from '../../src/journal/format/recording.ts';
import { type Model, createAgent, tool } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { type EventGroup, GroupPlayer } from '../../src/ui/base/event-groups.ts';
import { type GroupBatch, followGroups } from '../../src/ui/base/follow-groups.ts';
import { conversationId, isOwnedBy, lastRunOf, newChatId, ownedHead } from '../../src/ui/base/owned-runs.ts';
import { begun, runFeed } from '../../src/ui/base/run-feed.ts';
import { readPosition, sseText, sseTextAfter } from '../../src/ui/base/sse.ts';
import { until } from './chat-tabs.ts';

const RECORDINGS = readdirSync('test/recordings').filter((file) => file.endsWith('.jsonl'));

test.each(RECORDINGS)('%s gives the events of its run, in groups that rise', (file) => {
  const recording = readRecording(readFileSync(`test/recordings/${file}`, 'utf8'));
  const player = new GroupPlayer();
  const groups: EventGroup[] = [];
  for (const [index, line] of [recording.head, ...recording.lines].entries()) {
    const group = player.feed({ number: index === 0 ? 1 : lineNumber(recording, index - 1), line });
    if (group !== null) groups.push(group);
  }
  expect(player.standing.problem).toBeNull();
  expect(player.standing.isOver).toBe(true);
  const positions = groups.map(({ position }) => position);
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  const events = groups.flatMap((group) => group.events);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(-1)?.type).toBe('run.finished');
});

const wipe = tool({ name: 'wipe', description: 'Wipes.', policy: 'confirm', effects: 'once', execute: () => 'wiped' });

test('groups of a run that goes on are those of the same run read later, and it says when only people are waited for', async () => {
  const journal = memoryJournal();
  const model = scriptedModel([{ content: '', toolCalls: [{ name: 'wipe', arguments: {} }] }, 'Done.']);
  const agent = createAgent({ model, tools: [wipe], silent: true, confirm: 'wait', journal });
  const run = agent.run('Wipe it.');
  expect(await begun(journal, run.runId, () => true)).toBe(true);
  const live: EventGroup[] = [];
  const signal = new AbortController().signal;
  for await (const { groups, run: stands } of followGroups(journal, run.runId, { signal, everyMs: 5 })) {
    live.push(...groups);
    if (stands.isWaiting) expect(await agent.approve(run.runId, run.pending[0]?.callId ?? '')).toBe(true);
  }
  const later: EventGroup[] = [];
  for await (const { groups } of followGroups(journal, run.runId, { signal })) later.push(...groups);
  expect(JSON.stringify(live)).toBe(JSON.stringify(later));
  const own: string[] = [];
  for await (const { type } of run) if (type !== 'model.token') own.push(type);
  expect(live.flatMap(({ events }) => events.map(({ type }) => type))).toEqual(own);
});

test('what a slow reader receives late says how the run stood behind it, and nothing is left out', async () => {
  const journal = memoryJournal();
  const script = scriptedModel([{ content: '', toolCalls: [{ name: 'wipe', arguments: {} }] }, 'Done.']);
  const model: Model = {
    complete: async (request, io) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return script.complete(request, io);
    },
  };
  const agent = createAgent({ model, tools: [wipe], silent: true, confirm: 'wait', journal });
  const run = agent.run('Wipe it.');
  expect(await begun(journal, run.runId, () => true)).toBe(true);
  const reader = followGroups(journal, run.runId, { signal: new AbortController().signal, everyMs: 1 });
  const types: string[] = [];
  let coming = reader.next();
  let wasFinished = false;
  for (let isOver = false; !isOver;) {
    const next = await coming;
    if (next.done === true) throw new Error('it ended before the run');
    coming = reader.next();
    // Read late: the run has gone on meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 60));
    const { groups, run: stands } = next.value;
    types.push(...groups.flatMap(({ events }) => events.map(({ type }) => type)));
    isOver = stands.isOver;
    // The end is a record of its own, which may be read one batch after the record that finished the run.
    const isFinished = types.at(-1) === 'run.finished';
    expect(isOver ? isFinished : !wasFinished).toBe(true);
    wasFinished = isFinished;
    if (stands.isWaiting) await agent.approve(run.runId, run.pending[0]?.callId ?? '');
  }
  expect((await coming).done).toBe(true);
  const own: string[] = [];
  for await (const { type } of run) if (type !== 'model.token') own.push(type);
  expect(types).toEqual(own);
});

test('who comes back to a run reads its records again only where there are more, and a run that replaced it from its beginning', async () => {
  const kept = memoryJournal();
  let reads = 0;
  const journal = {
    ...kept,
    read: async (runId: string) => {
      reads += 1;
      return (await kept.read?.(runId)) ?? null;
    },
  };
  const model = scriptedModel([{ content: '', toolCalls: [{ name: 'wipe', arguments: {} }] }, { content: 'Wiped.' }]);
  const agent = createAgent({ model, tools: [wipe], silent: true, confirm: 'wait', journal });
  const run = agent.run('Wipe it.');
  while (run.pending.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const { signal } = new AbortController();
  const look = async () => {
    const types: string[] = [];
    const gone = new AbortController();
    for await (const batch of followGroups(journal, run.runId, { signal: gone.signal })) {
      types.push(...batch.groups.flatMap(({ events }) => events.map(({ type }) => type)));
      if (batch.isWhole) gone.abort();
    }
    return types;
  };
  const waiting = await look();
  expect(waiting.at(-1)).toBe('approval.requested');
  reads = 0;
  expect(await look()).toEqual(waiting);
  expect(reads).toBe(0);
  await agent.approve(run.runId, run.pending[0]?.callId ?? '');
  await run;
  const whole = await look();
  expect(whole.slice(0, waiting.length)).toEqual(waiting);
  expect(whole.at(-1)).toBe('run.finished');
  reads = 0;
  expect(await look()).toEqual(whole);
  expect(reads).toBe(0);
  // It is forgotten, and another one is begun under its id.
  await kept.remove?.(run.runId);
  const other = createAgent({ model: scriptedModel([{ content: 'No.' }]), silent: true, journal: kept });
  await other.run('Another.', { runId: run.runId });
  const again: string[] = [];
  for await (const { groups } of followGroups(journal, run.runId, { signal }))
    again.push(...groups.flatMap(({ events }) => events.map(({ type }) => type)));
  expect(again).not.toContain('approval.requested');
  expect(again.at(-1)).toBe('run.finished');
});

test('what a model says is read along behind the place where its run was let go', async () => {
  let asked = 0;
  const model: Model = {
    complete: async (_request, { onToken, signal }) => {
      onToken?.({ kind: 'text', text: 'Wiped.' });
      if (asked++ === 0)
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return { content: 'Wiped.' };
    },
  };
  const journal = memoryJournal();
  const agent = createAgent({ model, silent: true, streaming: true, recordTokens: true, journal });
  const run = agent.run('Wipe it.');
  await until(() => asked === 1);
  expect(await run.release()).toBe(true);
  await agent.resume(run.runId);
  const recording = readRecording((await agent.recording(run.runId)) ?? '');
  expect(recording.lines.map(({ t }) => t).join(' ')).toContain('restart note outcome');
  const player = new GroupPlayer();
  for (const [at, line] of [recording.head, ...recording.lines].entries()) player.feed({ number: at + 1, line });
  expect(player.standing).toMatchObject({ problem: null, path: 'COMPLETION' });
});

test('a look at the journal that is overtaken by a later one takes nothing back, for any reader', async () => {
  const recording = readRecording(readFileSync(`test/recordings/${RECORDINGS[0]}`, 'utf8'));
  const { length } = recording.lines;
  const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let [written, reads, isHeld, isRead] = [2, 0, false, false];
  let change = (): void => undefined;
  const journal = {
    read: async () => {
      const now = { ...recording, lines: recording.lines.slice(0, written) };
      reads += 1;
      if (isHeld) {
        isHeld = false;
        asked.resolve();
        await held.promise;
      }
      return now;
    },
    changes: (_: string, told: () => void) => {
      change = told;
      return () => undefined;
    },
  };
  const signal = new AbortController().signal;
  const batches: GroupBatch[][] = [[], []];
  const [first, second] = batches.map(async (all) => {
    if (all === batches[1]) await until(() => reads === 2 && batches[0]?.at(-1)?.isWhole === true);
    isHeld = all === batches[1];
    for await (const batch of followGroups(journal, 'any', { signal, everyMs: 1 })) all.push(batch);
  });
  // The second reader asks the journal, and gets its answer when the first has received more.
  await asked.promise;
  written = length - 2;
  await until(() => (change(), batches[0]?.at(-1)?.run.position === length - 1));
  held.resolve();
  await until(() => batches[1]?.length !== 0);
  written = length;
  const both = Promise.all([first, second]).then(() => (isRead = true));
  await until(() => (change(), isRead));
  await both;
  for (const all of batches) {
    expect(all.at(-1)?.run).toMatchObject({ problem: null, isOver: true });
    const seqs = all.flatMap(({ groups }) => groups.flatMap(({ events }) => events.map(({ seq }) => seq)));
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  }
});

test('a long run is played in parts, and others have their turn between them', async () => {
  const journal = memoryJournal();
  const calls = 100;
  const model = scriptedModel([
    ...Array.from({ length: calls }, (_, n) => ({ content: '', toolCalls: [{ name: 'look', arguments: { n } }] })),
    { content: '', toolCalls: [{ name: 'wipe', arguments: {} }] },
  ]);
  const look = tool({ name: 'look', description: 'Looks.', effects: 'none', execute: () => 'seen' });
  const agent = createAgent({
    model,
    tools: [look, wipe],
    maxSteps: calls + 2,
    silent: true,
    confirm: 'wait',
    journal,
  });
  const run = agent.run('Look, then wipe.');
  while (run.pending.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const batches: GroupBatch[] = [];
  const gone = new AbortController();
  for await (const batch of followGroups(journal, run.runId, { signal: gone.signal })) {
    batches.push(batch);
    if (batch.run.isWaiting) gone.abort();
  }
  clearInterval(timer);
  expect(batches.length).toBeGreaterThan(1);
  expect(turns).toBeGreaterThan(0);
  const positions = batches.map((batch) => batch.run.position);
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  for (const { groups, run: stands } of batches)
    expect(groups.at(-1)?.position ?? 0).toBeLessThanOrEqual(stands.position);
  await agent.cancel(run.runId);
  await run;
});

test('a reader gets what the model says between the groups, with the number of the event before it', async () => {
  const journal = memoryJournal();
  const words = ['One ', 'two ', 'three ', 'four.'];
  const model: Model = {
    complete: async (_request, { onToken }) => {
      for (const text of words) {
        onToken?.({ kind: 'text', text });
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      return { content: words.join('') };
    },
  };
  const agent = createAgent({ model, silent: true, streaming: true, journal });
  const run = agent.run('Count.');
  expect(await begun(journal, run.runId, () => true)).toBe(true);
  let seq = 0;
  const said: string[] = [];
  for await (const fed of runFeed(journal, run.runId, { signal: new AbortController().signal, everyMs: 5 })) {
    if (fed.kind === 'batch') seq = fed.batch.groups.at(-1)?.events.at(-1)?.seq ?? seq;
    if (fed.kind === 'text' && fed.text.seq === seq) said.push(fed.text.answer);
  }
  expect(said.length).toBeGreaterThan(1);
  for (const text of said) expect(words.join('').startsWith(text)).toBe(true);
});

test('a client that names any id receives exactly what follows it', () => {
  const group = { position: 12, data: [{ a: 'x\n\ny' }, { b: 2 }, { c: 3 }] };
  const whole = sseText(group);
  const messages = whole.split('\n\n').filter((text) => text !== '');
  for (const [index, message] of messages.entries()) {
    const at = readPosition(/^id: (.*)$/m.exec(message)?.[1] ?? '');
    expect(at).not.toBeNull();
    if (at === null) continue;
    expect(
      messages
        .slice(0, index + 1)
        .map((text) => `${text}\n\n`)
        .join('') + sseTextAfter(group, at),
    ).toBe(whole);
  }
  expect(sseTextAfter(group, { line: 11, messages: null })).toBe(whole);
  expect(sseTextAfter(group, { line: 13, messages: null })).toBe('');
  for (const wrong of ['', 'x', '1.x', '-1', '1e3', '99999999999999999']) expect(readPosition(wrong)).toBeNull();
});

test('a run of another owner is as if it were not there, and without an owner only ids count that nobody guesses', async () => {
  const journal = memoryJournal();
  const agent = createAgent({ model: scriptedModel(['Hi.', 'Hi.', 'Hi.']), silent: true, journal });
  const run = agent.conversation(conversationId('trip', 'ada') ?? '', { owner: 'ada' }).run('Hello');
  await run;
  expect((await lastRunOf(journal, 'trip', 'ada'))?.runId).toBe(run.runId);
  expect((await ownedHead(journal, run.runId, 'ada'))?.runId).toBe(run.runId);
  for (const other of ['alan', undefined, '']) {
    expect(await lastRunOf(journal, 'trip', other)).toBeNull();
    expect(await ownedHead(journal, run.runId, other)).toBeNull();
  }
  expect(conversationId('trip', undefined)).toBeNull();
  expect(conversationId('b', 'a/x')).not.toBe(conversationId('x/b', 'a'));
  const chat = newChatId();
  expect(conversationId(chat, undefined)).toBe(chat);
  expect(isOwnedBy({ runId: 'mine', metadata: {} })).toBe(false);
  const open = agent.run('Hello');
  await open;
  expect((await ownedHead(journal, open.runId))?.runId).toBe(open.runId);
  expect(await ownedHead(journal, open.runId, 'ada')).toBeNull();
});

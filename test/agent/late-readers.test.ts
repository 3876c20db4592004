import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { Run } from '../../src/agent/run/run.ts';
import { RunReaders } from '../../src/agent/run/run-reader.ts';
import { RunWatch } from '../../src/agent/run/run-watch.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { recorder } from '../../src/journal/format/recorder.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { recover } from '../../src/recovery/recover.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';
import { cases } from '../support/soak.ts';
import { type Script, modelOf, scripts, toolsOf } from '../property/agent-scripts.ts';

/** Without what differs from run to run: times, and the id of the run. */
const plain = (events: readonly RunEvent[]): unknown =>
  JSON.parse(JSON.stringify(events, (key, value) => (key === 'durationMs' || key === 'runId' ? null : value)));

async function eventsOf(run: Run): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

function agentOf({ replies, options, approvals }: Script, more: AgentOptions = {}) {
  let asked = 0;
  return createAgent({
    ...options,
    ...more,
    model: modelOf(replies),
    tools: toolsOf({ executed: [], allowed: new Set() }),
    permissions: { isAlwaysAllowed: () => false, add: () => undefined },
    confirm: () => (approvals[asked++ % approvals.length] === 'allow-once' ? 'allow-once' : 'deny'),
    retry: { backoff: { kind: 'constant', ms: 0 } },
    seed: 1,
    silent: true,
  });
}

test('whoever comes late gets the events and transitions that a listener got, live and replayed', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async (script) => {
      const heard: RunEvent[] = [];
      const listened = agentOf(script, { onEvent: (event) => void heard.push(event) }).run('Do something');
      await listened;
      const late = agentOf(script).run('Do something');
      await late;
      expect(plain(await eventsOf(late))).toEqual(plain(heard));
      expect(late.transitions()).toEqual(listened.transitions());
      expect(plain(await eventsOf(listened))).toEqual(plain(heard));

      const early = replay(late.recording(), agentOf(script));
      const fromTheBeginning = eventsOf(early);
      const afterwards = replay(late.recording(), agentOf(script));
      await afterwards;
      expect(await eventsOf(afterwards)).toEqual(await fromTheBeginning);
      expect(afterwards.transitions()).toEqual(early.transitions());
    }),
    { seed: 20_261_122, numRuns: cases(30, 600), endOnFailure: false },
  );
});

/** A tool that tells when it was called, and waits. */
function gate() {
  const called = Promise.withResolvers<undefined>();
  const released = Promise.withResolvers<undefined>();
  const wait = tool({
    name: 'wait',
    description: 'Waits.',
    policy: 'allow',
    execute: async () => {
      called.resolve(undefined);
      await released.promise;
      return 'over';
    },
  });
  return { wait, called: called.promise, release: () => released.resolve(undefined) };
}

const waiting = () => [calls(['wait']), 'Done, in three words'];

test.for([
  ['events', 'transitions'],
  ['transitions', 'events'],
] as const)(
  'whoever comes in the middle of a call (%s first) gets all from the beginning and to the end',
  async (order) => {
    const { wait, called, release } = gate();
    const agent = createAgent({ model: scriptedModel(waiting()), tools: [wait], streaming: true, silent: true });
    const run = agent.run('Wait');
    await called;
    let events: Promise<readonly RunEvent[]> | undefined;
    for (const what of order) {
      if (what === 'events') events = eventsOf(run);
      else expect(run.transitions().at(-1)).toMatchObject({ to: 'RUNNING' });
    }
    await new Promise((resolve) => setTimeout(resolve, 60));
    release();
    await run;
    const took = ((await events) ?? []).find((event) => event.type === 'tool.finished');
    expect(took?.durationMs).toBeGreaterThanOrEqual(40);

    const other = gate();
    const heard: RunEvent[] = [];
    const listened = createAgent({
      model: scriptedModel(waiting()),
      tools: [other.wait],
      streaming: true,
      silent: true,
      onEvent: (event) => void heard.push(event),
    });
    other.release();
    const same = listened.run('Wait');
    await same;
    expect(plain((await events) ?? [])).toEqual(plain(heard));
    const third = gate();
    const unheard = createAgent({
      model: scriptedModel(waiting()),
      tools: [third.wait],
      streaming: true,
      silent: true,
    });
    third.release();
    const afterwards = unheard.run('Wait');
    await afterwards;
    expect(plain(await eventsOf(afterwards))).toEqual(plain(heard));
    expect(heard.filter(({ type }) => type === 'model.token').length).toBeGreaterThan(1);
    expect(run.transitions()).toEqual(same.transitions());
  },
);

test('a late reader repeats no call, and waits for no time', async () => {
  let times = 0;
  const count = tool({
    name: 'count',
    description: 'Counts.',
    policy: 'allow',
    execute: () => {
      times += 1;
      throw new Error('no');
    },
    onError: { executionError: recover.retry({ maxAttempts: 2, backoff: recover.constant(30) }) },
  });
  const model = scriptedModel([calls(['count']), 'Done']);
  const run = createAgent({ model, tools: [count], silent: true }).run('Count');
  await run;
  const before = times;
  const began = performance.now();
  const events = await eventsOf(run);
  expect(performance.now() - began).toBeLessThan(1000);
  expect(times).toBe(before);
  expect(events.at(-1)).toMatchObject({ type: 'run.finished', replayed: false });
});

test('a run that failed by its journal, or never began, says so to whoever comes late', async () => {
  const full = (): never => {
    throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  };
  const agent = createAgent({ model: scriptedModel(['Hello']), silent: true, journal: { open: full } });
  const run = agent.run('Hello');
  const result = await run;
  const events = await eventsOf(run);
  expect(events).toMatchObject([{ type: 'run.finished', seq: 1, result: { status: 'failed' } }]);
  expect(result.error?.code).toBe('ENOSPC');
  expect(run.transitions()).toEqual([]);
});

test('a replay that diverges ends a late iteration with its error', async () => {
  const run = createAgent({ model: scriptedModel(['Hello']), silent: true }).run('Hello');
  await run;
  const other = createAgent({ model: scriptedModel(['Hello']), instructions: 'Other.', silent: true });
  const wrong = run.recording().replace('"content":"Hello"}]', '"content":"Hullo"}]');
  const replayed = replay(wrong, other);
  await expect(replayed).rejects.toThrow();
  await expect(eventsOf(replayed)).rejects.toThrow();
});

test('nothing is inspected while nobody listens, and everything from the beginning once somebody does', () => {
  const plan = { run: { runId: 'r', task: '', given: {} }, replayed: () => false, onEvent: undefined };
  const head = readRecording(readFileSync(new URL('../recordings/plain-answer.jsonl', import.meta.url), 'utf8')).head;
  expect(new RunReaders(plan, new RunWatch()).begin(head, recorder(head))).toBeUndefined();
  const heard = new RunReaders(plan, new RunWatch());
  heard.reader();
  expect(heard.begin(head, recorder(head))).toBeTypeOf('function');
});

import { expect, onTestFinished, test, vi } from 'vitest';
import { createActor, toPromise } from 'xstate';
import { type ExecuteContext, type Model, type ProgressReport, type RunEvent } from '../../src/index.ts';
import { createAgent, createToolRegistry, tool } from '../../src/index.ts';
import { replay } from '../../src/journal/index.ts';
import { agentMachine } from '../../src/machines/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { calls } from '../support/replies.ts';

type Progress = Extract<RunEvent, { readonly type: 'tool.progress' }>;

const toolThat = (name: string, execute: (io: ExecuteContext) => unknown, timeoutMs?: number) =>
  tool({ name, description: 'Works.', effects: 'none', timeoutMs, execute: (_args, io) => execute(io) });

const scripted = (...names: readonly string[]) =>
  scriptedModel([calls(...names.map((name) => [name] as const)), 'Done.']);

async function eventsOf(run: AsyncIterable<RunEvent>): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

/** The progress that a run has told, and how it ended. */
async function told(model: Model, tools: readonly ReturnType<typeof toolThat>[]) {
  const run = createAgent({ model, tools, secrets: ['hunter2-hunter2'], silent: true }).run('Go');
  const events = await eventsOf(run);
  const progress = events.filter((event): event is Progress => event.type === 'tool.progress');
  return { run, events, progress, result: await run };
}

test('a tool tells how far its call is: in the events of the run, between its start and its end', async () => {
  const report = { progress: 3, total: 10, message: 'page 3' };
  const { events, progress, result } = await told(scripted('copy'), [
    toolThat('copy', ({ reportProgress }) => reportProgress(report)),
  ]);
  const [asked] = result.messages.flatMap(({ toolCalls = [] }) => toolCalls);
  expect(asked?.name).toBe('copy');
  const started = events.find(({ type }) => type === 'tool.started');
  expect(progress).toMatchObject([
    { type: 'tool.progress', seq: started?.seq, callId: Reflect.get(started ?? {}, 'callId'), tool: 'copy', ...report },
  ]);
  const types = events.map(({ type }) => type).filter((type) => type.startsWith('tool.'));
  expect(types).toEqual(['tool.started', 'tool.progress', 'tool.finished']);
  expect(JSON.stringify(result.messages)).not.toContain('page 3');
});

test('of a flood only a few reports are passed on, and each call has its own', async () => {
  const flood = ({ reportProgress }: ExecuteContext): void => {
    for (let progress = 0; progress < 1000; progress += 1) reportProgress({ progress });
  };
  // Each time it is read it is the same: one that was taken off counts with the others.
  const readAnew = (io: ExecuteContext): void => {
    for (let progress = 0; progress < 1000; progress += 1) io.reportProgress({ progress });
  };
  const { progress } = await told(scripted('one', 'two'), [toolThat('one', flood), toolThat('two', readAnew)]);
  for (const name of ['one', 'two']) {
    const its = progress.filter((event) => event.tool === name);
    expect(its[0]).toMatchObject({ progress: 0, total: null, message: null });
    expect(its.length).toBeLessThan(100);
  }
});

test.each<[what: string, report: unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a number alone', 3],
  ['no number', { message: 'half' }],
  ['a text for a number', { progress: '3' }],
  ['0 of 0', { progress: 0 / 0, total: 0 }],
])('what is no report (%s) is left out, and costs no call', async (_what, report) => {
  const { progress, result } = await told(scripted('copy'), [
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- callers without types
    toolThat('copy', ({ reportProgress }) => (reportProgress(report as ProgressReport), 'copied')),
  ]);
  expect(progress).toEqual([]);
  expect(result).toMatchObject({ status: 'answered', errorHistory: [] });
});

test('a total or a message that is none is left out of the report', async () => {
  const message: { self?: unknown } = {};
  message.self = message;
  const odd = { progress: 1, total: Number.POSITIVE_INFINITY, message };
  const { progress } = await told(scripted('copy'), [
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- callers without types
    toolThat('copy', ({ reportProgress }) => reportProgress(odd as unknown as ProgressReport)),
  ]);
  expect(progress).toMatchObject([{ progress: 1, total: null, message: null }]);
});

test('a call that was answered or timed out has no progress any more', async () => {
  const kept: ExecuteContext['reportProgress'][] = [];
  const tools = [
    toolThat('answers', ({ reportProgress }) => void kept.push(reportProgress)),
    toolThat('hangs', ({ reportProgress }) => (kept.push(reportProgress), new Promise(() => undefined)), 20),
    toolThat('later', (io) => [...kept, io.reportProgress].forEach((report, progress) => report({ progress }))),
  ];
  const { progress, result } = await told(
    scriptedModel([calls(['answers'], ['hangs']), calls(['later']), 'Done.']),
    tools,
  );
  expect(progress).toMatchObject([{ tool: 'later', progress: 2 }]);
  expect(result.errorHistory).toMatchObject([{ tool: 'hangs', code: 'timeout' }]);
});

test('a tool that goes on telling has no more time for it', async () => {
  const slow = toolThat(
    'slow',
    ({ reportProgress, signal }) => {
      const telling = setInterval(() => reportProgress({ progress: 1 }), 5);
      signal.addEventListener('abort', () => clearInterval(telling));
      return new Promise(() => undefined);
    },
    250,
  );
  const { progress, result } = await told(scripted('slow'), [slow]);
  expect(progress.length).toBeGreaterThan(0);
  expect(result.errorHistory).toMatchObject([{ tool: 'slow', code: 'timeout' }]);
});

test('a call whose run was cancelled has no progress any more, even while the tool hears of it', async () => {
  const started = Promise.withResolvers<ExecuteContext['reportProgress']>();
  const slow = toolThat('slow', ({ reportProgress, signal }) => {
    signal.addEventListener('abort', () => reportProgress({ progress: 2 }));
    started.resolve(reportProgress);
    return new Promise(() => undefined);
  });
  const run = createAgent({ model: scriptedModel([calls(['slow'])]), tools: [slow], silent: true }).run('Go');
  const report = await started.promise;
  report({ progress: 1 });
  // Reports have a distance in time, or one is dropped for that.
  const now = vi.spyOn(performance, 'now').mockImplementation(() => Number.MAX_SAFE_INTEGER);
  onTestFinished(() => now.mockRestore());
  await run.cancel();
  report({ progress: 3 });
  expect((await eventsOf(run)).filter(({ type }) => type === 'tool.progress')).toMatchObject([{ progress: 1 }]);
  expect((await run).status).toBe('cancelled');
});

test('secrets in a message are marks, a replay has no progress, and the recording is as without', async () => {
  const pages = (isTold: boolean) =>
    toolThat('copy', ({ reportProgress }) => {
      if (isTold) reportProgress({ progress: 1, message: 'as hunter2-hunter2' });
    });
  const { run, progress } = await told(scripted('copy'), [pages(true)]);
  expect(progress).toMatchObject([{ message: 'as «secret:1»' }]);
  const silently = await told(scripted('copy'), [pages(false)]);
  const known = (text: string): string[] =>
    text.split('\n').map((line) => line.replaceAll(/"(?:at|runId|key)":[^,}]+/g, ''));
  expect(known(run.recording())).toHaveLength(known(silently.run.recording()).length);
  expect(run.recording()).not.toContain('progress');
  const seen: string[] = [];
  const again = createAgent({
    model: scripted('copy'),
    tools: [pages(true)],
    silent: true,
    onEvent: ({ type }) => void seen.push(type),
  });
  await replay(run.recording(), again);
  expect(seen).not.toContain('tool.progress');
});

test("a child agent's tool tells it with the child, and the console says it while it waits", async () => {
  const dig = toolThat('dig', ({ reportProgress }) => reportProgress({ progress: 1, total: 2, message: 'deeper' }));
  const child = createAgent({ name: 'digger', model: scripted('dig'), tools: [dig], silent: true });
  const waits: string[] = [];
  const events: RunEvent[] = [];
  const agent = createAgent({
    model: scriptedModel([calls(['digger', { task: 'Dig' }]), 'Done.']),
    children: [child],
    output: { startProgress: (text: string) => void waits.push(text) },
    onEvent: (event) => void events.push(event),
  });
  await agent.run('Go').orThrow();
  expect(events.filter(({ type }) => type === 'tool.progress')).toMatchObject([{ tool: 'dig', child: 'digger' }]);
  expect(waits.join()).toContain('dig (1 of 2: deeper)');
});

test('outside of a run, and on a bare machine, it tells nobody and costs nothing', async () => {
  const copy = toolThat('copy', ({ reportProgress }) => (reportProgress({ progress: 1 }), 'copied'));
  const registry = createToolRegistry();
  registry.register(copy);
  expect(await registry.execute('copy', {})).toMatchObject({ status: 'success', data: 'copied' });
  const { actors } = createAgent({ model: scripted('copy'), tools: [copy], silent: true });
  const actor = createActor(agentMachine.provide({ actors }), { input: { task: 'Go' } });
  actor.start();
  expect(await toPromise(actor)).toMatchObject({ status: 'answered', toolsUsed: ['copy'] });
});

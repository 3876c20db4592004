import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Agent } from '../../src/agent/agent-types.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import { JournalPlayer } from '../../src/inspector/page/player/journal-player.ts';
import { replay } from '../../src/journal/index.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { askingEntry } from '../support/mcp/hostile-entry.ts';
import { calls } from '../support/replies.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const question = {
  method: 'elicitation/create',
  params: {
    message: 'Which seat for sk-secret-word-1?',
    requestedSchema: { type: 'object', properties: { seat: { type: 'string' } }, required: ['seat'] },
  },
};
const booking = calls(['desk_ask', JSON.stringify(question), 'a']);

async function desk(options: AgentOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'questions-'));
  const agent: Agent = createAgent({
    model: scriptedModel([booking, 'Done.']),
    mcpServers: { desk: askingEntry() },
    journal: fileJournal(folder),
    secrets: ['sk-secret-word-1'],
    silent: true,
    ...options,
  });
  onTestFinished(async () => {
    await agent.close();
    await rm(folder, { recursive: true });
  });
  return { agent, fileOf: (runId: string) => readFile(join(folder, `${runId}.jsonl`), 'utf8') };
}

/** What is recorded, line by line, without the sums of the file. */
const linesOf = (text: string): readonly { readonly t: string; readonly note?: { readonly note: string } }[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly t: string });

const questionsIn = (frames: readonly Frame[]) =>
  frames.flatMap((frame) => (frame.t === 'event' && frame.event.type.startsWith('question.') ? [frame] : []));

function played(text: string): readonly Frame[] {
  const frames: Frame[] = [];
  const player = new JournalPlayer('s', (frame) => void frames.push(frame));
  for (const line of text.trim().split('\n')) player.take(line);
  return frames;
}

test('what a server asks in a call is seen live and after a reload alike, once, and its recording replays', async () => {
  const shown = await inspector();
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const { agent } = await desk({
    inspect: shown,
    elicit: async () => {
      asked.resolve();
      await answered.promise;
      return { action: 'accept', content: { seat: '12A' } };
    },
  });
  const run = agent.run('Book a seat');
  await asked.promise;
  const live = viewer(shown.url).frames(run.runId, (frame) => frame.t === 'record' && frame.record.t === 'end');
  // It is sent while it happens: the viewer has the question before there is an answer.
  await viewer(shown.url).frames(run.runId, (frame) => frame.t === 'event' && frame.event.type === 'question.asked');
  answered.resolve();
  await run;
  const seen = questionsIn(await live);
  expect(seen.map(({ event }) => event)).toMatchObject([
    { type: 'question.asked', callId: 'c1', tool: 'desk_ask', server: 'desk', message: 'Which seat for «secret:1»?' },
    { type: 'question.answered', callId: 'c1', action: 'accept', content: { seat: '12A' } },
  ]);
  const again = played(await viewer(shown.url).lines(run.runId));
  expect(questionsIn(again).map((frame) => ({ ...frame, session: run.runId }))).toEqual(seen);
  const repeated = replay(run.recording(), agent);
  expect(await repeated).toMatchObject({ result: 'Done.' });
  const untimed = (text: string): string => text.replaceAll(/"at":\d+,/g, '');
  expect(untimed(repeated.recording())).toBe(untimed(run.recording()));
});

test('of all remarks only questions are recorded, without secrets, and the file holds what the run tells of itself', async () => {
  const { agent, fileOf } = await desk({ streaming: true, elicit: () => ({ action: 'decline' }) });
  const run = agent.run('Book a seat');
  await run;
  const file = await fileOf(run.runId);
  expect(file).not.toContain('sk-secret-word-1');
  const notes = linesOf(run.recording()).filter(({ t }) => t === 'note');
  expect(notes).toMatchObject([
    { id: 'agent/c1/callTool#1', note: { note: 'question', phase: 'asked' } },
    { id: 'agent/c1/callTool#1', note: { note: 'question', phase: 'answered', action: 'decline' } },
  ]);
  expect(linesOf((await agent.recording(run.runId)) ?? '').map(({ t }) => t)).toEqual(
    linesOf(run.recording()).map(({ t }) => t),
  );
});

test('a run that is let go in the middle of a question continues, and keeps what was asked before', async () => {
  const asked = Promise.withResolvers<void>();
  let times = 0;
  const { agent } = await desk({
    model: scriptedModel([booking, 'Done.', 'Done.']),
    elicit: (_question, { signal }) => {
      times += 1;
      if (times > 1) return { action: 'accept', content: { seat: '12A' } };
      asked.resolve();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('withdrawn'))));
    },
  });
  const run = agent.run('Book a seat');
  await asked.promise;
  await run.release();
  const resumed = agent.resume(run.runId);
  expect(await resumed).toMatchObject({ status: 'answered' });
  const recording = (await agent.recording(run.runId)) ?? '';
  const phases = questionsIn(played(recording)).map(({ event }) => event.type);
  expect(phases[0]).toBe('question.asked');
  expect(played(recording).some(({ t }) => t === 'problem')).toBe(false);
  expect(questionsIn(played(resumed.recording())).map(({ event }) => event.type)).toEqual(phases);
  expect(await replay(recording, agent)).toMatchObject({ result: 'Done.' });
});

test('calls that wait are counted while nobody watches the run, and no longer when they are answered', async () => {
  const shown = await inspector();
  const list = (wanted: (waiting: number) => boolean) =>
    viewer(shown.url).list((frame) => frame.t === 'session' && wanted(frame.session.waiting ?? 0));
  const pay = fakeTool('pay', [{}, {}], { policy: 'confirm', inputSchema: { type: 'object' } });
  const { agent } = await desk({
    model: scriptedModel([calls(['pay', {}, 'a'], ['pay', {}, 'b']), 'Done.']),
    mcpServers: {},
    tools: [pay],
    confirm: 'wait',
    inspect: shown,
  });
  const run = agent.run('Pay twice');
  await list((waiting) => waiting === 2);
  await run.approve(run.pending[0]?.callId ?? '');
  await list((waiting) => waiting === 1);
  await run.reject(run.pending[0]?.callId ?? '', 'no');
  expect(await run).toMatchObject({ result: 'Done.' });
  await list((waiting) => waiting === 0);
});

test('news of servers reach who watches while they come, and are no part of the recording', async () => {
  const shown = await inspector();
  const asked = Promise.withResolvers<void>();
  const watched = Promise.withResolvers<void>();
  const { agent } = await desk({
    inspect: shown,
    elicit: async () => {
      asked.resolve();
      await watched.promise;
      await agent.disconnectMcpServer('desk');
      return { action: 'decline' };
    },
  });
  const run = agent.run('Book a seat');
  await asked.promise;
  const live = viewer(shown.url).frames(run.runId, (frame) => frame.t === 'record' && frame.record.t === 'end');
  await viewer(shown.url).frames(run.runId, (frame) => frame.t === 'event' && frame.event.type === 'question.asked');
  watched.resolve();
  await run;
  const newsIn = (frames: readonly Frame[]) =>
    frames.flatMap((frame) => (frame.t === 'event' && frame.event.type === 'mcp.changed' ? [frame.event.server] : []));
  expect(newsIn(await live)).toContain('desk');
  expect(newsIn(played(run.recording()))).toEqual([]);
});
